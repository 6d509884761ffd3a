#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/node/board.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/peer_memory.hpp>
#include <papcoll/node/pool.hpp>
#include <papcoll/node/work_words.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace papcoll::inline PAPCOLL_ABI {

/// What ranks lend each other: the buffers of a call, as long as it lasts and stands, and their
/// pools, until all have left the call. See Site.
template <class Board, class Bells>
class ExposedBuffers : public WorkWords<Board, Bells> {
  using Base = WorkWords<Board, Bells>;
  using Access = typename Board::Access;

 public:
  const PeerMemory& peers() const noexcept { return node_ ? node_->peers : common_; }

  BufferDescriptor offer_of(int r) const noexcept {
    static_assert(sizeof(BufferDescriptor) <= Board::inline_bytes);
    BufferDescriptor offer;
    Access::read(&offer, board_.header(epoch_, r).payload, sizeof offer);
    return offer;
  }

  // --- reading them

  bool begin_reading() noexcept {
    auto& reading = board_.reading(rank_).now;
    reading.store(1, std::memory_order_seq_cst);
    if (!broken() && !Base::is_failing()) return true;
    reading.store(0, std::memory_order_release);
    return false;
  }

  bool end_reading() noexcept {
    board_.reading(rank_).now.store(0, std::memory_order_release);
    return !broken();
  }

  /// A peer that may be at work on this rank's buffers, or −1. For a rank that gives up a call in
  /// which it has offered them, after fail_with() or an abort of the communicator: nobody begins to
  /// from then on.
  int reader() const noexcept {
    for (int r = 0; r < Base::size(); ++r) {
      if (r != rank_ && is_reading(r)) return r;
    }
    return -1;
  }
  bool is_reading(int r) const noexcept {
    return board_.reading(r).now.load(std::memory_order_seq_cst) != 0;
  }

  /// A peer has died, and is at work on nothing any more.
  void forget_reader(int r) noexcept { board_.reading(r).now.store(0, std::memory_order_release); }

  // --- pools

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
    for (int r = 0; r < Base::size(); ++r) {
      const std::uint32_t kilobytes = board_.left(r).pooled[record].load(std::memory_order_relaxed);
      if (n > std::size_t{kilobytes} * 1024) return false;
    }
    return true;
  }

  bool use_pool() {
    if (pool_used_ == epoch_) return true;
    const std::span<const std::byte> wanted = pool_.taken();
    bool any = false;
    for (const PoolUse& u : pool_uses_) {
      if (!is_lent(u)) continue;
      any = true;
      if (u.bytes.data() < wanted.data() + wanted.size() &&
          wanted.data() < u.bytes.data() + u.bytes.size()) {
        return false;
      }
    }
    if (!any) pool_.forget_former();
    pool_uses_[epoch_ % Board::frames] = {epoch_, wanted};
    pool_used_ = epoch_;
    return true;
  }

  /// Before this rank's memory goes: what late peers may still read of its pool stays for ever.
  void keep_what_is_lent() noexcept {
    const bool any = std::any_of(pool_uses_.begin(), pool_uses_.end(),
                                 [this](const PoolUse& u) { return is_lent(u); });
    if (any) pool_.leak();
  }

 protected:
  /// `node`: what the ranks share besides the board; null if that is all.
  [[gnu::cold]] ExposedBuffers(Board board, Bells bells, int rank, std::uint32_t first_epoch,
                               const Node* node)
      : Base(board, bells, rank, first_epoch),
        node_(node),
        pool_(node),
        pool_used_(first_epoch - 1) {}

  using Base::board_;
  using Base::epoch_;
  using Base::rank_;

  const Node* node_;  ///< null: the ranks share the board alone

  /// Before this rank leaves: shows what it could lend.
  void end_lending() noexcept {
    pool_.end_call();
    const std::size_t bytes = pool_.backed();
    if (bytes == 0) return;  // the records begin with that
    board_.left(rank_).pooled[epoch_ % Board::records].store(
        static_cast<std::uint32_t>(bytes / 1024), std::memory_order_relaxed);
  }

 private:
  bool broken() const noexcept {
    return board_.abort().reason.load(std::memory_order_seq_cst) != 0;
  }

  /// Do all ranks see so much of each other's pools, if there are pages?
  bool may_share_pool(std::size_t n) const noexcept {
    return node_ != nullptr && n <= node_->pool_bytes && peers().place(node_->pool, n).mapped != 0;
  }

  /// What a call had of the pool: nothing is written there until all have left the call.
  struct PoolUse {
    std::uint32_t epoch = 0;
    std::span<const std::byte> bytes;
  };

  /// Is somebody still in that call?
  bool is_lent(const PoolUse& use) const noexcept {
    // Calls are entered only when all have left those of `frames` calls before; and epochs that lie
    // 2^31 apart cannot be compared.
    if (use.bytes.empty() || epoch_ - use.epoch > static_cast<std::uint32_t>(Board::frames)) {
      return false;
    }
    // Sequentially consistent: it may be the last look before this rank sleeps.
    for (int r = 0; r < Base::size(); ++r) {
      if (!epoch_reached(board_.left(r).epoch.load(std::memory_order_seq_cst), use.epoch)) {
        return true;
      }
    }
    return false;
  }

  PeerMemory common_;
  Pool pool_;
  std::uint32_t pool_used_;  ///< the last epoch in which this rank used its pool
  std::array<PoolUse, Board::frames> pool_uses_{};  ///< call e in number e mod frames
};

}  // namespace papcoll::inline PAPCOLL_ABI
