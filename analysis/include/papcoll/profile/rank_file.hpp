// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/profile/profile_error.hpp>
#include <papcoll/profile/trace_format.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>
#include <array>
#include <boost/interprocess/detail/os_file_functions.hpp>
#include <boost/interprocess/exceptions.hpp>
#include <boost/interprocess/mapped_region.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {
namespace profile {

/// For how many entries the tables of a trace file have room.
struct TableSizes {
  std::uint64_t modules = 128;
  std::uint64_t sites = 4096;
  std::uint64_t communicators = 8192;
  std::uint64_t totals = 8192;                      ///< a power of two
  std::uint64_t records = std::uint64_t{1} << 18U;  ///< a power of two; 16 MiB
};

/// Returns true if a directory's file system is on another machine. A mapping of a file there may
/// be slow, or end the program.
inline bool is_remote(const std::string& directory) noexcept {
  struct statfs about;
  if (statfs(directory.c_str(), &about) != 0) return false;
  // The numbers are those of statfs(2) and of the file systems' own headers.
  switch (static_cast<std::uint32_t>(about.f_type)) {
    case 0x6969U:      // NFS
    case 0x0bd00bd0U:  // Lustre
    case 0x47504653U:  // Spectrum Scale (GPFS)
    case 0xff534d42U:  // CIFS
    case 0xfe534d42U:  // SMB 2
    case 0x00c36400U:  // Ceph
    case 0x19830326U:  // BeeGFS
    case 0x20030528U:  // OrangeFS
    case 0x01021997U:  // 9p
    case 0x5346414fU:  // AFS
    case 0x65735546U:  // FUSE, such as sshfs
      return true;
    default: return false;
  }
}

/// Makes a directory and those above it; throws profile_error. One that is there is fine.
inline void make_directory(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0777) != 0 && errno != EEXIST) {
      const int why = errno;
      struct stat there;
      if (stat(part.c_str(), &there) != 0 || !S_ISDIR(there.st_mode)) {
        throw profile_error("cannot make the directory " + part + ": " + std::strerror(why));
      }
    }
    if (end == std::string::npos) return;
  }
}

/// A path from the root, so that it stays right where the program changes its directory.
inline std::string absolute(const std::string& path) {
  if (path.empty() || path.starts_with('/')) return path;
  std::array<char, 4096> here{};
  if (getcwd(here.data(), here.size()) == nullptr) return path;
  return std::string(here.data()) + "/" + path;
}

/// A trace file that is being written, mapped and in memory from its first page to its last.
class RankFile : Pinned {
 public:
  RankFile() = default;

