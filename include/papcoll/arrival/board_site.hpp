#pragma once

#include <papcoll/arrival/board.hpp>
#include <papcoll/arrival/pool.hpp>
#include <papcoll/arrival/site.hpp>
#include <papcoll/transport/node.hpp>
#include <papcoll/waiting/doorbells.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// A Site over a board: one rank of a node, thread or process. Owns the rank's epoch counter.
template <class Board, class Bells>
class BasicBoardSite {
  using Access = typename Board::Access;

 public:
  /// `node`: what the ranks share besides the board; null if that is all.
  BasicBoardSite(Board board, Bells bells, int rank, std::uint32_t first_epoch = 1,
                 const Node* node = nullptr)
      : node_(node),
        board_(board),
        bells_(bells),
        rank_(rank),
        epoch_(first_epoch - 1),
        all_left_(first_epoch - 1),
        pending_(static_cast<std::size_t>(board.ranks())),
        pool_(node),
        pool_used_(first_epoch - 1) {}

  // --- the life of an epoch, for whoever runs algorithms

  /// Names the next call. enter() must become true before anything else is asked.
  void begin(const CallWords& words, const Reducer& reducer) noexcept {
    ++epoch_;
    heard_of_all_ = false;
    announced_ = false;
    rings_on_leaving_ = false;
    pool_.begin_call();
    words_ = words;
    reducer_ = &reducer;
  }

  /// Have all ranks left the call that used this frame before?
  bool enter() noexcept {
    const std::uint32_t wanted = epoch_ - Board::frames;
    if (epoch_reached(all_left_, wanted)) return true;
    std::uint32_t least = epoch_ - 1;
    for (int r = 0; r < board_.ranks(); ++r) {
      const std::uint32_t left = board_.left(r).epoch.load(std::memory_order_acquire);
      if (!epoch_reached(left, wanted)) return false;
      if (!epoch_reached(left, least)) least = left;
    }
    all_left_ = least;
    return true;
  }

  /// This rank reads and writes nothing in the frame from here on.
  void leave() noexcept {
    typename Board::Left& left = board_.left(rank_);
    left.called[epoch_ % Board::records].store(words_.hash(), std::memory_order_relaxed);
    if (const std::size_t bytes = pool_.backed(); bytes != 0) {  // else they show nothing
      left.pooled[epoch_ % Board::records].store(static_cast<std::uint32_t>(bytes / 1024),
                                                 std::memory_order_relaxed);
    }
    if (rings_on_leaving_) {
      left.epoch.store(epoch_, std::memory_order_seq_cst);
      bells_.ring_all();
    } else {
      left.epoch.store(epoch_, std::memory_order_release);
    }
    // The next call begins with a write to a line that all others have read.
    detail::prefetch_to_write(&board_.header(epoch_ + 1, rank_));
    Unheard& u = unheard_[epoch_ % Board::frames];
    u.any = !heard_of_all_;
    if (u.any) u.words = words_;
  }

  /// In the call that used this frame before, which all have left: did all call what this rank did?
  /// A rank that left it before all had come asks here; the others were told then.
  bool last_in_frame_matched() noexcept {
    Unheard& u = unheard_[epoch_ % Board::frames];
    if (!u.any) return true;
    u.any = false;
    for (int r = 0; r < size(); ++r) {
      if (board_.left(r).called[(epoch_ - Board::frames) % Board::records].load(
              std::memory_order_relaxed) != u.words.hash()) {
        fail_with("the ranks' calls did not match " + std::to_string(Board::frames) +
                  " calls ago: rank " + shown(r) + " did not call what rank " + shown(rank_) +
                  " called, " + describe(u.words));
        return false;
      }
    }
    return true;
  }

  /// Before this rank's memory goes: what late peers may still read of its pool stays for ever.
  void keep_what_is_lent() noexcept {
    if (pool_is_lent()) pool_.leak();
  }

  /// A peer that may be at work on this rank's buffers, or −1. For a rank that gives up a call in
  /// which it has offered them, after fail_with() or an abort of the communicator: nobody begins to
  /// from then on.
  int reader() const noexcept {
    for (int r = 0; r < size(); ++r) {
      if (r != rank_ && is_reading(r)) return r;
    }
    return -1;
  }
  bool is_reading(int r) const noexcept {
    return board_.reading(r).now.load(std::memory_order_seq_cst) != 0;
  }

  /// A peer has died, and is at work on nothing any more.
  void forget_reader(int r) noexcept { board_.reading(r).now.store(0, std::memory_order_release); }

  std::uint32_t epoch() const noexcept { return epoch_; }
  const Board& board() const noexcept { return board_; }
  Bells& bells() noexcept { return bells_; }

