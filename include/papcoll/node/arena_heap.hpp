// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/node/node.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// A mapping whose pages are taken when they are used, also in a program that locks in memory what
/// it maps (mlockall() with MCL_FUTURE): the kernel would give pages to all of it at once, and
/// refuse more than RLIMIT_MEMLOCK. Owns the mapping.
class LazyMapping {
 public:
  LazyMapping() noexcept = default;

  /// Maps `bytes` bytes of a file, shared, from `offset` on. Null, and errno, if that fails.
  static LazyMapping of_file(int fd, std::size_t offset, std::size_t bytes) noexcept {
    return LazyMapping{bytes, MAP_SHARED, fd, static_cast<off_t>(offset)};
  }
  /// Maps private zeros. Null, and errno, if that fails.
  static LazyMapping of_zeros(std::size_t bytes) noexcept {
    return LazyMapping{bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0};
  }

  LazyMapping(LazyMapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  LazyMapping& operator=(LazyMapping&& other) noexcept {
    LazyMapping old{std::move(*this)};
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~LazyMapping() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }

  /// Null if there is none.
  std::byte* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  // A new mapping is locked if the process wants that; one that grows stays as it is. So it begins
  // as one page, which is unlocked. For mremap() the kernel is called as in registered_buffer.hpp.
  [[gnu::cold]] LazyMapping(std::size_t bytes, int flags, int fd, off_t offset) noexcept {
    void* const page = mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, flags, fd, offset);
    if (page == MAP_FAILED) return;
    munlock(page, page_bytes());
    const long whole = syscall(SYS_mremap, page, page_bytes(), bytes, MREMAP_MAYMOVE, nullptr);
    if (whole == -1) {
      const int why = errno;
      munmap(page, page_bytes());
      errno = why;
      return;
    }
    data_ = reinterpret_cast<std::byte*>(whole);  // NOLINT(performance-no-int-to-ptr)
    bytes_ = bytes;
  }

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A range of a node's shared memory from which one rank alone allocates: the smallest block that
/// fits, in O(log n). Pages are taken as it fills up; what is freed is used again. Threads may use
/// it at once.
///
/// Its notes are in private memory, of which a child of fork() has a copy: there the heap allocates
/// nothing, and frees nothing.
class ArenaHeap : Pinned {
 public:
  /// `pages`: whose memory it is.
  ArenaHeap(std::byte* memory, std::size_t bytes, const NodePages& pages) noexcept
      : memory_(memory), most_(bytes), pages_(pages), process_(getpid()) {}

  /// Returns where the heap begins; bytes() returns how long it may get.
  std::byte* memory() const noexcept { return memory_; }
  std::size_t bytes() const noexcept { return most_; }

  /// Throws system_error, whose text names the memory ("this rank's part of the arena") and what to
  /// do; std::bad_alloc if there is no memory for the notes.
  std::byte* take(std::size_t bytes, std::size_t alignment, const char* what, const char* remedy) {
    if (is_in_child()) refuse_in_child(bytes, what);
    const std::lock_guard lock{mutex_};
    // A line belongs to one block.
    const std::size_t whole =
        (std::max<std::size_t>(bytes, 1) + cache_line - 1) / cache_line * cache_line;
    if (bytes > most_) refuse(bytes, what, remedy);
    Blocks::iterator block = find(whole, alignment);
    if (block == blocks_.end() && grow(whole, alignment)) block = find(whole, alignment);
    if (block == blocks_.end()) refuse(bytes, what, remedy);
    if (const std::size_t gap = gap_before(block->first, alignment); gap > 0) {
      split(block, gap);
      ++block;
    }
    split(block, whole);
    block->second.entry = free_.extract({whole, block->first});
    taken_ += whole;
    return memory_ + block->first;
  }

