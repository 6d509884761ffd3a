#pragma once

#include <papcoll/base/joined.hpp>
#include <papcoll/config.hpp>
#include <papcoll/error.hpp>
#include <papcoll/node/arena_heap.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/transport/shm/file.hpp>
#include <papcoll/transport/shm/segment.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

class NodeArea;

/// What communicators of the same ranks of a node have in common there: one file, of which each
/// process has one descriptor and one lock, and the arenas of the ranks. Behind the arenas the file
/// has an area for each communicator, which its first rank makes and tells the others of:
///
///     head | arena of rank 0 | … | arena of rank P − 1 | area | area | …
///
/// An area is used again when all ranks have left its communicator. Threads may use it at once.
class NodeShare {
 public:
  /// `arena_bytes`: of each rank; 0: there are none.
  NodeShare(ShmSegment segment, int rank, int ranks, std::size_t arena_bytes)
      : segment_(std::move(segment)), rank_(rank), ranks_(ranks), end_(segment_.file_bytes()) {
    if (arena_bytes == 0) return;
    std::byte* const mine = segment_.data() + static_cast<std::size_t>(rank) * arena_bytes;
    const std::size_t pool = Node::pool_of(arena_bytes);
    pools_.emplace(mine, pool, &NodeShare::reserve, &segment_);
    arena_.emplace(mine + pool, arena_bytes - pool, &NodeShare::reserve, &segment_);
  }
  NodeShare(const NodeShare&) = delete;
  NodeShare& operator=(const NodeShare&) = delete;
  ~NodeShare() {
    for (const Retired& r : retired_) munmap(r.memory, r.bytes);
  }

  const ShmSegment& segment() const noexcept { return segment_; }
  int rank() const noexcept { return rank_; }
  int ranks() const noexcept { return ranks_; }

  /// What this rank allocates from, null if there are no arenas: for the library's own use, and for
  /// its users'.
  ArenaHeap* pools() noexcept { return pools_ ? &*pools_ : nullptr; }
  ArenaHeap* arena() noexcept { return arena_ ? &*arena_ : nullptr; }

  /// Is a communicator broken that uses the arenas, and that not all ranks have left? A peer that
  /// was stopped in one of its calls may go on to write to buffers there, whichever communicator
  /// they were allocated for.
  bool any_broken() noexcept;

  /// The words of an area, which begin as zeros.
  struct Words {
    /// Ranks that will touch nothing of the area's memory behind the words, or of peers' pools for
    /// this communicator, any more. Released by each of them; acquired before whoever waited for
    /// all uses either for something else, or clears it.
    std::atomic<std::uint32_t> left;
    /// Ranks that have unmapped it, but for the one that makes areas. The same.
    std::atomic<std::uint32_t> unmapped;
    /// Of each rank: it left the communicator in good order. As PeerLiveness::Departed.
    std::atomic<std::uint32_t>* departed() noexcept {
      return std::launder(reinterpret_cast<std::atomic<std::uint32_t>*>(this + 1));
    }
  };

 private:
  friend class NodeArea;

  /// An area that this rank has left, mapped as long as others may not have.
  struct Retired {
    std::byte* memory;
    std::size_t bytes;
    std::size_t offset;
    std::vector<std::byte*> pools;  ///< what its communicator had of this rank's
    bool broken;                    ///< when this rank left it, and others may not have

    Words& words() const noexcept { return *std::launder(reinterpret_cast<Words*>(memory)); }
  };
  struct Place {
    std::size_t offset;
    std::size_t bytes;
  };

  bool makes_areas() const noexcept { return rank_ == 0; }

  static void reserve(void* segment, const std::byte* at, std::size_t bytes) {
    static_cast<const ShmSegment*>(segment)->reserve(at, bytes);
  }

  /// Where in the file a new area of so many bytes is. Only for the rank that makes them. Throws
  /// system_error.
  std::size_t take_place(std::size_t bytes) {
    const std::lock_guard lock{mutex_};
    sweep();
    const auto fits = std::find_if(free_.begin(), free_.end(),
                                   [bytes](const Place& p) { return p.bytes == bytes; });
    if (fits != free_.end()) {
      const std::size_t offset = fits->offset;
      free_.erase(fits);
      return offset;
    }
    segment_.file().extend(end_ + bytes);
    return std::exchange(end_, end_ + bytes);
  }

  void give_place_back(Place place) noexcept {
    const std::lock_guard lock{mutex_};
    recycle(place);
  }

