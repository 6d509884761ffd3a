#pragma once

#include <papcoll/config.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// A process, as another one of its machine can watch it before the two share memory: PeerLiveness
/// tells more, and needs a file that both have open. Trivially copyable.
struct ProcessId {
  /// Stands for the machine since it was started and the PID namespace. 0: unknown.
  std::uint64_t place = 0;
  std::int64_t pid = 0;

  /// Of the calling process.
  static ProcessId own() noexcept { return {own_place(), getpid()}; }

  /// Has the process ended, as far as this process can see? Zombies have. Two or three system
  /// calls, 1 to 2 µs. A number that the kernel has given to a new process meanwhile says no, and
  /// so does a kernel without pidfd_open (Linux before 5.3).
  bool has_ended() const noexcept {
    if (pid <= 0 || place == 0) return false;
    const auto fd = static_cast<int>(::syscall(pidfd_open, static_cast<pid_t>(pid), 0U));
    if (fd < 0) return errno == ESRCH;
    pollfd ask{fd, POLLIN, 0};
    const bool ended = poll(&ask, 1, 0) == 1 && (ask.revents & POLLIN) != 0;
    close(fd);
    return ended;
  }

 private:
  static constexpr long pidfd_open = 434;  ///< system calls since 2019 have one number everywhere

  static std::uint64_t own_place() noexcept {
    std::array<char, 300> text{};
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    const ssize_t length = read(fd, text.data(), 64);
    close(fd);
    struct stat pids {};
    if (length <= 0 || stat("/proc/self/ns/pid", &pids) != 0) return 0;
    // Copies of one virtual machine have the same boot_id, but in one job not the same name.
    if (gethostname(text.data() + length, text.size() - 1 - static_cast<std::size_t>(length)) !=
        0) {
      return 0;
    }
    std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
    const auto add = [&hash](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3U; };
    for (const char c : std::string_view{text.data()}) add(static_cast<unsigned char>(c));
    add(pids.st_dev);
    add(pids.st_ino);
    return hash == 0 ? 1 : hash;
  }
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