  void give_back(void* p) noexcept {
    if (is_in_child()) return;
    const std::lock_guard lock{mutex_};
    Blocks::iterator block =
        blocks_.find(static_cast<std::size_t>(static_cast<std::byte*>(p) - memory_));
    taken_ -= block->second.bytes;
    Sizes::node_type entry = std::move(block->second.entry);
    const auto join = [this](Blocks::iterator first, Blocks::iterator second) {
      first->second.bytes += second->second.bytes;
      blocks_.erase(second);
    };
    if (const auto next = std::next(block); next != blocks_.end() && next->second.is_free()) {
      free_.erase({next->second.bytes, next->first});
      join(block, next);
    }
    if (block != blocks_.begin() && std::prev(block)->second.is_free()) {
      const auto former = std::prev(block);
      free_.erase({former->second.bytes, former->first});
      join(former, block);
      block = former;
    }
    entry.value() = {block->second.bytes, block->first};
    free_.insert(std::move(entry));
  }

 private:
  static constexpr std::size_t step = std::size_t{1} << 20U;

  /// The free blocks: their bytes, and where they begin.
  using Sizes = std::set<std::pair<std::size_t, std::size_t>>;
  struct Block {
    std::size_t bytes;
    Sizes::node_type entry;  ///< empty while the block is free, else kept so that freeing it needs
                             ///< no memory
    bool is_free() const noexcept { return entry.empty(); }
  };
  /// By where they begin. They cover all that has pages; no two free ones are neighbours,
  /// unless memory for the notes has run out.
  using Blocks = std::map<std::size_t, Block>;

  /// Returns what is left out at the beginning of a block so that the rest is aligned.
  std::size_t gap_before(std::size_t begin, std::size_t alignment) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(memory_ + begin);
    return (alignment - at % alignment) % alignment;
  }

  /// The smallest free block with room, or the end.
  Blocks::iterator find(std::size_t bytes, std::size_t alignment) {
    for (auto at = free_.lower_bound({bytes, 0}); at != free_.end(); ++at) {
      const auto& [size, begin] = *at;
      if (size >= gap_before(begin, alignment) + bytes) return blocks_.find(begin);
    }
    return blocks_.end();
  }

  /// A free block becomes two, of which the first has so many bytes.
  void split(Blocks::iterator block, std::size_t bytes) {
    const std::size_t rest = block->second.bytes - bytes;
    if (rest == 0) return;
    const std::size_t at = block->first + bytes;
    Sizes entry{{rest, at}};
    blocks_.emplace_hint(std::next(block), at, Block{rest, {}});
    resize(block, bytes);  // throws no more
    free_.merge(entry);
  }

  void resize(Blocks::iterator block, std::size_t bytes) noexcept {
    Sizes::node_type entry = free_.extract({block->second.bytes, block->first});
    block->second.bytes = bytes;
    entry.value().first = bytes;
    free_.insert(std::move(entry));
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
    const std::size_t free = most_ - taken_;
    throw system_error(
        joined({"papcoll: no room for ", bytes, " bytes in ", what, ": ", free, " of its ", most_,
                " bytes are free", (bytes <= free ? ", but not in one piece" : ""), ": ", remedy}),
        ENOMEM);
  }

  /// Backs what it adds before it is touched, so that a full /dev/shm is an exception and not a
  /// SIGBUS. Throws system_error. False: there is no more address space.
  bool grow(std::size_t bytes, std::size_t alignment) {
    const std::size_t left = most_ - size_;
    const auto last = blocks_.empty() ? blocks_.end() : std::prev(blocks_.end());
    const bool goes_on = last != blocks_.end() && last->second.is_free();
    const std::size_t there = goes_on ? last->second.bytes : 0;
    if (left == 0 || bytes > left + there) return false;
    const std::size_t wanted = (bytes + alignment + step - 1) / step * step;
    const std::size_t more = std::min(wanted, left);
    Sizes entry{{more, size_}};
    Blocks block;
    block.emplace(size_, Block{more, {}});
    pages_.reserve(memory_ + size_, more);
    size_ += more;  // nothing throws from here on
    if (goes_on) {
      resize(last, there + more);
    } else {
      blocks_.merge(block);
      free_.merge(entry);
    }
    return true;
  }

  std::mutex mutex_;
  std::byte* memory_;
  std::size_t most_;
  std::size_t size_ = 0;   ///< bytes that have pages
  std::size_t taken_ = 0;  ///< of them
  Blocks blocks_;
  Sizes free_;
  const NodePages& pages_;
  pid_t process_;  ///< whose heap it is
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
