// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/gpu/api.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// Files in memory by which models of several processes share. A file has no name: it is gone with
// the last process that has it open or mapped, however that process ends.

namespace papcoll::inline PAPCOLL_ABI::gpu {
namespace detail {

/// Where other processes find a file.
struct FilePlace {
  std::uint64_t inode = 0;       ///< distinguishes it from a later file with the same descriptor
  std::uint64_t bytes = 0;       ///< of the file
  std::int32_t process = 0;      ///< who has it; 0: no file
  std::int32_t descriptor = -1;  ///< there
};

/// A file in memory, open in this process.
class SharedFile {
 public:
  /// A new one, of zeros.
  explicit SharedFile(std::size_t bytes)
      : descriptor_(memfd_create("papcoll-model", MFD_CLOEXEC)), bytes_(bytes) {
    struct stat found {};
    if (descriptor_ >= 0 && ftruncate(descriptor_, static_cast<off_t>(bytes)) == 0 &&
        fstat(descriptor_, &found) == 0) {
      inode_ = found.st_ino;
      return;
    }
    const int problem = errno;
    if (descriptor_ >= 0) close(descriptor_);
    throw device_error(Fault::out_of_memory,
                       papcoll::detail::joined({"papcoll: no file in memory for ", bytes,
                                                " bytes of the model of GPUs (",
                                                std::strerror(problem), "): use less"}));
  }

  /// That of another process. Throws device_error if it is not there, or not to be reached.
  explicit SharedFile(const FilePlace& place)
      : bytes_(static_cast<std::size_t>(place.bytes)), inode_(place.inode) {
    const std::string path =
        papcoll::detail::joined({"/proc/", place.process, "/fd/", place.descriptor});
    descriptor_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
    struct stat found {};
    if (descriptor_ >= 0 && fstat(descriptor_, &found) == 0 && found.st_ino == inode_) return;
    if (descriptor_ >= 0) close(descriptor_);
    throw device_error(Fault::ipc_refused,
                       papcoll::detail::joined(
                           {"papcoll: the model of GPUs finds nothing of process ", place.process,
                            " at ", path, ": it has ended, or is in another PID namespace"}));
  }

  SharedFile(SharedFile&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)),
        bytes_(other.bytes_),
        inode_(other.inode_) {}
  SharedFile& operator=(SharedFile&&) = delete;
  ~SharedFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  /// Returns where others find it, as long as it is open here.
  FilePlace place() const noexcept {
    return {inode_, bytes_, static_cast<std::int32_t>(getpid()), descriptor_};
  }

  /// Its bytes, at `at`, or anywhere if that is null. They stay when the file is closed. Throws
  /// device_error.
  std::byte* map(std::byte* at = nullptr) const {
    const int flags = MAP_SHARED | MAP_NORESERVE | (at == nullptr ? 0 : MAP_FIXED);
    void* const base = mmap(at, bytes_, PROT_READ | PROT_WRITE, flags, descriptor_, 0);
    if (base != MAP_FAILED) return static_cast<std::byte*>(base);
    throw device_error(Fault::out_of_memory,
                       papcoll::detail::joined(
                           {"papcoll: the model of GPUs cannot map ", bytes_, " bytes: use less"}));
  }

  /// Returns the number of bytes.
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  int descriptor_ = -1;
  std::size_t bytes_;
  std::uint64_t inode_ = 0;
};

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI::gpu
