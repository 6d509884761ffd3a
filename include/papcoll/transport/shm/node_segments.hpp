// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/node/arena_heap.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/pool.hpp>
#include <papcoll/transport/shm/shm_file.hpp>
#include <papcoll/transport/shm/shm_segment.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI::detail {

class CommunicatorSegment;

/// What communicators of the same ranks of a node have in common there: one file, of which each
/// process has one descriptor and one lock, and the arenas of the ranks. Behind these are words for
/// each communicator, and an area for each, which its first rank makes and announces to the others:
///
///     head | arena of rank 0 | … | arena of rank P − 1 | words, words, … | area | area | …
///
/// All of this but the areas is mapped as long as the share is there; an area only by those that
/// are in its communicator. It is used again when all ranks have left. Threads may use it at once.
class NodeSegmentPool : Pinned {
 public:
  /// What a communicator gets. Equal on all ranks, and for all communicators of a pool.
  struct AreaRequest {
    std::size_t bytes = 0;     ///< of CommunicatorSegment::data()
    std::size_t reserved = 0;  ///< bytes at its beginning that get pages at once
    std::size_t wanted = 0;    ///< bytes that ranks may reserve soon: there must be room for them

    friend bool operator==(const AreaRequest&, const AreaRequest&) = default;
  };

  /// Bytes of the segment's data().
  static std::size_t bytes(std::size_t ranks, std::size_t arena_bytes) {
    return ranks * arena_bytes + page_aligned(most_areas * words_bytes(ranks));
  }

  /// `arena_bytes`: of each rank; 0: there are none.
  NodeSegmentPool(Owned<ShmSegment> segment, int rank, int ranks, std::size_t arena_bytes,
                  const AreaRequest& area)
      : segment_(std::move(segment)),
        rank_(rank),
        ranks_(ranks),
        words_(segment_->data() + static_cast<std::size_t>(ranks) * arena_bytes),
        request_(area),
        area_bytes_(page_aligned(area.bytes)) {
    if (arena_bytes == 0) return;
    std::byte* const mine = segment_->data() + static_cast<std::size_t>(rank) * arena_bytes;
    const std::size_t pool = Node::pool_of(arena_bytes);
    pools_ = make_owned<ArenaHeap>(mine, pool, *segment_);
    arena_ = make_owned<ArenaHeap>(mine + pool, arena_bytes - pool, *segment_);
  }

  const ShmSegment& segment() const noexcept { return *segment_; }
  int rank() const noexcept { return rank_; }
  int ranks() const noexcept { return ranks_; }

  /// Returns what this rank allocates from, null if there are no arenas: for the library's own use,
  /// and for its users'.
  ArenaHeap* pools() noexcept { return pools_.get(); }
  ArenaHeap* arena() noexcept { return arena_.get(); }

  /// Returns true if a communicator that uses the arenas is broken, and not all ranks have left it.
  /// A peer that was stopped in one of its calls may resume and write to buffers there, whichever
  /// communicator they were allocated for.
  bool any_broken() noexcept;

 private:
  friend class CommunicatorSegment;

  /// The most communicators that may exist at a time.
  static constexpr std::size_t most_areas = 4096;

  /// The words of a communicator. They begin as zeros.
  struct Words {
    /// The number of ranks that have finished with the area and with peers' pools for this
    /// communicator. Each adds 1 with release after its last access. A rank that reuses or clears
    /// that memory first reads the full count with acquire.
    std::atomic<std::uint32_t> left;
    /// The number of ranks, without the one that makes areas, that have read the full count in
    /// `left`: that rank clears these words only then. Memory orders as for `left`.
    std::atomic<std::uint32_t> seen;
    /// For each rank: whether it left the communicator in good order.
    PeerLiveness::Departed* departed() noexcept {
      return std::launder(reinterpret_cast<PeerLiveness::Departed*>(this + 1));
    }
  };

  /// An area that this rank has left, and others may not have.
  struct Retired {
    std::size_t number;
    TakenPools pools;  ///< what its communicator had of this rank's
    bool broken;       ///< when this rank left it, and others may not have
  };

  bool makes_areas() const noexcept { return rank_ == 0; }

  static std::size_t words_bytes(std::size_t ranks) noexcept {
    const std::size_t n = sizeof(Words) + ranks * sizeof(std::atomic<std::uint32_t>);
    return (n + cache_line - 1) / cache_line * cache_line;
  }
  std::size_t words_bytes() const noexcept { return words_bytes(static_cast<std::size_t>(ranks_)); }

