#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>

#include <cstddef>
#include <new>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Memory, from a cache line on, that one use keeps for the next.
class KeptMemory {
 public:
  /// At least n bytes, whose contents do not matter. Throws std::bad_alloc.
  std::byte* get(std::size_t n) {
    if (n > bytes_) {
      free();
      data_.reset(static_cast<std::byte*>(::operator new[](n, std::align_val_t{cache_line})));
      bytes_ = n;
    }
    return data_.get();
  }
  /// What get() returned last.
  std::byte* data() const noexcept { return data_.get(); }

  /// Never gives the memory back: something may still touch it.
  void leak() noexcept {
    static_cast<void>(data_.release());
    bytes_ = 0;
  }
  void free() noexcept {
    data_.reset();
    bytes_ = 0;
  }

 private:
  struct AlignedDelete {
    void operator()(std::byte* p) const noexcept {
      ::operator delete[](p, std::align_val_t{cache_line});
    }
  };

  Owned<std::byte[], AlignedDelete> data_;
  std::size_t bytes_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
