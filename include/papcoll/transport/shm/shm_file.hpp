// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

[[noreturn]] inline void throw_system_error(const std::string& what, int number) {
  throw system_error(joined({"papcoll: ", what, ": ", std::generic_category().message(number)}),
                     number);
}

}  // namespace detail

/// How the ranks of a node find the memory of the first of them.
enum class ShmMethod : unsigned char {
  by_descriptor,  ///< a file without a name, opened through /proc/<pid>/fd: nothing is ever left
  by_name,        ///< a name in /dev/shm until all have it: works where /proc is closed or foreign
};

/// By what a ShmFile is found: sent from the rank that made it to the others. Trivially copyable.
struct ShmTicket {
  std::array<std::uint64_t, 2> nonce{};  ///< random: cannot be guessed, and no two are equal
  std::int64_t uid = 0;
  std::int64_t pid = 0;  ///< in the maker's PID namespace
  std::int32_t fd = -1;  ///< in the maker

  /// A ticket of this process for a file that is yet to be made. Throws system_error.
  [[gnu::cold]] static ShmTicket draw() {
    ShmTicket t;
    if (getrandom(&t.nonce, sizeof t.nonce, 0) != static_cast<ssize_t>(sizeof t.nonce)) {
      detail::throw_system_error("no random number for the name of shared memory", errno);
    }
    t.uid = static_cast<std::int64_t>(getuid());
    t.pid = static_cast<std::int64_t>(getpid());
    return t;
  }

  /// "papcoll-<uid>-<pid>-<nonce>"
  [[gnu::cold]] std::string name() const {
    std::string text = detail::joined({prefix(uid), pid, "-"});
    for (const std::uint64_t word : nonce) {
      for (int shift = 60; shift >= 0; shift -= 4) {
        text += "0123456789abcdef"[(word >> shift) & 0xf];
      }
    }
    return text;
  }
  static std::string prefix(std::int64_t uid) { return detail::joined({"papcoll-", uid, "-"}); }
};

/// A file of memory that the processes of a node have open. Owns its descriptor, the only one of
/// this file in this process (see PeerLiveness). Its content begins as zeros.
class ShmFile {
 public:
  ShmFile() noexcept = default;
  ShmFile(ShmFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ShmFile& operator=(ShmFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~ShmFile() {
    if (fd_ >= 0) close(fd_);
  }

  /// Makes a file of `bytes` bytes, sets ticket.fd. By name: the rank that makes it removes the
  /// name, see remove_name(), and left-overs of killed processes are swept first. Throws
  /// system_error.
  [[gnu::cold]] static ShmFile make(ShmTicket& ticket, ShmMethod way, std::size_t bytes) {
    ShmFile file;
    if (way == ShmMethod::by_descriptor) {
      file.fd_ = memfd_create(ticket.name().c_str(), MFD_CLOEXEC);
      if (file.fd_ < 0) detail::throw_system_error("memfd_create failed", errno);
    } else {
      sweep(ticket);
      file.fd_ = named(ticket, O_CREAT | O_EXCL);
    }
    ticket.fd = file.fd_;
    try {
      file.extend(bytes);
    } catch (const system_error&) {
      if (way == ShmMethod::by_name) remove_name(ticket);
      throw;
    }
    return file;
  }

  /// Opens what another process made. Throws system_error.
  [[gnu::cold]] static ShmFile open(const ShmTicket& ticket, ShmMethod way) {
    ShmFile file;
    file.fd_ = way == ShmMethod::by_descriptor ? behind_descriptor(ticket) : named(ticket, 0);
    return file;
  }

  [[gnu::cold]] static void remove_name(const ShmTicket& ticket) noexcept {
    unlink(path_of(ticket).c_str());
  }

  int fd() const noexcept { return fd_; }

  /// Its size. Throws system_error.
  [[gnu::cold]] std::size_t bytes() const {
    struct stat status {};
    if (fstat(fd_, &status) != 0) detail::throw_system_error("fstat failed", errno);
    return static_cast<std::size_t>(status.st_size);
  }

  /// Allocates pages for a range of the file. Throws system_error; then the range has none, and
  /// what was in it is lost. The limit on the size of files does not apply: none of them grows.
  [[gnu::cold]] void reserve(std::size_t offset, std::size_t bytes) const {
    const std::size_t begin = offset;
    // In pieces, because a signal undoes what an interrupted call has done (Linux before 2024): of
    // smaller ones where signals come more often than a piece takes, down to about a page.
    std::size_t piece = 4u << 20;
    for (const std::size_t end = offset + bytes; offset < end;) {
      const std::size_t n = std::min(piece, end - offset);
      if (fallocate(fd_, 0, static_cast<off_t>(offset), static_cast<off_t>(n)) == 0) {
        offset += n;
      } else if (errno == EINTR) {
        piece = std::max(piece / 2, smallest_piece);
      } else {
        const int why = errno;
        if (offset != begin) static_cast<void>(clear(begin, offset - begin));
        throw_no_room(bytes, why);
      }
    }
  }

  /// Extends the file to a size that is no smaller. Throws system_error.
  [[gnu::cold]] void extend(std::size_t bytes) const {
    if (const int why = grow(bytes); why != 0) {
      detail::throw_system_error(detail::joined({"cannot have ", bytes, " bytes of shared memory"}),
                                 why);
    }
  }

  /// Takes the pages of a range away: it is zeros again. False: the kernel cannot.
  [[gnu::cold]] bool clear(std::size_t offset, std::size_t bytes) const noexcept {
    return fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                     static_cast<off_t>(bytes)) == 0;
  }

  /// Throws system_error unless the file system has that many free bytes. Finds a file system that
  /// is too small from the beginning at once; reserve() finds what others take afterwards.
  [[gnu::cold]] void require_room(std::size_t bytes) const {
    struct statvfs status {};
    if (fstatvfs(fd_, &status) != 0) detail::throw_system_error("fstatvfs failed", errno);
    if (status.f_blocks == 0) return;  // no limit
    if (status.f_bavail < (bytes + status.f_frsize - 1) / status.f_frsize) {
      throw_no_room(bytes, ENOSPC);
    }
  }

 private:
  [[noreturn]] static void throw_no_room(std::size_t bytes, int why) {
    detail::throw_system_error(
        detail::joined({"no room for ", bytes,
                        " bytes of shared memory (is /dev/shm or the memory limit too small?)"}),
        why);
  }

  /// Sets the size of an empty file. Returns 0, or errno.
  [[gnu::cold]] int grow(std::size_t bytes) const noexcept {
    // Beyond the limit the kernel returns EFBIG too, but with a signal that ends the process.
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        bytes > limit.rlim_cur) {
      return EFBIG;
    }
    return ftruncate(fd_, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  }

  static std::string path_of(const ShmTicket& ticket) { return folder + ('/' + ticket.name()); }

  [[gnu::cold]] static int named(const ShmTicket& ticket, int how) {
    const std::string path = path_of(ticket);
    const int fd = ::open(path.c_str(), how | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) detail::throw_system_error(detail::joined({"cannot open ", path}), errno);
    return fd;
  }

  [[gnu::cold]] static int behind_descriptor(const ShmTicket& ticket) {
    const std::string path = detail::joined({"/proc/", ticket.pid, "/fd/", ticket.fd});
    // Looked at before it is opened: in another PID namespace this is anything, and opening could
    // block, or closing it again drop the locks of another communicator.
    char target[128] = {};
    const ssize_t length = readlink(path.c_str(), target, sizeof target);
    if (length < 0) detail::throw_system_error(detail::joined({"cannot read ", path}), errno);
    if (!std::string_view(target, static_cast<std::size_t>(length))
             .starts_with(detail::joined({"/memfd:", ticket.name()}))) {
      detail::throw_system_error(
          detail::joined({path, " is another file (another PID namespace?)"}), ENOENT);
    }
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) detail::throw_system_error(detail::joined({"cannot open ", path}), errno);
    return fd;
  }

