#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/copying.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/node/board.hpp>
#include <papcoll/node/buffer_pages.hpp>
#include <papcoll/node/exposed_buffers.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/site.hpp>
#include <papcoll/node/waiting/doorbells.hpp>
#include <papcoll/topology/groups.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// A Site over a board: one rank of a node, thread or process. Owns the rank's epoch counter.
///
/// Made of layers, each with a subject of its own: CallFrame (the life of a call, and how it
/// fails), WorkWords (tickets and pieces of work), ExposedBuffers (peers' buffers and pools), and
/// here flags, slots (with BufferPages) and what is done with their data.
template <class Board, class Bells>
class BasicNodeSite : public ExposedBuffers<Board, Bells> {
  using Base = ExposedBuffers<Board, Bells>;
  using Access = typename Board::Access;

 public:
  /// `node`: what the ranks share besides the board; null if that is all.
  BasicNodeSite(Board board, Bells bells, int rank, std::uint32_t first_epoch = 1,
                const Node* node = nullptr)
      : Base(board, bells, rank, first_epoch, node),
        pages_(board, node),
        copies_(node != nullptr ? node->copies : detail::make_shared<detail::CopyChoice>()),
        pending_(static_cast<std::size_t>(board.ranks())) {}

  // --- for whoever runs algorithms

  /// Names the next call. enter() must become true before anything else is asked.
  void begin(const CallWords& words, const Reducer& reducer) noexcept {
    Base::begin_epoch(words);
    announced_ = false;
    offered_ = false;
    reducer_ = &reducer;
  }

  /// This rank reads and writes nothing in the frame from here on.
  void leave() noexcept {
    Base::end_lending();
    Base::leave_epoch(offered_);
    for (std::size_t at = 0; at < next_bytes_; at += cache_line) {
      detail::prefetch_to_write(board_.slot(epoch_ + 1, rank_, 0) + next_at_ + at);
    }
    next_bytes_ = 0;
  }

  // --- flags: what algorithms ask, see Site

  const Groups* groups() const noexcept { return node_ != nullptr ? node_->groups.get() : nullptr; }
  std::uint32_t buffers() const noexcept { return Board::buffers; }
  std::uint32_t results() const noexcept { return Board::results; }
  std::size_t chunk_bytes() const noexcept { return board_.chunk_bytes(); }

  void announce(const std::byte* payload, std::size_t n, std::uint32_t chunks) noexcept {
    typename Board::Header& h = board_.header(epoch_, rank_);
    if (!announced_) {  // else peers read it already
      Access::write(&h.words, &words_, sizeof words_);
      Access::write(h.payload, payload, n);
      announced_ = true;
    }
    h.stamp.store(make_stamp(epoch_, chunks), std::memory_order_release);
    bells_.ring_all();
  }

  void offer(const BufferDescriptor& buffers, std::uint32_t chunks) noexcept {
    offered_ = true;
    announce(reinterpret_cast<const std::byte*>(&buffers), sizeof buffers, chunks);
  }

  void publish(std::uint32_t chunks, int audience) noexcept {
    board_.header(epoch_, rank_).stamp.store(make_stamp(epoch_, chunks), std::memory_order_release);
    if (audience == everyone) {
      bells_.ring_all();
    } else if (audience >= 0) {
      bells_.ring(audience);
    }
  }

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
        .stamp.store(make_stamp(epoch_, chunks), std::memory_order_release);
    bells_.ring_all();
  }

  bool stage(int r, std::uint32_t chunks) const noexcept {
    return reached(Base::look_at(board_.progress(epoch_, r).stamp), epoch_, chunks);
  }

  void release(std::uint32_t chunks, const std::byte* payload, std::size_t n) noexcept {
    typename Board::Header& h = board_.release(epoch_);
    Access::write(h.payload, payload, n);
    h.stamp.store(make_stamp(epoch_, chunks), std::memory_order_release);
    bells_.ring_all();
  }

  bool released(std::uint32_t chunks) const noexcept {
    return reached(Base::look_at(board_.release(epoch_).stamp), epoch_, chunks);
  }

  // --- data

  std::byte* slot(int r, std::uint32_t chunk) {
    if (!pages_.has_slot(r)) [[unlikely]]
      pages_.take_slot(board_, r);
    return board_.slot(epoch_, r, chunk);
  }
  std::byte* result(std::uint32_t chunk) {
    if (!pages_.has_result(epoch_, chunk)) [[unlikely]]
      pages_.take_result(board_, epoch_, chunk);
    return board_.result(epoch_, chunk);
  }
  const std::byte* small(int r) const noexcept { return board_.header(epoch_, r).payload; }
  const std::byte* small_result() const noexcept { return board_.release(epoch_).payload; }

  /// Exchange, 2 pinned ranks, 64 to 512 bytes: 7 to 19 % faster by both hints. A core waits for
  /// some ten lines at once; more requests would hold up what it needs first.
  static constexpr std::size_t most_expected = 512;

  void expect(int r, std::uint32_t chunk, std::size_t at, std::size_t n) const noexcept {
    if (n == 0 || n > most_expected) return;
    // The slot may have no pages yet.
    const std::byte* const from = board_.slot(epoch_, r, chunk) + at / cache_line * cache_line;
    const std::size_t end = at % cache_line + n;
    for (std::size_t next = 0; next < end; next += cache_line) Access::prefetch(from + next);
  }
  void expect_again(std::size_t at, std::size_t n) noexcept {
    next_at_ = at;
    next_bytes_ = n > most_expected ? 0 : n;
  }
  void write(std::byte* to, const std::byte* from, std::size_t n) noexcept {
    Access::copy(copies_->rule(), to, from, n);
  }
  bool streams(std::size_t n) const noexcept { return n >= copies_->rule().beyond_caches; }
  static void stream(std::byte* to, const std::byte* from, std::size_t n) noexcept {
    Access::stream(to, from, n);
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

  /// 32 KB stay in the nearest caches, and a copy by the kernel costs little more than its bytes.
  std::size_t scratch_bytes() const noexcept {
    return std::max(std::size_t{32768}, board_.chunk_bytes());
  }
  std::byte* scratch(std::size_t i) noexcept {
    if (scratch_.empty()) [[unlikely]]
      take_scratch();
    return scratch_.data() + i * scratch_bytes();
  }
  int* pending() noexcept { return pending_.data(); }

 private:
  using Base::bells_;
  using Base::board_;
  using Base::epoch_;
  using Base::node_;
  using Base::rank_;
  using Base::words_;

  [[gnu::noinline, gnu::cold]] void take_scratch() noexcept {
    scratch_.resize(3 * scratch_bytes());
  }

  std::size_t next_at_ = 0;  ///< see expect_again()
  std::size_t next_bytes_ = 0;
  bool announced_ = false;  ///< in this call
  bool offered_ = false;    ///< in this call: a peer may wait for its pool until this rank has left
  const Reducer* reducer_ = nullptr;
  BufferPages<Board> pages_;
  detail::Shared<const detail::CopyChoice> copies_;
  std::vector<int> pending_;
  std::vector<std::byte> scratch_;
};

/// The site of a rank of a node whose ranks are processes or threads. A class, so that it can be
/// named where it is not defined.
class NodeSite final : public BasicNodeSite<NodeBoard, Doorbells> {
  using BasicNodeSite::BasicNodeSite;
};
static_assert(Site<NodeSite>);

}  // namespace papcoll::inline PAPCOLL_ABI
