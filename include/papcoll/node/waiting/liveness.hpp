// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI {

/// A process, as others see it before they share memory with it: where it runs, and, for those that
/// see the same processes, how to watch it. PeerLiveness finds out more, and needs a file that both
/// have open. Trivially copyable.
struct ProcessId {
  /// Stands for the machine by its name and its start, where a UTS namespace is a machine of its
  /// own. 0: unknown. Copies of one virtual machine have one start, but not one name in one job.
  std::uint64_t machine = 0;
  std::uint64_t pid_namespace = 0;  ///< on that machine
  std::int64_t pid = 0;

  /// Returns the identity of the calling process.
  static ProcessId own() noexcept { return {own_machine(), own_namespace(), getpid()}; }

  /// Returns true if process numbers mean the same to both: they share a PID namespace.
  bool sees(const ProcessId& other) const noexcept {
    return machine != 0 && pid_namespace != 0 && machine == other.machine &&
           pid_namespace == other.pid_namespace;
  }

  /// Returns true if the process has ended; zombies have. Requires that the calling process sees()
  /// it. Two or three system calls. Returns false where the kernel has given the number to a new
  /// process meanwhile, and where there is no pidfd_open (Linux before 5.3).
  bool has_ended() const noexcept {
    if (pid <= 0) return false;
    const auto fd = static_cast<int>(::syscall(pidfd_open, static_cast<pid_t>(pid), 0U));
    if (fd < 0) return errno == ESRCH;
    pollfd ask{fd, POLLIN, 0};
    const bool ended = poll(&ask, 1, 0) == 1 && (ask.revents & POLLIN) != 0;
    close(fd);
    return ended;
  }

 private:
  static constexpr long pidfd_open = 434;  ///< system calls since 2019 have one number everywhere

  static std::uint64_t own_machine() noexcept {
    std::array<char, 300> text{};
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    const ssize_t read_bytes = read(fd, text.data(), 64);
    close(fd);
    if (read_bytes <= 0) return 0;
    const auto length = static_cast<std::size_t>(read_bytes);
    if (gethostname(text.data() + length, text.size() - 1 - length) != 0) return 0;
    const std::uint64_t hash = detail::hash_of_text(text.data());
    return hash == 0 ? 1 : hash;
  }

  static std::uint64_t own_namespace() noexcept {
    struct stat status {};
    return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
  }
};

/// How the ranks of one node notice that one of them died. Each holds a write lock on its own byte
/// of a file that all have open, and asks the kernel about the others' bytes. Unlike a pid, a lock
/// is right for zombies, for pids used again and across PID namespaces. A stopped process still
/// holds its lock.
///
/// These locks belong to the process, not to the file descriptor: they are dropped as soon as the
/// process closes *any* descriptor of the file. So the file is one that nobody else opens, and the
/// owner of `fd` must neither duplicate it nor open the file once more. A forked child does not
/// hold the lock, and may close its copy.
class PeerLiveness : Pinned {
 public:
  /// One word for each rank, in memory that begins as zeros and is shared by the ranks: whether it
  /// left in good order. Sequentially consistent; written before the lock is dropped, read after
  /// the lock was found free.
  using Departed = std::atomic<std::uint32_t>;

  /// Takes the lock of rank `me`. `fd` is open for writing and must live longer than the watch.
  /// find_dead() may be used once all ranks have arrived here. Throws system_error.
  [[gnu::cold]] PeerLiveness(int fd, int me, int ranks) : fd_(fd), me_(me), ranks_(ranks) {
    struct flock lock = byte_of(me);
    if (fcntl(fd_, F_SETLK, &lock) == 0) return;
    const int number = errno;
    throw system_error(
        detail::joined({"papcoll: cannot lock byte ", me,
                        " of the node's shared memory: ", std::generic_category().message(number)}),
        number);
  }
  /// Drops the lock. In a forked child this drops nothing.
  ~PeerLiveness() {
    struct flock lock = byte_of(me_);
    lock.l_type = F_UNLCK;
    fcntl(fd_, F_SETLK, &lock);
  }

  /// Returns true if the rank's process has ended, or closed its watch. Then it accesses no memory
  /// of its peers any more: the kernel releases a process's memory before its locks. One system
  /// call.
  bool is_gone(int r) const noexcept {
    struct flock lock = byte_of(r);
    // A query that fails means nothing about r.
    return fcntl(fd_, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
  }

  /// Returns a rank that is gone and did not leave in good order; −1 if there is none. One system
  /// call for each rank.
  int find_dead(const Departed* departed) const noexcept {
    for (int r = 0; r < ranks_; ++r) {
      if (r != me_ && is_gone(r) && departed[r].load(std::memory_order_seq_cst) == 0) return r;
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

  int fd_;
  int me_;
  int ranks_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
