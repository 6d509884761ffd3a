// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/copying.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/node/call_context.hpp>
#include <papcoll/node/call_lifecycle.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/pool.hpp>
#include <papcoll/node/waiting/doorbells.hpp>
#include <papcoll/topology/groups.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// A CallContext over a control block: one rank of a node, thread or process. Owns the rank's epoch
/// counter.
///
/// The lifecycle of a call, and how it fails, is in CallLifecycle; here is what algorithms ask of
/// it in between: flags, chunk buffers and their pages, tickets and pieces of work, and what ranks
/// expose to each other: the buffers of a call, as long as it lasts and stands, and their pools,
/// until all have left the call.
template <class ControlBlock, class Bells>
class BasicNodeContext : public CallLifecycle<ControlBlock, Bells> {
  using Base = CallLifecycle<ControlBlock, Bells>;
  using Access = typename ControlBlock::Access;

 public:
  /// `node`: what the ranks share besides the control block; null if that is all.
  BasicNodeContext(ControlBlock control, Bells bells, int rank, std::uint32_t first_epoch = 1,
                   const Node* node = nullptr)
      : Base(control, bells, rank, first_epoch),
        node_(node),
        pool_(node, first_epoch),
        has_pages_(
            static_cast<std::size_t>(size_) + ControlBlock::epoch_slots * ControlBlock::results,
            node == nullptr || node->pages == nullptr),
        copies_(node != nullptr ? node->copies : detail::make_shared<detail::CopyChoice>()),
        pending_(static_cast<std::size_t>(size_)) {}

  // --- for what runs algorithms

  /// Names the next call. enter() must become true before anything else is asked.
  void begin(const CallFingerprint& fingerprint, const Reducer& reducer) noexcept {
    Base::begin_epoch(fingerprint);
    announced_ = false;
    exposed_ = false;
    reducer_ = &reducer;
  }

  /// Leaves: this rank reads and writes nothing in the epoch slot from here on.
  void leave() noexcept {
    pool_.end_call();
    if (const std::size_t bytes = pool_.backed(); bytes != 0) {  // the records begin with that
      control_.left(rank_).pooled[epoch_ % ControlBlock::records].store(
          static_cast<std::uint32_t>(bytes / 1024), std::memory_order_relaxed);
    }
    Base::leave_epoch(exposed_);
    for (std::size_t at = 0; at < next_bytes_; at += cache_line) {
      detail::prefetch_to_write(control_.chunk_buffer(epoch_ + 1, rank_, 0) + next_at_ + at);
    }
    next_bytes_ = 0;
  }

  // --- flags: what algorithms ask, see CallContext

  const Groups* groups() const noexcept { return node_ != nullptr ? node_->groups.get() : nullptr; }
  std::uint32_t buffers() const noexcept { return ControlBlock::buffers; }
  std::uint32_t results() const noexcept { return ControlBlock::results; }
  std::size_t chunk_bytes() const noexcept { return control_.chunk_bytes(); }

  void announce(const std::byte* payload, std::size_t n, std::uint32_t chunks) noexcept {
    typename ControlBlock::Header& h = control_.header(epoch_, rank_);
    if (!announced_) {  // else peers read it already
      Access::write(&h.fingerprint, &fingerprint_, sizeof fingerprint_);
      Access::write(h.payload, payload, n);
      announced_ = true;
    }
    h.count.store(make_tagged(epoch_, chunks), std::memory_order_release);
    bells_.ring_all();
  }

  void expose(const BufferDescriptor& buffers, std::uint32_t chunks) noexcept {
    exposed_ = true;
    announce(reinterpret_cast<const std::byte*>(&buffers), sizeof buffers, chunks);
  }

  void publish(std::uint32_t chunks, int audience) noexcept {
    control_.header(epoch_, rank_)
        .count.store(make_tagged(epoch_, chunks), std::memory_order_release);
    if (audience == everyone) {
      bells_.ring_all();
    } else if (audience >= 0) {
      bells_.ring(audience);
    }
  }

  bool claim() noexcept {
    auto& leader = control_.claim(epoch_).leader;
    TaggedCount before = leader.load(std::memory_order_acquire);
    if (reached(before, epoch_, 1)) return false;
    return leader.compare_exchange_strong(
        before, make_tagged(epoch_, static_cast<std::uint32_t>(rank_) + 1),
        std::memory_order_acq_rel, std::memory_order_acquire);
  }

  int leader() const noexcept {
    const TaggedCount s = control_.claim(epoch_).leader.load(std::memory_order_acquire);
    return static_cast<int>(static_cast<std::uint32_t>(s)) - 1;
  }

  void publish_stage(std::uint32_t chunks) noexcept {
    control_.progress(epoch_, rank_)
        .count.store(make_tagged(epoch_, chunks), std::memory_order_release);
    bells_.ring_all();
  }

