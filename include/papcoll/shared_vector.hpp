// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/pointers.hpp>
#include <papcoll/call/team_of.hpp>
#include <papcoll/runtime/memory/arena.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// An allocator of memory that all ranks of a node can map. Collectives read and write such buffers
/// in place, without the copies that private memory needs.
///
/// Allocation is local, and takes a process's own part of the arena; pages are allocated when they
/// are first used, near the rank that allocates. Where ranks share no memory, and in a ThreadTeam,
/// whose ranks share all memory, it is ordinary memory. Memory stays valid when the communicator
/// has gone. In a child made by fork() it is not valid: the child cannot allocate, and its
/// deallocations do not affect the parent. Thread-safe.
template <class T>
class shared_allocator {  // NOLINT(readability-identifier-naming): as std::allocator
 public:
  using value_type = T;  ///< as allocators have it

  /// Constructs an allocator of the arena of `team`, the Communicator or ThreadTeam::Rank on which
  /// collectives will use the memory.
  template <Team C>
  explicit shared_allocator(C& team) : arena_(detail::arena_of(detail::core_of(team))) {}
  /// Constructs an allocator of the same arena for elements of another type.
  template <class U>
  shared_allocator(const shared_allocator<U>& other) noexcept : arena_(other.arena()) {}

  /// Returns uninitialised memory for n elements, aligned to a cache line. Throws std::bad_alloc if
  /// Options::arena_bytes or the node's shared memory is used up.
  T* allocate(std::size_t n) {
    if (n > PTRDIFF_MAX / sizeof(T)) throw std::bad_array_new_length();
    static_assert(alignof(T) <= cache_line, "papcoll: the arena aligns to cache lines at most");
    return static_cast<T*>(arena_->allocate(n * sizeof(T)));
  }
  /// Returns the memory of n elements at p, from allocate(n), to the arena. While a broken
  /// communicator uses the arena, the memory is kept: a stopped peer may still write to it.
  void deallocate(T* p, std::size_t n) noexcept { arena_->deallocate(p, n * sizeof(T)); }

  /// For the library: the arena.
  const detail::Shared<Arena>& arena() const noexcept { return arena_; }

  template <class U>
  friend bool operator==(const shared_allocator& a, const shared_allocator<U>& b) noexcept {
    return a.arena() == b.arena();
  }

 private:
  detail::Shared<Arena> arena_;
};

/// A std::vector whose elements all ranks of a node can map.
///
/// Example:
///
///     papcoll::shared_vector<double> x(1000, papcoll::shared_allocator<double>{comm});
///     papcoll::allreduce(comm, x);
template <class T> using shared_vector = std::vector<T, shared_allocator<T>>;

}  // namespace papcoll::inline PAPCOLL_ABI
