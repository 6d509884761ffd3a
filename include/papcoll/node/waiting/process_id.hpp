#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI {

/// A process, as others see it before they share memory with it: where it runs, and, for those that
/// see the same processes, how to watch it. PeerLiveness tells more, and needs a file that both
/// have open. Trivially copyable.
struct ProcessId {
  /// Stands for the machine by its name and its start, where a UTS namespace is a machine of its
  /// own. 0: unknown. Copies of one virtual machine have one start, but not one name in one job.
  std::uint64_t machine = 0;
  std::uint64_t pid_namespace = 0;  ///< on that machine
  std::int64_t pid = 0;

  /// Of the calling process.
  static ProcessId own() noexcept { return {own_machine(), own_namespace(), getpid()}; }

  /// Do the numbers of processes mean the same to both?
  bool sees(const ProcessId& other) const noexcept {
    return machine != 0 && pid_namespace != 0 && machine == other.machine &&
           pid_namespace == other.pid_namespace;
  }

  /// Has the process ended? Zombies have. Asked by a process that sees() it; two or three system
  /// calls, 1 to 2 µs. The answer is no where the kernel has given the number to a new process
  /// meanwhile, and where it has no pidfd_open (Linux before 5.3).
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

}  // namespace papcoll::inline PAPCOLL_ABI
