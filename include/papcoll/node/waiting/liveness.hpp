#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI {

/// How the ranks of one node notice that one of them died. Each holds a write lock on its own byte
/// of a file that all have open, and asks the kernel about the others' bytes. Unlike a pid, a lock
/// says the truth for zombies, for pids used again and across PID namespaces. A stopped process
/// still holds its lock.
///
/// These locks belong to the process, not to the file descriptor: they are dropped as soon as the
/// process closes *any* descriptor of the file. So the file is one that nobody else opens, and the
/// owner of `fd` must neither duplicate it nor open the file once more. A forked child does not
/// hold the lock, and may close its copy.
class PeerLiveness {
 public:
  /// One word for each rank, in memory that begins as zeros and is shared by the ranks: whether it
  /// left in good order. Sequentially consistent; written before the lock is dropped, read after
  /// the lock was found free.
  using Departed = std::atomic<std::uint32_t>;

  PeerLiveness() noexcept = default;

  /// Takes the lock of rank `me`. `fd` is open for writing and must live longer than the watch.
  /// find_dead() may be used once all ranks have come here. Throws system_error.
  [[gnu::cold]] PeerLiveness(int fd, int me, int ranks, Departed* departed)
      : fd_(fd), me_(me), ranks_(ranks), process_(getpid()), departed_(departed) {
    struct flock lock = byte_of(me);
    if (fcntl(fd_, F_SETLK, &lock) == 0) return;
    const int number = errno;
    fd_ = -1;
    throw system_error(
        detail::joined({"papcoll: cannot lock byte ", me,
                        " of the node's shared memory: ", std::generic_category().message(number)}),
        number);
  }
  PeerLiveness(PeerLiveness&& other) noexcept { swap(other); }
  PeerLiveness& operator=(PeerLiveness&& other) noexcept {
    PeerLiveness{std::move(other)}.swap(*this);
    return *this;
  }

  /// Leaves in good order: whoever still waits for somebody else is not told that this rank died.
  ~PeerLiveness() {
    if (fd_ < 0 || getpid() != process_) return;
    departed_[me_].store(1, std::memory_order_seq_cst);
    struct flock lock = byte_of(me_);
    lock.l_type = F_UNLCK;
    fcntl(fd_, F_SETLK, &lock);
  }

  /// Has the rank's process ended, or closed its watch? Then it touches no memory of its peers any
  /// more: the kernel takes a process's memory before its locks. One system call.
  bool is_gone(int r) const noexcept {
    struct flock lock = byte_of(r);
    // A question that fails says nothing about r.
    return fcntl(fd_, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
  }

  /// A rank that is dead, or −1. One system call for each rank: 1.2 µs.
  int find_dead() const noexcept {
    for (int r = 0; r < ranks_; ++r) {
      if (r != me_ && is_dead(r)) return r;
    }
    return -1;
  }

 private:
  static struct flock byte_of(int r) noexcept {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = r;
    lock.l_len = 1;
    return lock;
  }

  bool is_dead(int r) const noexcept {
    return is_gone(r) && departed_[r].load(std::memory_order_seq_cst) == 0;
  }

  void swap(PeerLiveness& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(me_, other.me_);
    std::swap(ranks_, other.ranks_);
    std::swap(process_, other.process_);
    std::swap(departed_, other.departed_);
  }

  int fd_ = -1;
  int me_ = 0;
  int ranks_ = 0;
  pid_t process_ = 0;
  Departed* departed_ = nullptr;
};

}  // namespace papcoll::inline PAPCOLL_ABI
