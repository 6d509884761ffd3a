#pragma once

#include <papcoll/base/joined.hpp>
#include <papcoll/error.hpp>
#include <papcoll/node/board.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/runtime/watched_buffers.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <boost/interprocess/mem_algo/rbtree_best_fit.hpp>
#include <boost/interprocess/sync/mutex_family.hpp>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// One rank's part of the node's shared memory, from which it alone allocates. All ranks map it
/// whole from the beginning; pages are taken as it fills up. What is freed is used again, but not
/// once the communicator is broken.
class Arena {
 public:
  /// The arena of a node's rank; ordinary memory if `node` is null or has none. `boards`, in the
  /// node's memory, are those of the teams whose calls reach it. `watch` hears what users free.
  Arena(const Node* node, std::vector<NodeBoard> boards, std::shared_ptr<BufferWatch> watch)
      : watch_(std::move(watch)) {
    if (node == nullptr || node->reserve == nullptr || node->arena_bytes == 0) return;
    memory_ = node->arena;
    boards_ = std::move(boards);
    most_ = node->arena_bytes;
    keep_ = node->keep;
    reserve_ = node->reserve;
    map_again_ = node->map_again;
    context_ = node->context;
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() = default;

  /// Aligned to a cache line. Throws std::bad_alloc.
  void* allocate(std::size_t bytes) {
    if (memory_ == nullptr) return ::operator new (bytes, std::align_val_t{cache_line});
    try {
      return take(bytes, cache_line);
    } catch (const system_error&) {
      throw std::bad_alloc();
    }
  }

  /// Whole pages, where there is memory that the node's ranks see. Throws system_error.
  std::byte* allocate_pages(std::size_t bytes, std::size_t page) {
    return static_cast<std::byte*>(take(bytes, page));
  }

  /// Maps pages of it once more, and returns where. Throws system_error.
  std::byte* map_again(const std::byte* at, std::size_t bytes) const {
    return map_again_(context_, at, bytes);
  }

  /// What a user asked for.
  void deallocate(void* p, std::size_t bytes) noexcept {
    watch_->free(p, bytes);
    deallocate(p);
  }

  void deallocate(void* p) noexcept {
    if (memory_ == nullptr) return ::operator delete (p, std::align_val_t{cache_line});
    // A peer that was stopped while it wrote there may go on, also where the heap would keep its
    // own notes: the memory stays as it is until all of the arena goes.
    for (const NodeBoard& board : boards_) {
      if (board.abort().reason.load(std::memory_order_acquire) != 0) return;
    }
    const std::lock_guard lock{mutex_};
    heap_->deallocate(p);
  }

 private:
  using Heap = boost::interprocess::rbtree_best_fit<boost::interprocess::null_mutex_family>;
  static constexpr std::size_t step = std::size_t{1} << 20U;

  void* take(std::size_t bytes, std::size_t alignment) {
    const std::lock_guard lock{mutex_};
    void* p = heap_ != nullptr ? heap_->allocate_aligned(bytes, alignment) : nullptr;
    if (p == nullptr) {
      if (!grow(bytes)) refuse(bytes);
      p = heap_->allocate_aligned(bytes, alignment);
    }
    if (p == nullptr) refuse(bytes);
    return p;
  }

  std::size_t free_bytes() const noexcept {
    return heap_ != nullptr ? heap_->get_free_memory() : 0;
  }

  [[noreturn, gnu::cold]] void refuse(std::size_t bytes) const {
    const std::size_t free = most_ - size_ + free_bytes();
    throw system_error(
        detail::joined({"papcoll: no room for ", bytes,
                        " bytes in this rank's part of the arena: ", free, " of its ", most_,
                        " bytes are free", (bytes <= free ? ", but not in one piece" : ""),
                        ": make the communicator with a larger Options::arena_bytes, three "
                        "quarters of which are for shared_vectors and registered buffers"}),
        ENOMEM);
  }

  /// Backs what it adds before it is touched, so that a full /dev/shm is an exception and not a
  /// SIGBUS. Throws system_error. False: there is no more address space.
  bool grow(std::size_t bytes) {
    const std::size_t left = most_ - size_;
    // What is added goes on from the last free block.
    if (left == 0 || bytes > left + free_bytes()) return false;
    const std::size_t wanted = (bytes + step - 1) / step * step + step;
    const std::size_t more = std::min(wanted, left);
    reserve_(context_, memory_ + size_, more);
    if (heap_ == nullptr) {
      heap_ = new (memory_) Heap(more, 0);
    } else {
      heap_->grow(more);
    }
    size_ += more;
    return true;
  }

  std::mutex mutex_;
  std::shared_ptr<BufferWatch> watch_;
  std::shared_ptr<const void> keep_;  ///< keeps the memory mapped
  std::byte* memory_ = nullptr;
  std::vector<NodeBoard> boards_;  ///< know whether the communicator is broken
  std::size_t most_ = 0;
  std::size_t size_ = 0;  ///< bytes that have pages
  Heap* heap_ = nullptr;
  void (*reserve_)(void*, const std::byte*, std::size_t) = nullptr;
  std::byte* (*map_again_)(void*, const std::byte*, std::size_t) = nullptr;
  void* context_ = nullptr;
};

namespace detail {

inline void add_boards(std::vector<NodeBoard>& boards, const TeamCore* team) {
  if (team == nullptr) return;
  const Node* const node = team->surroundings().node;
  if (node != nullptr && node->board != nullptr) boards.push_back({node->board, node->size, 0});
  add_boards(boards, team->intra());
  add_boards(boards, team->inter());
}

inline std::shared_ptr<Arena> arena_of(TeamCore& core) {
  std::shared_ptr<void>& kept = core.arena();
  if (kept == nullptr) {
    const Surroundings& s = core.surroundings();
    std::vector<NodeBoard> boards;
    add_boards(boards, &core);
    kept = std::make_shared<Arena>(s.node != nullptr ? s.node : s.partial_node, std::move(boards),
                                   core.buffer_watch());
  }
  return std::static_pointer_cast<Arena>(kept);
}

}  // namespace detail

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
