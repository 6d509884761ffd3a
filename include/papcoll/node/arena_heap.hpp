#pragma once

#include <papcoll/base/joined.hpp>
#include <papcoll/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <mutex>
#include <new>

#include <unistd.h>

#include <boost/interprocess/mem_algo/rbtree_best_fit.hpp>
#include <boost/interprocess/sync/mutex_family.hpp>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// A range of a node's shared memory from which one rank allocates, and nobody else. Pages are
/// taken as it fills up; what is freed is used again. Threads may use it at once.
///
/// Its notes lie in the memory that it gives, which a child of fork() shares with its parent: there
/// the heap gives nothing, and takes nothing back.
class ArenaHeap {
 public:
  /// How it gets pages: see Node::reserve.
  using Reserve = void (*)(void* context, const std::byte* at, std::size_t bytes);

  ArenaHeap(std::byte* memory, std::size_t bytes, Reserve reserve, void* context) noexcept
      : memory_(memory), most_(bytes), reserve_(reserve), context_(context), process_(getpid()) {}
  ArenaHeap(const ArenaHeap&) = delete;
  ArenaHeap& operator=(const ArenaHeap&) = delete;
  ~ArenaHeap() = default;

  /// Where it begins, and how long it may get.
  std::byte* memory() const noexcept { return memory_; }
  std::size_t bytes() const noexcept { return most_; }

  /// Throws system_error, whose sentence says what the memory is ("this rank's part of the arena")
  /// and what to do.
  std::byte* take(std::size_t bytes, std::size_t alignment, const char* what, const char* remedy) {
    if (is_in_child()) refuse_in_child(bytes, what);
    const std::lock_guard lock{mutex_};
    void* p = heap_ != nullptr ? heap_->allocate_aligned(bytes, alignment) : nullptr;
    if (p == nullptr) {
      if (!grow(bytes)) refuse(bytes, what, remedy);
      p = heap_->allocate_aligned(bytes, alignment);
    }
    if (p == nullptr) refuse(bytes, what, remedy);
    return static_cast<std::byte*>(p);
  }

  void give_back(void* p) noexcept {
    if (is_in_child()) return;
    const std::lock_guard lock{mutex_};
    heap_->deallocate(p);
  }

 private:
  using Heap = boost::interprocess::rbtree_best_fit<boost::interprocess::null_mutex_family>;
  static constexpr std::size_t step = std::size_t{1} << 20U;

  std::size_t free_bytes() const noexcept {
    return heap_ != nullptr ? heap_->get_free_memory() : 0;
  }

  /// Asked before the lock, which another thread of the parent may have held in fork().
  bool is_in_child() const noexcept { return getpid() != process_; }

  [[noreturn, gnu::cold]] static void refuse_in_child(std::size_t bytes, const char* what) {
    throw system_error(joined({"papcoll: no room for ", bytes, " bytes in ", what,
                               ": this process is a child made by fork(), and the memory is its "
                               "parent's: allocate in the parent"}),
                       ENOMEM);
  }

  [[noreturn, gnu::cold]] void refuse(std::size_t bytes, const char* what,
                                      const char* remedy) const {
    const std::size_t free = most_ - size_ + free_bytes();
    throw system_error(
        joined({"papcoll: no room for ", bytes, " bytes in ", what, ": ", free, " of its ", most_,
                " bytes are free", (bytes <= free ? ", but not in one piece" : ""), ": ", remedy}),
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
  std::byte* memory_;
  std::size_t most_;
  std::size_t size_ = 0;  ///< bytes that have pages
  Heap* heap_ = nullptr;
  Reserve reserve_;
  void* context_;
  pid_t process_;  ///< whose heap it is
};

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
