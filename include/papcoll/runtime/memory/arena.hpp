#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/node/arena_heap.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/runtime/memory/freed_buffer_watch.hpp>
#include <papcoll/runtime/team.hpp>

#include <cstddef>
#include <new>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

/// What a communicator's user has of one rank's part of the node's shared memory. All ranks map it
/// whole from the beginning. What is freed is used again, but not while a communicator of the same
/// ranks is broken.
class Arena : Pinned {
 public:
  /// The arena of a node's rank; ordinary memory if `node` is null or has none. `watch` hears what
  /// users free.
  Arena(const Node* node, detail::Shared<BufferWatch> watch) : watch_(std::move(watch)) {
    if (node == nullptr || node->arena == nullptr) return;
    heap_ = node->arena;
    pages_ = node->pages;
  }

  /// Aligned to a cache line. Throws std::bad_alloc.
  void* allocate(std::size_t bytes) {
    if (heap_ == nullptr) return ::operator new (bytes, std::align_val_t{cache_line});
    try {
      return take(bytes, cache_line);
    } catch (const system_error&) {
      throw std::bad_alloc();
    }
  }

  /// Whole pages, where there is memory that the node's ranks see. Throws system_error.
  std::byte* allocate_pages(std::size_t bytes, std::size_t page) { return take(bytes, page); }

  /// Maps pages of it once more, and returns where. Throws system_error.
  std::byte* map_again(const std::byte* at, std::size_t bytes) const {
    return pages_->map_again(at, bytes);
  }

  /// What a user asked for.
  void deallocate(void* p, std::size_t bytes) noexcept {
    watch_->free(p, bytes);
    deallocate(p);
  }

  void deallocate(void* p) noexcept {
    if (heap_ == nullptr) return ::operator delete (p, std::align_val_t{cache_line});
    // A peer that was stopped while it wrote there may go on: nobody gets the memory again until
    // all of the arena goes. The call may have been one of another communicator, which has the same
    // arenas.
    if (pages_->any_broken()) return;
    heap_->give_back(p);
  }

 private:
  std::byte* take(std::size_t bytes, std::size_t alignment) {
    return heap_->take(bytes, alignment, "this rank's part of the arena",
                       "make the communicator with a larger Options::arena_bytes, three quarters "
                       "of which are for shared_vectors and registered buffers");
  }

  detail::Shared<BufferWatch> watch_;
  detail::Shared<NodePages> pages_;  ///< keeps the memory mapped
  detail::ArenaHeap* heap_ = nullptr;
};

namespace detail {

/// A team's arena, which the memory that users have of it keeps.
struct ArenaPart final : TeamPart {
  static constexpr PartKind kind = PartKind::arena;
  detail::Shared<Arena> arena;
};

inline const detail::Shared<Arena>& arena_of(TeamCore& core) {
  detail::Shared<Arena>& arena = core.parts().get<ArenaPart>().arena;
  if (arena == nullptr) {
    const TeamEnvironment& s = core.surroundings();
    arena = detail::make_shared<Arena>(s.node != nullptr ? s.node : s.partial_node,
                                       core.buffer_watch());
  }
  return arena;
}

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