  void add(const NodeArea& area) {
    const std::lock_guard lock{mutex_};
    areas_.push_back(&area);
  }

  /// This rank leaves the area. The last one takes its pages, but for the words'.
  void retire(const NodeArea& one, Retired area) noexcept {
    const std::lock_guard lock{mutex_};
    std::erase(areas_, &one);
    if (area.words().left.fetch_add(1, std::memory_order_acq_rel) + 1 == all()) {
      const std::size_t words = words_bytes(ranks_);
      segment_.file().clear(area.offset + words, area.bytes - words);
    }
    retired_.push_back(std::move(area));
    sweep();
  }

  void clear_away() noexcept {
    const std::lock_guard lock{mutex_};
    sweep();
  }

  /// Looks which areas the others have left, too. The rank that makes areas is the last to unmap
  /// one.
  void sweep() noexcept {
    std::erase_if(retired_, [this](Retired& r) {
      if (r.words().left.load(std::memory_order_acquire) < all()) return false;
      for (std::byte* const p : r.pools) pools_->give_back(p);
      r.pools.clear();
      r.broken = false;  // nobody goes on in it
      if (!makes_areas()) {
        r.words().unmapped.fetch_add(1, std::memory_order_release);
      } else if (r.words().unmapped.load(std::memory_order_acquire) + 1 < all()) {
        return false;
      }
      munmap(r.memory, r.bytes);
      if (makes_areas()) recycle({r.offset, r.bytes});
      return true;
    });
  }

  std::uint32_t all() const noexcept { return static_cast<std::uint32_t>(ranks_); }
  static std::size_t words_bytes(int ranks) noexcept {
    return page_aligned(sizeof(Words) +
                        static_cast<std::size_t>(ranks) * sizeof(std::atomic<std::uint32_t>));
  }

  void recycle(Place place) noexcept {
    if (segment_.file().clear(place.offset, place.bytes)) free_.push_back(place);
  }

  ShmSegment segment_;
  int rank_;
  int ranks_;
  std::optional<ArenaHeap> pools_;
  std::optional<ArenaHeap> arena_;
  std::mutex mutex_;  ///< of what follows
  std::size_t end_;   ///< of the file, as this rank has made it
  std::vector<Place> free_;
  std::vector<Retired> retired_;
  std::vector<const NodeArea*> areas_;  ///< of which is known where they say that they are broken
};

/// One communicator's memory on a node, as one of its ranks sees it. Ends when the last of those
/// that use it does.
class NodeArea {
 public:
  /// The same on all ranks.
  struct Request {
    std::size_t bytes = 0;     ///< of data()
    std::size_t reserved = 0;  ///< bytes at the beginning of data() that get pages at once
    std::size_t wanted = 0;    ///< bytes that ranks may reserve soon: there must be room for them

    friend bool operator==(const Request&, const Request&) = default;
  };

  /// By rank 0, which tells the others where it is. Throws system_error.
  static std::shared_ptr<NodeArea> make(const std::shared_ptr<NodeShare>& share,
                                        const Request& request) {
    const std::size_t head = NodeShare::words_bytes(share->ranks());
    const std::size_t bytes = page_aligned(head + request.bytes);
    const std::size_t offset = share->take_place(bytes);
    try {
      share->segment().file().reserve(offset, head + request.reserved);
      share->segment().file().require_room(request.wanted);
      return std::make_shared<NodeArea>(share, offset, bytes);
    } catch (...) {
      share->give_place_back({offset, bytes});
      throw;
    }
  }

  /// By the others. Throws system_error.
  static std::shared_ptr<NodeArea> join(std::shared_ptr<NodeShare> share, const Request& request,
                                        std::size_t offset) {
    share->clear_away();
    const std::size_t bytes = page_aligned(NodeShare::words_bytes(share->ranks()) + request.bytes);
    return std::make_shared<NodeArea>(std::move(share), offset, bytes);
  }