  /// Makes the file; throws profile_error, also if there is one. All of its space is reserved, so
  /// that a full disk is found here and not in a call, and all pages are touched.
  RankFile(std::string path, const TableSizes& sizes) : path_(std::move(path)) {
    descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (descriptor_ < 0) fail("cannot make", errno);
    // Readers ask for this lock to see whether the process lives; the system gives it back at any
    // end. No other descriptor of the file may be closed in this process: that would, too.
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_len = 1;
    static_cast<void>(fcntl(descriptor_, F_SETLK, &lock));
    FileHeader layout{};
    lay_out(layout, sizes);
    rlimit most{};
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < layout.file_bytes) {
      close(descriptor_);
      unlink(path_.c_str());
      fail("ulimit -f leaves no room for the " + std::to_string(layout.file_bytes >> 20U) +
               " MiB of",
           EFBIG);
    }
    const int full = posix_fallocate(descriptor_, 0, static_cast<off_t>(layout.file_bytes));
    if (full != 0) {
      unlink(path_.c_str());
      close(descriptor_);
      fail("cannot reserve " + std::to_string(layout.file_bytes >> 20U) + " MiB for", full);
    }
    try {
      boost::interprocess::mapped_region(Handle{descriptor_}, boost::interprocess::read_write, 0,
                                         static_cast<std::size_t>(layout.file_bytes))
          .swap(region_);
    } catch (const boost::interprocess::interprocess_exception& e) {
      unlink(path_.c_str());
      close(descriptor_);
      throw profile_error("cannot map " + path_ + ": " + e.what());
    }
    touch_pages();
    header() = layout;
  }

  ~RankFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  const std::string& path() const noexcept { return path_; }
  FileHeader& header() const noexcept { return *static_cast<FileHeader*>(region_.get_address()); }
  Module* modules() const noexcept { return at<Module>(header().modules_at); }
  Site* sites() const noexcept { return at<Site>(header().sites_at); }
  CommunicatorEntry* communicators() const noexcept {
    return at<CommunicatorEntry>(header().communicators_at);
  }
  Total* totals() const noexcept { return at<Total>(header().totals_at); }
  Record* records() const noexcept { return at<Record>(header().records_at); }

  /// Copies the file as it is to another place, where its name ends in `.part` until it is whole.
  /// Throws profile_error, and leaves nothing there then.
  void copy_to(const std::string& path) const {
    const std::string part = path + ".part";
    const auto fail_by = [&](int why) {
      unlink(part.c_str());
      throw profile_error("cannot write " + path + ": " + std::strerror(why));
    };
    const int to = open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (to < 0) fail_by(errno);
    const auto* from = static_cast<const char*>(region_.get_address());
    for (std::size_t left = region_.get_size(); left != 0;) {
      const ssize_t n = write(to, from, left);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        const int why = errno;
        close(to);
        fail_by(why);
      }
      from += n;
      left -= static_cast<std::size_t>(n);
    }
    if (close(to) != 0 || rename(part.c_str(), path.c_str()) != 0) fail_by(errno);
  }

  /// Removes the file's name, since another place has a copy.
  void remove() const noexcept { unlink(path_.c_str()); }

 private:
  // A file_mapping of Boost's would open the file once more, and drop the lock when it closes it.
  struct Handle {
    int descriptor;
    boost::interprocess::mapping_handle_t get_mapping_handle() const noexcept {
      return boost::interprocess::ipcdetail::mapping_handle_from_file_handle(descriptor);
    }
  };

  [[noreturn]] void fail(const std::string& what, int why) const {
    throw profile_error(what + " " + path_ + ": " + std::strerror(why));
  }

  template <class T> T* at(std::uint64_t offset) const noexcept {
    return reinterpret_cast<T*>(static_cast<char*>(region_.get_address()) + offset);
  }

  static void lay_out(FileHeader& h, const TableSizes& sizes) noexcept {
    h.magic = trace_magic;
    h.version = trace_version;
    h.byte_order = trace_byte_order;
    h.header_bytes = sizeof(FileHeader);
    std::uint64_t end = page;
    const auto place = [&end](std::uint64_t& where, std::uint64_t& room, std::uint64_t n,
                              std::size_t each) {
      where = end;
      room = n;
      end = (end + n * each + 63U) / 64U * 64U;
    };
    place(h.modules_at, h.modules, sizes.modules, sizeof(Module));
    place(h.sites_at, h.sites, sizes.sites, sizeof(Site));
    place(h.communicators_at, h.communicators, sizes.communicators, sizeof(CommunicatorEntry));
    place(h.totals_at, h.totals, sizes.totals, sizeof(Total));
    place(h.records_at, h.records, sizes.records, sizeof(Record));
    h.file_bytes = end;
  }

  void touch_pages() const noexcept {
    auto* const bytes = static_cast<volatile char*>(region_.get_address());
    for (std::size_t i = 0; i < region_.get_size(); i += page) bytes[i] = 0;
  }

  static constexpr std::size_t page = 4096;
  std::string path_;
  int descriptor_ = -1;
  boost::interprocess::mapped_region region_;
};

}  // namespace profile
}  // namespace papcoll::inline PAPCOLL_ABI