  bool stage_reached(int r, std::uint32_t chunks) const noexcept {
    return reached(Base::look_at(control_.progress(epoch_, r).count), epoch_, chunks);
  }

  void release(std::uint32_t chunks, const std::byte* payload, std::size_t n) noexcept {
    typename ControlBlock::Header& h = control_.release(epoch_);
    Access::write(h.payload, payload, n);
    h.count.store(make_tagged(epoch_, chunks), std::memory_order_release);
    bells_.ring_all();
  }

  bool released(std::uint32_t chunks) const noexcept {
    return reached(Base::look_at(control_.release(epoch_).count), epoch_, chunks);
  }

  // --- data

  std::byte* chunk_buffer(int r, std::uint32_t chunk) {
    if (const auto number = static_cast<std::size_t>(r); has_pages_[number] == 0) [[unlikely]]
      take_pages(number, control_.chunk_buffers_reserved(r), control_.chunk_buffer(0, r, 0),
                 control_.rank_buffers_bytes());
    return control_.chunk_buffer(epoch_, r, chunk);
  }
  std::byte* result_buffer(std::uint32_t chunk) {
    std::byte* const at = control_.result_buffer(epoch_, chunk);
    const std::size_t number = static_cast<std::size_t>(size_) +
                               epoch_ % ControlBlock::epoch_slots * ControlBlock::results +
                               chunk % ControlBlock::results;
    if (has_pages_[number] == 0) [[unlikely]]
      take_pages(number, control_.result_buffer_reserved(epoch_, chunk), at,
                 control_.chunk_bytes());
    return at;
  }
  const std::byte* small(int r) const noexcept { return control_.header(epoch_, r).payload; }
  const std::byte* small_result() const noexcept { return control_.release(epoch_).payload; }

  /// A core has some ten requests for lines in flight at once; more would delay what it needs
  /// first.
  static constexpr std::size_t most_expected = 512;

  void expect(int r, std::uint32_t chunk, std::size_t at, std::size_t n) const noexcept {
    if (n == 0 || n > most_expected) return;
    // The chunk buffer may have no pages yet.
    const std::byte* const from =
        control_.chunk_buffer(epoch_, r, chunk) + at / cache_line * cache_line;
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
    return std::max(std::size_t{32768}, control_.chunk_bytes());
  }
  std::byte* scratch(std::size_t i) noexcept {
    if (scratch_.empty()) [[unlikely]]
      take_scratch();
    return scratch_.data() + i * scratch_bytes();
  }
  int* pending() noexcept { return pending_.data(); }

  // --- in the order of arrival: tickets, and pieces of work for ranks that have arrived

  int draw_ticket() noexcept {
    auto& drawn = control_.tickets(epoch_).drawn;
    TaggedCount before = drawn.load(std::memory_order_relaxed);
    TaggedCount after = 0;
    do {
      after = before >> 32 == epoch_ ? before + 1 : make_tagged(epoch_, 1);
    } while (!drawn.compare_exchange_weak(before, after, std::memory_order_relaxed));
    const auto ticket = static_cast<int>(static_cast<std::uint32_t>(after)) - 1;
    control_.holder(epoch_, ticket)
        .store(make_tagged(epoch_, static_cast<std::uint32_t>(rank_) + 1),
               std::memory_order_release);
    bells_.ring_all();
    return ticket;
  }

  int holder(int ticket) const noexcept {
    const TaggedCount s = Base::look_at(control_.holder(epoch_, ticket));
    return reached(s, epoch_, 1) ? static_cast<int>(static_cast<std::uint32_t>(s)) - 1 : -1;
  }

  std::uint32_t work(std::uint32_t w) const noexcept {
    return state_in(Base::look_at(control_.work(epoch_, w)));
  }

  bool try_claim(std::uint32_t w, std::uint32_t seen, std::uint32_t state) noexcept {
    auto& word = control_.work(epoch_, w);
    TaggedCount before = word.load(std::memory_order_relaxed);
    if (state_in(before) != seen) return false;
    return word.compare_exchange_strong(before, make_tagged(epoch_, state),
                                        std::memory_order_seq_cst);
  }

  void complete(std::uint32_t w, std::uint32_t state) noexcept {
    unclaim(w, state);
    bells_.ring_all();
  }

  void unclaim(std::uint32_t w, std::uint32_t state) noexcept {
    control_.work(epoch_, w).store(make_tagged(epoch_, state), std::memory_order_seq_cst);
  }

  // --- peers' buffers

  const PeerMemory& peers() const noexcept { return node_ ? node_->peers : common_; }

  BufferDescriptor exposed_by(int r) const noexcept {
    static_assert(sizeof(BufferDescriptor) <= ControlBlock::inline_bytes);
    BufferDescriptor exposed;
    Access::read(&exposed, control_.header(epoch_, r).payload, sizeof exposed);
    return exposed;
  }