  /// For make() and join().
  NodeArea(std::shared_ptr<NodeShare> share, std::size_t offset, std::size_t bytes)
      : share_(std::move(share)), offset_(offset), bytes_(bytes), process_(getpid()) {
    void* const p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                         share_->segment().file().fd(), static_cast<off_t>(offset));
    if (p == MAP_FAILED) throw_system_error("cannot map shared memory", errno);
    memory_ = static_cast<std::byte*>(p);
  }
  NodeArea(const NodeArea&) = delete;
  NodeArea& operator=(const NodeArea&) = delete;
  ~NodeArea() {
    if (getpid() != process_) return;  // a child has no part in it
    share_->retire(*this, {memory_, bytes_, offset_, std::move(pools_), is_broken()});
  }

  /// Where in the file it is.
  std::size_t offset() const noexcept { return offset_; }
  /// Memory that begins as zeros, aligned to a page.
  std::byte* data() const noexcept { return memory_ + NodeShare::words_bytes(share_->ranks()); }
  NodeShare& share() const noexcept { return *share_; }

  /// Where the communicator's boards say that it is broken, in this area: 0, or why. Once.
  using Breaks = std::vector<const std::atomic<std::uint32_t>*>;
  void watch(Breaks breaks) {
    breaks_ = std::move(breaks);
    share_->add(*this);
  }
  /// Acquired, for what its readers do of it with memory that others wrote to.
  bool is_broken() const noexcept {
    return std::any_of(breaks_.begin(), breaks_.end(), [](const std::atomic<std::uint32_t>* b) {
      return b->load(std::memory_order_acquire) != 0;
    });
  }

  /// The other ranks will never join it: it may be used again. By the rank that made it.
  void discard() noexcept {
    const auto others = static_cast<std::uint32_t>(share_->ranks() - 1);
    words().left.store(others, std::memory_order_relaxed);
    words().unmapped.store(others, std::memory_order_relaxed);
  }

  /// This rank leaves in good order: whoever still waits for somebody else is not told that it
  /// died.
  void depart() noexcept {
    if (getpid() != process_) return;
    words().departed()[share_->rank()].store(1, std::memory_order_seq_cst);
  }

  /// Has the rank's process ended, or left the communicator? Then it touches no memory of its peers
  /// for it any more.
  bool is_gone(int r) const noexcept {
    return words().departed()[r].load(std::memory_order_seq_cst) != 0 ||
           share_->segment().watch().is_gone(r);
  }

  /// A rank that is dead, or −1. One system call for each rank.
  int find_dead() const noexcept {
    for (int r = 0; r < share_->ranks(); ++r) {
      // In this order: a rank that ends departs before it drops its lock.
      if (r != share_->rank() && share_->segment().watch().is_gone(r) &&
          words().departed()[r].load(std::memory_order_seq_cst) == 0) {
        return r;
      }
    }
    return -1;
  }

  /// For Node: `area` is one.
  static void reserve(void* area, const std::byte* at, std::size_t bytes) {
    const NodeArea& a = *static_cast<const NodeArea*>(area);
    if (at >= a.memory_ && at < a.memory_ + a.bytes_) {
      const auto place = static_cast<std::size_t>(at - a.memory_);
      a.share_->segment().file().reserve(a.offset_ + place, bytes);
    } else {
      a.share_->segment().reserve(at, bytes);
    }
  }
  static std::byte* map_again(void* area, const std::byte* at, std::size_t bytes) {
    return static_cast<const NodeArea*>(area)->share_->segment().map_again(at, bytes);
  }
  static bool any_broken(void* area) noexcept {
    return static_cast<const NodeArea*>(area)->share_->any_broken();
  }
  static std::byte* take_pool(void* area, std::size_t bytes) {
    NodeArea& a = *static_cast<NodeArea*>(area);
    a.pools_.reserve(a.pools_.size() + 1);
    a.pools_.push_back(a.share_->pools()->take(bytes, page_bytes(),
                                               "the library's part of the arena",
                                               "make the communicator with a larger "
                                               "Options::arena_bytes"));
    return a.pools_.back();
  }
  static void give_pool_back(void* area, std::byte* at) noexcept {
    NodeArea& a = *static_cast<NodeArea*>(area);
    std::erase(a.pools_, at);
    a.share_->pools()->give_back(at);
  }

 private:
  NodeShare::Words& words() const noexcept {
    return *std::launder(reinterpret_cast<NodeShare::Words*>(memory_));
  }

  std::shared_ptr<NodeShare> share_;
  std::size_t offset_;
  std::size_t bytes_;
  pid_t process_;
  std::byte* memory_ = nullptr;
  std::vector<std::byte*> pools_;  ///< of this rank's heap
  Breaks breaks_;
};

inline bool NodeShare::any_broken() noexcept {
  const std::lock_guard lock{mutex_};
  sweep();
  return std::any_of(areas_.begin(), areas_.end(),
                     [](const NodeArea* a) { return a->is_broken(); }) ||
         std::any_of(retired_.begin(), retired_.end(), [](const Retired& r) { return r.broken; });
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