  Words& words(std::size_t number) const noexcept {
    return *std::launder(reinterpret_cast<Words*>(words_ + number * words_bytes()));
  }
  /// The offset of an area in the file.
  std::size_t offset(std::size_t number) const noexcept {
    return segment_->file_bytes() + number * area_bytes_;
  }

  /// The number of a new area, which has memory. Only for the rank that makes them. Throws
  /// system_error.
  [[gnu::cold]] std::size_t take_number() {
    const std::lock_guard lock{mutex_};
    sweep();
    if (!free_.empty()) {
      const std::size_t number = free_.back();
      free_.pop_back();
      return number;
    }
    if (made_ == most_areas) {
      throw_system_error(joined({"the same ranks have ", most_areas, " communicators already"}),
                         ENOSPC);
    }
    free_.reserve(made_ + 1);
    segment_->reserve(words_ + made_ * words_bytes(), words_bytes());
    segment_->file().extend(offset(made_ + 1));
    return made_++;
  }

  [[gnu::cold]] void give_number_back(std::size_t number) noexcept {
    const std::lock_guard lock{mutex_};
    recycle(number);
  }

  /// Room for retire(), which must not fail.
  [[gnu::cold]] void expect() {
    const std::lock_guard lock{mutex_};
    retired_.reserve(retired_.size() + in_use_ + 1);
    ++in_use_;
    sweep();
  }

  void watch(CommunicatorSegment& area, const std::atomic<std::uint32_t>& broken);

  /// This rank unmaps the area and leaves it. The last one takes its pages.
  [[gnu::cold]] void retire(const CommunicatorSegment& left, LazyMapping memory,
                            Retired area) noexcept {
    const std::lock_guard lock{mutex_};
    areas_.erase_if([&left](const CommunicatorSegment* a) { return a == &left; });
    memory = {};
    --in_use_;
    if (words(area.number).left.fetch_add(1, std::memory_order_acq_rel) + 1 == all()) {
      segment_->file().clear(offset(area.number), area_bytes_);
    }
    retired_.push_back(std::move(area));
    sweep();
  }

  /// Looks which areas the others have left, too.
  [[gnu::cold]] void sweep() noexcept {
    retired_.erase_if([this](Retired& r) {
      Words& w = words(r.number);
      if (w.left.load(std::memory_order_acquire) < all()) return false;
      r.pools.give_all_back();
      r.broken = false;  // nobody goes on in it
      if (!makes_areas()) {
        w.seen.fetch_add(1, std::memory_order_release);
      } else if (w.seen.load(std::memory_order_acquire) + 1 < all()) {
        return false;
      } else {
        recycle(r.number);
      }
      return true;
    });
  }

  /// The area and the words are unused from here on. Relaxed: their next user is notified by a
  /// message.
  [[gnu::cold]] void recycle(std::size_t number) noexcept {
    if (!segment_->file().clear(offset(number), area_bytes_)) return;
    Words& w = words(number);
    w.left.store(0, std::memory_order_relaxed);
    w.seen.store(0, std::memory_order_relaxed);
    for (int r = 0; r < ranks_; ++r) w.departed()[r].store(0, std::memory_order_relaxed);
    free_.push_back(number);
  }

  std::uint32_t all() const noexcept { return static_cast<std::uint32_t>(ranks_); }

  Owned<ShmSegment> segment_;
  int rank_;
  int ranks_;
  std::byte* words_;
  AreaRequest request_;
  std::size_t area_bytes_;
  Owned<ArenaHeap> pools_;
  Owned<ArenaHeap> arena_;
  std::mutex mutex_;               ///< of what follows
  std::size_t made_ = 0;           ///< areas, as this rank has made them
  std::vector<std::size_t> free_;  ///< of these
  std::size_t in_use_ = 0;         ///< areas that this rank has
  Vector<Retired> retired_;
  Vector<const CommunicatorSegment*>
      areas_;  ///< of which is known where they say that they are broken
};

/// One communicator's memory on a node, as one of its ranks sees it. Ends when the last of those
/// that use it does.
class CommunicatorSegment final : public NodePages {
 public:
  /// Called by rank 0, which sends its number to the others. Throws system_error.
  [[gnu::cold]] static Shared<CommunicatorSegment> make(const Shared<NodeSegmentPool>& share) {
    const std::size_t number = share->take_number();
    try {
      const NodeSegmentPool::AreaRequest& request = share->request_;
      share->segment().file().reserve(share->offset(number), request.reserved);
      share->segment().file().require_room(request.wanted);
      return detail::make_shared<CommunicatorSegment>(share, number);
    } catch (...) {
      share->give_number_back(number);
      throw;
    }
  }

