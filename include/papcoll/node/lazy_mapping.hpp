#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/node/node.hpp>

#include <cerrno>
#include <cstddef>
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
  // as one page, which is unlocked. The kernel is called for mremap() as in page_migration.hpp.
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

}  // namespace papcoll::inline PAPCOLL_ABI::detail
