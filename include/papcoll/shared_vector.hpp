#pragma once

#include <papcoll/base/pointers.hpp>
#include <papcoll/call/team_of.hpp>
#include <papcoll/runtime/memory/arena.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Memory that all ranks of a node see: collectives read and write it where it lies, several times
/// as fast as private memory. Allocating is local; pages are taken when they are first used, near
/// the rank that allocates. Where ranks share nothing, and in a ThreadTeam, whose ranks see all
/// memory anyway, it is ordinary memory.
///
/// What was allocated stays valid when the communicator has gone, but not in a child made by
/// fork(), which cannot allocate, and whose deallocations change nothing for its parent. Allocation
/// throws std::bad_alloc when Options::arena_bytes or the shared memory is used up. May be used by
/// several threads.
template <class T>
class shared_allocator {  // NOLINT(readability-identifier-naming): as std::allocator
 public:
  using value_type = T;  ///< as allocators have it

  /// `team`: the Communicator whose collectives will be given the memory.
  template <Team C>
  explicit shared_allocator(C& team) : arena_(detail::arena_of(detail::core_of(team))) {}
  /// Constructs an allocator of the same arena for elements of another type.
  template <class U>
  shared_allocator(const shared_allocator<U>& other) noexcept : arena_(other.arena()) {}

  /// Memory for n elements, aligned to a cache line, not initialised. Throws std::bad_alloc.
  T* allocate(std::size_t n) {
    if (n > PTRDIFF_MAX / sizeof(T)) throw std::bad_array_new_length();
    static_assert(alignof(T) <= cache_line, "papcoll: the arena aligns to cache lines at most");
    return static_cast<T*>(arena_->allocate(n * sizeof(T)));
  }
  /// What allocate() gave.
  void deallocate(T* p, std::size_t n) noexcept { arena_->deallocate(p, n * sizeof(T)); }

  /// Where the memory is taken from, for the library.
  const detail::Shared<Arena>& arena() const noexcept { return arena_; }

  template <class U>
  friend bool operator==(const shared_allocator& a, const shared_allocator<U>& b) noexcept {
    return a.arena() == b.arena();
  }

 private:
  detail::Shared<Arena> arena_;
};

/// A vector in node-shared memory: `papcoll::shared_vector<double> x(n,
/// papcoll::shared_allocator<double>{comm})`.
template <class T>
using shared_vector = std::vector<T, shared_allocator<T>>;

}  // namespace papcoll::inline PAPCOLL_ABI