  /// Called by the other ranks. Throws system_error or bad_alloc. Then it is as if this rank had
  /// joined and left, so that the others do not wait for it.
  [[gnu::cold]] static Shared<CommunicatorSegment> join(const Shared<NodeSegmentPool>& share,
                                                        std::size_t number) {
    try {
      return detail::make_shared<CommunicatorSegment>(share, number);
    } catch (...) {
      share->words(number).left.fetch_add(1, std::memory_order_release);
      share->words(number).seen.fetch_add(1, std::memory_order_release);
      throw;
    }
  }

  /// For make() and join().
  [[gnu::cold]] CommunicatorSegment(Shared<NodeSegmentPool> share, std::size_t number)
      : share_(std::move(share)),
        number_(number),
        process_(getpid()),
        memory_(LazyMapping::of_file(share_->segment().file().fd(), share_->offset(number),
                                     share_->area_bytes_)),
        pools_(share_->pools()) {
    if (memory_.data() == nullptr) throw_system_error("cannot map shared memory", errno);
    share_->expect();
  }
  [[gnu::cold]] ~CommunicatorSegment() override {
    if (getpid() != process_) return;  // a child has no part in it
    share_->retire(*this, std::move(memory_), {number_, std::move(pools_), is_broken()});
  }

  /// The number by which the other ranks find it.
  std::size_t number() const noexcept { return number_; }
  /// Memory that begins as zeros, aligned to a page.
  std::byte* data() const noexcept { return memory_.data(); }
  NodeSegmentPool& share() const noexcept { return *share_; }

  [[gnu::cold]] void watch(const std::atomic<std::uint32_t>& broken) override {
    share_->watch(*this, broken);
  }
  /// Acquired, for what its readers do of it with memory that others wrote to.
  bool is_broken() const noexcept {
    for (const std::atomic<std::uint32_t>* const b : breaks_) {
      if (b->load(std::memory_order_acquire) != 0) return true;
    }
    return false;
  }

  /// The other ranks will never join it: it may be used again. By the rank that made it.
  [[gnu::cold]] void discard() noexcept {
    const auto others = static_cast<std::uint32_t>(share_->ranks() - 1);
    words().left.store(others, std::memory_order_relaxed);
    words().seen.store(others, std::memory_order_relaxed);
  }

  /// This rank leaves in good order: ranks that still wait for another do not take it for dead.
  [[gnu::cold]] void depart() noexcept {
    if (getpid() != process_) return;
    words().departed()[share_->rank()].store(1, std::memory_order_seq_cst);
  }

  /// Returns true if the rank's process has ended, or left the communicator. Then it accesses no
  /// memory of its peers for it any more.
  bool is_gone(int r) const noexcept {
    return words().departed()[r].load(std::memory_order_seq_cst) != 0 ||
           share_->segment().liveness().is_gone(r);
  }

  /// A rank that is dead, or −1. One system call for each rank.
  int find_dead() const noexcept {
    return share_->segment().liveness().find_dead(words().departed());
  }

  [[gnu::cold]] void reserve(const std::byte* at, std::size_t bytes) const override {
    if (at >= data() && at < data() + memory_.bytes()) {
      const auto place = static_cast<std::size_t>(at - data());
      share_->segment().file().reserve(share_->offset(number_) + place, bytes);
    } else {
      share_->segment().reserve(at, bytes);
    }
  }
  [[gnu::cold]] std::byte* map_again(const std::byte* at, std::size_t bytes) const override {
    return share_->segment().map_again(at, bytes);
  }
  [[gnu::cold]] bool any_broken() noexcept override { return share_->any_broken(); }
  TakenPools& taken_pools() noexcept { return pools_; }

 private:
  friend class NodeSegmentPool;

  NodeSegmentPool::Words& words() const noexcept { return share_->words(number_); }

  Shared<NodeSegmentPool> share_;
  std::size_t number_;
  pid_t process_;
  LazyMapping memory_;
  TakenPools pools_;
  Vector<const std::atomic<std::uint32_t>*> breaks_;
};

inline void NodeSegmentPool::watch(CommunicatorSegment& area,
                                   const std::atomic<std::uint32_t>& broken) {
  const std::lock_guard lock{mutex_};
  if (area.breaks_.empty()) areas_.push_back(&area);
  area.breaks_.push_back(&broken);
}

inline bool NodeSegmentPool::any_broken() noexcept {
  const std::lock_guard lock{mutex_};
  sweep();
  for (const CommunicatorSegment* const a : areas_) {
    if (a->is_broken()) return true;
  }
  for (const Retired& r : retired_) {
    if (r.broken) return true;
  }
  return false;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