  /// What messages call the ranks, if not by their numbers here.
  void call_ranks(std::vector<int> names) { names_ = std::move(names); }

  // --- what algorithms ask, see Site

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return board_.ranks(); }
  std::uint32_t buffers() const noexcept { return Board::buffers; }
  std::size_t chunk_bytes() const noexcept { return board_.chunk_bytes(); }

  void announce(const std::byte* payload, std::size_t n, std::uint32_t chunks) noexcept {
    typename Board::Header& h = board_.header(epoch_, rank_);
    if (!announced_) {  // else peers read it already
      Access::write(&h.words, &words_, sizeof words_);
      Access::write(h.payload, payload, n);
      announced_ = true;
    }
    h.stamp.store(make_stamp(epoch_, chunks), std::memory_order_seq_cst);
    bells_.ring_all();
  }

  void offer(const Offer& buffers, std::uint32_t chunks) noexcept {
    rings_on_leaving_ = true;
    announce(reinterpret_cast<const std::byte*>(&buffers), sizeof buffers, chunks);
  }

  void publish(std::uint32_t chunks, int audience) noexcept {
    board_.header(epoch_, rank_).stamp.store(make_stamp(epoch_, chunks), std::memory_order_seq_cst);
    notify(audience);
  }

  bool arrived(int r, std::uint32_t chunks) const noexcept {
    return reached(look_at(board_.header(epoch_, r).stamp), epoch_, chunks);
  }

  bool matches(int r) const noexcept { return words_of(r) == words_; }

  bool claim() noexcept {
    auto& stamp = board_.claim(epoch_).stamp;
    Stamp before = stamp.load(std::memory_order_acquire);
    if (reached(before, epoch_, 1)) return false;
    return stamp.compare_exchange_strong(before,
                                         make_stamp(epoch_, static_cast<std::uint32_t>(rank_) + 1),
                                         std::memory_order_acq_rel, std::memory_order_acquire);
  }

  int leader() const noexcept {
    const Stamp s = board_.claim(epoch_).stamp.load(std::memory_order_acquire);
    return static_cast<int>(static_cast<std::uint32_t>(s)) - 1;
  }

  void finish_stage(std::uint32_t chunks) noexcept {
    board_.progress(epoch_, rank_)
        .stamp.store(make_stamp(epoch_, chunks), std::memory_order_seq_cst);
    bells_.ring_all();
  }

  bool stage(int r, std::uint32_t chunks) const noexcept {
    return reached(look_at(board_.progress(epoch_, r).stamp), epoch_, chunks);
  }

  void release(std::uint32_t chunks, const std::byte* payload, std::size_t n) noexcept {
    typename Board::Header& h = board_.release(epoch_);
    Access::write(h.payload, payload, n);
    h.stamp.store(make_stamp(epoch_, chunks), std::memory_order_seq_cst);
    bells_.ring_all();
  }

  bool released(std::uint32_t chunks) const noexcept {
    return reached(look_at(board_.release(epoch_).stamp), epoch_, chunks);
  }

  void all_arrived() noexcept {
    all_left_ = epoch_ - 1;
    heard_of_all_ = true;
  }

  void fail(int r) {
    const CallWords theirs = words_of(r);
    fail_with(theirs.what == CallWords::invalid
                  ? "rank " + shown(r) + "'s call is invalid; its exception says why"
                  : difference(theirs, name(r), words_, name(rank_)));
  }

  // --- tickets and work

  int draw_ticket() noexcept {
    auto& drawn = board_.tickets(epoch_).drawn;
    Stamp before = drawn.load(std::memory_order_relaxed);
    Stamp after = 0;
    do {
      after = before >> 32 == epoch_ ? before + 1 : make_stamp(epoch_, 1);
    } while (!drawn.compare_exchange_weak(before, after, std::memory_order_relaxed));
    const auto ticket = static_cast<int>(static_cast<std::uint32_t>(after)) - 1;
    board_.holder(epoch_, ticket)
        .store(make_stamp(epoch_, static_cast<std::uint32_t>(rank_) + 1),
               std::memory_order_seq_cst);
    bells_.ring_all();
    return ticket;
  }

  int holder(int ticket) const noexcept {
    const Stamp s = look_at(board_.holder(epoch_, ticket));
    return reached(s, epoch_, 1) ? static_cast<int>(static_cast<std::uint32_t>(s)) - 1 : -1;
  }

  std::uint32_t work(std::uint32_t w) const noexcept {
    const Stamp s = look_at(board_.work(epoch_, w));
    return s >> 32 == epoch_ ? static_cast<std::uint32_t>(s) : 0;
  }

  bool take_up(std::uint32_t w, std::uint32_t seen, std::uint32_t state) noexcept {
    auto& word = board_.work(epoch_, w);
    Stamp before = word.load(std::memory_order_relaxed);
    if ((before >> 32 == epoch_ ? static_cast<std::uint32_t>(before) : 0) != seen) return false;
    return word.compare_exchange_strong(before, make_stamp(epoch_, state),
                                        std::memory_order_seq_cst);
  }

  void lay_down(std::uint32_t w, std::uint32_t state) noexcept {
    board_.work(epoch_, w).store(make_stamp(epoch_, state), std::memory_order_seq_cst);
    bells_.ring_all();
  }

  void put_back(std::uint32_t w, std::uint32_t state) noexcept {
    board_.work(epoch_, w).store(make_stamp(epoch_, state), std::memory_order_seq_cst);
  }

  // --- the buffers of the call

  const PeerMemory& peers() const noexcept { return node_ ? node_->peers : common_; }

  Offer offer_of(int r) const noexcept {
    Offer offer;
    Access::read(&offer, board_.header(epoch_, r).payload, sizeof offer);
    return offer;
  }

  bool begin_reading() noexcept {
    auto& reading = board_.reading(rank_).now;
    reading.store(1, std::memory_order_seq_cst);
    if (!broken() && !reached(look_at(board_.failure(epoch_).stamp), epoch_, 1)) return true;
    reading.store(0, std::memory_order_release);
    return false;
  }

  bool end_reading() noexcept {
    board_.reading(rank_).now.store(0, std::memory_order_release);
    return !broken();
  }

  /// 32 KB stay in the nearest caches, and a copy by the kernel costs little more than its bytes.
  std::size_t scratch_bytes() const noexcept {
    return std::max(std::size_t{32768}, board_.chunk_bytes());
  }
  std::byte* scratch(std::size_t i) noexcept {
    if (scratch_.empty()) scratch_.resize(3 * scratch_bytes());
    return scratch_.data() + i * scratch_bytes();
  }

  std::byte* pool(std::size_t n) { return pool_.get(n); }

  std::byte* shared_pool(std::size_t n) {
    if (peers().is_common()) return pool_.get(n);
    return may_share_pool(n) ? pool_.get_shared(n) : nullptr;
  }

  bool pools_hold(std::size_t n) {
    if (peers().is_common()) return true;
    if (!may_share_pool(n)) return false;
    pool_.back(n);  // for calls to come, if it is new
    // What all ranks had when they left the frame's former call: all find the same.
    const std::uint32_t record = (epoch_ - Board::frames) % Board::records;
    for (int r = 0; r < size(); ++r) {
      const std::uint32_t kilobytes = board_.left(r).pooled[record].load(std::memory_order_relaxed);
      if (n > std::size_t{kilobytes} * 1024) return false;
    }
    return true;
  }

  bool use_pool() {
    if (pool_used_ == epoch_) return true;
    if (pool_is_lent()) return false;
    pool_.forget_former();
    pool_used_ = epoch_;
    return true;
  }

  std::byte* slot(int r, std::uint32_t chunk) noexcept { return board_.buffer(epoch_, r, chunk); }
  std::byte* result(std::uint32_t chunk) noexcept {
    return board_.buffer(epoch_, board_.ranks(), chunk);
  }
  const std::byte* small(int r) const noexcept { return board_.header(epoch_, r).payload; }
  const std::byte* small_result() const noexcept { return board_.release(epoch_).payload; }

  static void write(std::byte* to, const std::byte* from, std::size_t n) noexcept {
    Access::write(to, from, n);
  }
  static void read(std::byte* to, const std::byte* from, std::size_t n) noexcept {
    Access::read(to, from, n);
  }
  void reduce(std::byte* out, const std::byte* low, const std::byte* high, std::size_t n) noexcept {
    Access::reduce(*reducer_, out, low, high, n);
  }
  void reduce_for_peers(std::byte* out, const std::byte* low, const std::byte* high,
                        std::size_t n) {
    std::byte* const draft = scratch(2);
    reduce(draft, low, high, n);
    write(out, draft, n * reducer_->size);
  }

  int* pending() noexcept { return pending_.data(); }

  // --- failures

  /// Makes every rank that is still in this epoch throw peer_error with the text; the first wins.
  void fail_with(const std::string& text) {
    heard_of_all_ = true;
    typename Board::Failure& f = board_.failure(epoch_);
    Stamp before = f.stamp.load(std::memory_order_acquire);
    if (reached(before, epoch_, 1)) return;
    if (!f.stamp.compare_exchange_strong(before, make_stamp(epoch_, 1),
                                         std::memory_order_acq_rel)) {
      return;
    }
    const std::string kept = text.substr(0, sizeof(f.text) - 1);
    Access::write(f.text, kept.c_str(), kept.size() + 1);
    f.stamp.store(make_stamp(epoch_, 2), std::memory_order_seq_cst);
    bells_.ring_all();
  }

  bool failed() const noexcept { return reached(look_at(board_.failure(epoch_).stamp), epoch_, 2); }
  /// Once failed().
  std::string failure_text() {
    heard_of_all_ = true;
    typename Board::Failure& f = board_.failure(epoch_);
    std::array<char, sizeof(f.text)> text{};
    Access::read(text.data(), f.text, text.size());
    return text.data();
  }

  /// Compares the calls of all who are there with this rank's own; for ranks that wait long.
  void compare_calls() {
    for (int r = 0; r < size(); ++r) {
      if (arrived(r, 0) && !matches(r)) return fail(r);
    }
  }

  /// A sentence part for messages: "reduce of 3 elements with root 1".
  static std::string describe(const CallWords& w) {
    const auto collective = static_cast<Collective>(w.what & 0xf);
    std::string text{name_of(collective)};
    if (collective == Collective::barrier) return text;
    text += " of " + std::to_string(w.count) + " elements";
    if (is_rooted(collective)) text += " with root " + std::to_string((w.what >> 12) & 0xfffff);
    return text;
  }

  /// How two ranks' calls differ.
  static std::string difference(const CallWords& a, int rank_a, const CallWords& b, int rank_b) {
    std::string text = "the ranks' calls do not match: rank " + std::to_string(rank_a) +
                       " called " + describe(a) + ", rank " + std::to_string(rank_b) + " called " +
                       describe(b);
    if (describe(a) == describe(b)) {
      text += (a.what >> 32) != (b.what >> 32) ? "; element types, operators or algorithms differ"
                                               : "; their algorithms differ";
    }
    return text;
  }

 private:
  /// A stamp that others wait for with a bell. Sequentially consistent, and not only acquire: the
  /// last look of a rank that goes to sleep must not pass its word that it sleeps.
  static Stamp look_at(const typename Board::template Atomic<Stamp>& stamp) noexcept {
    return stamp.load(std::memory_order_seq_cst);
  }

  /// Do all ranks see so much of each other's pools, if there are pages?
  bool may_share_pool(std::size_t n) const noexcept {
    return node_ != nullptr && n <= node_->pool_bytes && peers().place(node_->pool, n).mapped != 0;
  }

  /// Is somebody still in the call for which this rank last used its pool?
  bool pool_is_lent() const noexcept {
    // Calls are entered only when all have left those of `frames` calls before; and epochs that lie
    // 2^31 apart cannot be compared.
    if (epoch_ - pool_used_ > static_cast<std::uint32_t>(Board::frames)) return false;
    for (int r = 0; r < size(); ++r) {
      if (!epoch_reached(board_.left(r).epoch.load(std::memory_order_acquire), pool_used_)) {
        return true;
      }
    }
    return false;
  }

  bool broken() const noexcept {
    return board_.abort().reason.load(std::memory_order_seq_cst) != 0;
  }

  CallWords words_of(int r) const noexcept {
    CallWords words;
    Access::read(&words, &board_.header(epoch_, r).words, sizeof words);
    return words;
  }

  int name(int r) const noexcept {
    return names_.empty() ? r : names_[static_cast<std::size_t>(r)];
  }
  std::string shown(int r) const { return std::to_string(name(r)); }

  void notify(int audience) noexcept {
    if (audience == everyone) {
      bells_.ring_all();
    } else if (audience >= 0) {
      bells_.ring(audience);
    }
  }

  const Node* node_;
  PeerMemory common_;
  Board board_;
  Bells bells_;
  int rank_;
  std::uint32_t epoch_;            ///< the current call
  std::uint32_t all_left_;         ///< this rank knows that all ranks have left this epoch
  bool announced_ = false;         ///< in this call
  bool rings_on_leaving_ = false;  ///< a peer may wait for that, since its pool is lent until then
  bool heard_of_all_ = false;      ///< of this call: all matched it, or it failed
  struct Unheard {
    bool any = false;
    CallWords words;
  };
  std::array<Unheard, Board::frames> unheard_;  ///< calls that were left before all had come
  CallWords words_;
  const Reducer* reducer_ = nullptr;
  std::vector<int> pending_;
  std::vector<std::byte> scratch_;
  Pool pool_;
  std::uint32_t pool_used_;  ///< the last epoch in which this rank used its pool
  std::vector<int> names_;
};
using BoardSite = BasicBoardSite<Board, Doorbells>;
static_assert(Site<BoardSite>);

}  // namespace papcoll::inline PAPCOLL_ABI
