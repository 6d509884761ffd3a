// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/packed_layout.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/node/arena_heap.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/runtime/memory/registrations.hpp>
#include <papcoll/runtime/team.hpp>

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

/// What a communicator's user has of one rank's part of the node's shared memory. All ranks map it
/// whole from the beginning. What is freed is used again, but not while a communicator of the same
/// ranks is broken.
class Arena : Pinned {
 public:
  /// The arena of a node's rank; ordinary memory if `node` is null or has none. `watch` is notified
  /// of what users free.
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
    // A peer that was stopped while it wrote there may resume: the memory is not used again until
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
  Shared<Arena> arena;
};

inline const Shared<Arena>& arena_of(TeamCore& core) {
  Shared<Arena>& arena = core.parts.get<ArenaPart>().arena;
  if (arena == nullptr) {
    const TeamEnvironment& environment = core.environment();
    arena = detail::make_shared<Arena>(
        environment.node != nullptr ? environment.node : environment.partial_node,
        core.buffer_watch());
  }
  return arena;
}

/// Memory for packed elements, which a rank uses again from call to call: of its arena, so that
/// peers read and write the packed elements where they are, or its own if there is no room.
class PackedMemory final : public TeamPart {
 public:
  static constexpr PartKind kind = PartKind::packed_memory;

  explicit PackedMemory(Shared<Arena> arena) noexcept : arena_(std::move(arena)) {}
  ~PackedMemory() override { release(); }

  /// At least n bytes, whose contents do not matter. Throws std::bad_alloc.
  std::byte* get(std::size_t n) {
    if (n > bytes_) grow(n);
    return in_arena_ != nullptr ? in_arena_ : own_.data();
  }

 private:
  static constexpr std::size_t least_bytes = 16384;

  [[gnu::noinline, gnu::cold]] void grow(std::size_t n) {
    const std::size_t wanted = std::max({n, least_bytes, bytes_ + bytes_ / 2});
    release();
    try {
      in_arena_ = static_cast<std::byte*>(arena_->allocate(wanted));
    } catch (const std::bad_alloc&) {
      own_.get(wanted);
    }
    bytes_ = wanted;
  }

  void release() noexcept {
    bytes_ = 0;
    own_.free();
    if (in_arena_ != nullptr) arena_->deallocate(std::exchange(in_arena_, nullptr));
  }

  Shared<Arena> arena_;
  std::byte* in_arena_ = nullptr;
  KeptMemory own_;  ///< where the arena has no room
  std::size_t bytes_ = 0;
};

/// A blocking call some of whose buffers are not contiguous, as a call on contiguous copies of
/// these; the other buffer stays as it is. Where the call throws, an output that is not contiguous
/// is as it was.
class PackedCall : Pinned {
 public:
  PackedCall(TeamCore& core, const Call& given)
      : parts_(given, core.rank(), core.size()),
        memory_(memory_of(core, parts_.bytes())),
        packed_(parts_.pack(memory_)) {}

  const Call& call() const noexcept { return packed_; }

  /// The call has returned.
  void finish() const { parts_.unpack(memory_); }

 private:
  static std::byte* memory_of(TeamCore& core, std::size_t bytes) {
    core.require_no_call();
    // The peers are in the call, or will be.
    return core.or_break([&] {
      PackedMemory* const kept = core.parts.find<PackedMemory>();
      return (kept != nullptr ? *kept : core.parts.get<PackedMemory>(arena_of(core))).get(bytes);
    });
  }

  PackedLayout parts_;
  std::byte* memory_;
  Call packed_;
};

/// Calls f with an equal call whose buffers are contiguous.
template <class F>
[[gnu::always_inline]] inline void with_contiguous_buffers(TeamCore& core, const Call& call,
                                                           F&& f) {
  if (!call.is_noncontiguous) [[likely]]
    return f(call);
  PackedCall packed{core, call};
  f(packed.call());
  packed.finish();
}

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