  bool begin_reading() noexcept {
    auto& reading = control_.reading(rank_).now;
    reading.store(1, std::memory_order_seq_cst);
    if (!broken() && !Base::is_failing()) return true;
    reading.store(0, std::memory_order_release);
    return false;
  }

  bool end_reading() noexcept {
    control_.reading(rank_).now.store(0, std::memory_order_release);
    return !broken();
  }

  /// Returns a peer that may be at work on this rank's buffers; −1 if there is none. For a rank
  /// that gives up a call in which it has exposed them, after fail_with() or an abort of the
  /// communicator: from then on no peer begins to.
  int reader() const noexcept {
    for (int r = 0; r < size_; ++r) {
      if (r != rank_ && is_reading(r)) return r;
    }
    return -1;
  }
  bool is_reading(int r) const noexcept {
    return control_.reading(r).now.load(std::memory_order_seq_cst) != 0;
  }

  /// A peer has died, and is at work on nothing any more.
  void forget_reader(int r) noexcept {
    control_.reading(r).now.store(0, std::memory_order_release);
  }

  // --- pools

  std::byte* pool(std::size_t n) { return pool_.get(n); }

  std::byte* shared_pool(std::size_t n) {
    if (peers().is_common()) return pool_.get(n);
    return may_share_pool(n) ? pool_.get_shared(n) : nullptr;
  }
  bool pools_hold(std::size_t n) {
    return peers().is_common() || (may_share_pool(n) && pool_.is_held_by_all(n, control_, epoch_));
  }
  bool use_pool() { return pool_.use(control_, epoch_); }

  /// Called before this rank's memory goes: what late peers may still read of its pool stays for
  /// ever.
  void leak_pools_in_use() noexcept { pool_.leak_pools_in_use(control_, epoch_); }

 private:
  using Base::bells_;
  using Base::control_;
  using Base::epoch_;
  using Base::fingerprint_;
  using Base::rank_;
  using Base::size_;

  /// Makes sure of the pages of chunk buffers, if they do not come by themselves. Throws
  /// system_error.
  ///
  /// The first rank to ask for a rank's buffers takes their pages, those of all epoch slots. That
  /// is the rank itself, so that they come from its own NUMA node; only of one that MultiLeader
  /// leaves the whole of a chunk, and which therefore writes nothing to its chunk buffers, it may
  /// be another. One of the result's is taken alone, by the rank that first writes to it. No call
  /// takes what it does not need.
  ///
  /// Two ranks that take the same pages at the same time both have them, if no signal comes: one
  /// that interrupts the kernel makes it take back those that nobody has touched, until that rank
  /// has asked again. So an algorithm leaves it to one rank at a time, as those of the library do.
  [[gnu::noinline, gnu::cold]] void take_pages(std::size_t number,
                                               typename ControlBlock::Reserved& reserved,
                                               const std::byte* at, std::size_t bytes) {
    if (reserved.load(std::memory_order_acquire) == 0) {
      node_->reserve(at, bytes);
      reserved.store(1, std::memory_order_release);
    }
    has_pages_[number] = 1;
  }

  /// A word that no rank has changed in this call is of an older one.
  std::uint32_t state_in(TaggedCount s) const noexcept {
    return s >> 32 == epoch_ ? static_cast<std::uint32_t>(s) : 0;
  }

  bool broken() const noexcept {
    return control_.abort().reason.load(std::memory_order_seq_cst) != 0;
  }

  /// Returns true if all ranks can map n bytes of each other's pools, provided there are pages.
  bool may_share_pool(std::size_t n) const noexcept {
    return node_ != nullptr && n <= node_->pool_bytes && peers().place(node_->pool, n).mapped != 0;
  }

  [[gnu::noinline, gnu::cold]] void take_scratch() noexcept {
    scratch_.resize(3 * scratch_bytes());
  }

  const Node* node_;  ///< null: the ranks share the control block alone
  PeerMemory common_;
  LentPool<ControlBlock> pool_;
  /// 1 if these chunk buffers have pages, as far as this rank knows: of each rank, and then of the
  /// result those of each epoch slot.
  std::vector<unsigned char> has_pages_;
  std::size_t next_at_ = 0;  ///< see expect_again()
  std::size_t next_bytes_ = 0;
  bool announced_ = false;  ///< in this call
  bool exposed_ = false;    ///< in this call: a peer may wait for its pool until this rank has left
  const Reducer* reducer_ = nullptr;
  detail::Shared<const detail::CopyChoice> copies_;
  std::vector<int> pending_;
  std::vector<std::byte> scratch_;
};

/// The call context of a rank of a node whose ranks are processes or threads. A class, so that it
/// can be named where it is not defined.
class NodeContext final : public BasicNodeContext<NodeControlBlock, Doorbells> {
  using BasicNodeContext::BasicNodeContext;
};
static_assert(CallContext<NodeContext>);

}  // namespace papcoll::inline PAPCOLL_ABI
