// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/model/shared_file.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

// Addresses of the model. They stay reserved when they are freed, so that a late use is found, and
// the last of their size is the next to be reused, as CUDA does: so code that takes an address for
// the identity of an allocation is found, too.

namespace papcoll::inline PAPCOLL_ABI::gpu {
namespace detail {

/// Returns true if the address is one of the `bytes` bytes from base on.
inline bool is_within(const void* address, const void* base, std::size_t bytes) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(base) < bytes;
}

/// Ranges of addresses that cannot be dereferenced unless Pages permits it.
class AddressSpace : Pinned {
 public:
  ~AddressSpace() {
    for (const auto& [base, bytes] : ranges_) munmap(base, bytes);
  }

  /// A range of so many bytes, a multiple of the page's.
  std::byte* take(std::size_t bytes) {
    std::vector<std::byte*>& free = free_[bytes];
    if (!free.empty()) {
      std::byte* const last = free.back();
      free.pop_back();
      return last;
    }
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* const base = mmap(nullptr, bytes, PROT_NONE, flags, -1, 0);
    if (base == MAP_FAILED) {
      throw device_error(Fault::out_of_memory,
                         papcoll::detail::joined({"papcoll: the model of GPUs cannot reserve ",
                                                  bytes, " bytes of addresses: use less"}));
    }
    ranges_[static_cast<std::byte*>(base)] = bytes;
    return static_cast<std::byte*>(base);
  }

  /// Frees addresses that are not used any more, and their contents.
  void give(std::byte* base, std::size_t bytes) noexcept {
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    static_cast<void>(mmap(base, bytes, PROT_NONE, flags, -1, 0));
    free_[bytes].push_back(base);
  }

  /// Returns true if the address belongs, or once belonged, to the model.
  bool has(const void* address) const {
    auto it = ranges_.upper_bound(static_cast<std::byte*>(const_cast<void*>(address)));
    return it != ranges_.begin() && is_within(address, (--it)->first, it->second);
  }

 private:
  std::map<std::byte*, std::size_t> ranges_;
  std::map<std::size_t, std::vector<std::byte*>> free_;  ///< by size
};

/// A range of addresses, given back at the end.
class Pages : Pinned {
 public:
  /// At least so many bytes, which the host may use if `reachable`.
  Pages(AddressSpace& space, std::size_t bytes, bool reachable)
      : space_(space), bytes_(whole(bytes)), base_(space.take(bytes_)) {
    if (reachable && mprotect(base_, bytes_, PROT_READ | PROT_WRITE) != 0) {
      space_.give(base_, bytes_);
      throw device_error(Fault::out_of_memory,
                         papcoll::detail::joined({"papcoll: no memory for ", bytes,
                                                  " bytes of the model of GPUs: use less"}));
    }
  }
  /// The bytes of a file, whole pages.
  Pages(AddressSpace& space, const SharedFile& file)
      : space_(space), bytes_(file.bytes()), base_(space.take(bytes_)) {
    try {
      file.map(base_);
    } catch (const device_error&) {
      space_.give(base_, bytes_);
      throw;
    }
  }
  ~Pages() { space_.give(base_, bytes_); }

  /// The first byte.
  std::byte* base() const noexcept { return base_; }

  /// Whole pages for so many bytes.
  static std::size_t whole(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
  }

 private:
  AddressSpace& space_;
  std::size_t bytes_;
  std::byte* base_;
};

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI::gpu