  struct CloseDirectory {
    void operator()(DIR* d) const noexcept { closedir(d); }
  };
  using Directory = detail::Owned<DIR, CloseDirectory>;

  /// Returns true if this process has the file open, and also if that cannot be found out.
  [[gnu::cold]] static bool may_be_open_here(const struct stat& file) noexcept {
    const Directory directory{opendir("/proc/self/fd")};
    if (!directory) return true;
    while (const dirent* entry = readdir(directory.get())) {
      struct stat open_one {};
      if (fstat(std::atoi(entry->d_name), &open_one) == 0 && open_one.st_dev == file.st_dev &&
          open_one.st_ino == file.st_ino) {
        return true;
      }
    }
    return false;
  }

  /// Removes what a process left that was killed between making and removing a name. A file that is
  /// young, or of which a rank still holds a lock, is in use. Files that this process made, or has
  /// open, are left alone because opening and closing them would drop its locks.
  [[gnu::cold]] static void sweep(const ShmTicket& mine) noexcept {
    const Directory directory{opendir(folder)};
    if (!directory) return;
    const std::string prefix = ShmTicket::prefix(mine.uid);
    const std::string own = detail::joined({prefix, mine.pid, "-"});
    while (const dirent* entry = readdir(directory.get())) {
      const std::string_view name = entry->d_name;
      if (!name.starts_with(prefix) || name.starts_with(own)) continue;
      struct stat status {};
      if (fstatat(dirfd(directory.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        continue;
      }
      if (!S_ISREG(status.st_mode) || status.st_uid != static_cast<uid_t>(mine.uid) ||
          status.st_mtime + minimum_age > std::time(nullptr) || may_be_open_here(status)) {
        continue;
      }
      ShmFile file;
      file.fd_ = openat(dirfd(directory.get()), entry->d_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
      if (file.fd_ < 0) continue;
      struct flock anybody {};
      anybody.l_type = F_WRLCK;
      anybody.l_whence = SEEK_SET;
      if (fcntl(file.fd_, F_GETLK, &anybody) != 0 || anybody.l_type != F_UNLCK) continue;
      unlinkat(dirfd(directory.get()), entry->d_name, 0);
    }
  }

  static constexpr const char* folder = "/dev/shm";
  static constexpr std::size_t smallest_piece = 4096;
  static constexpr std::time_t minimum_age = 60;  ///< seconds

  int fd_ = -1;
};

}  // namespace papcoll::inline PAPCOLL_ABI
