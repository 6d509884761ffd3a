#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/owned.hpp>
#include <papcoll/base/shared.hpp>
#include <papcoll/schedule/endpoint.hpp>

#include <cstddef>
#include <new>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

/// The scratch memory of a run of a plan: as much for each block in flight, on cache lines of its
/// own. It is the rank's, and kept for the next run; or the endpoint's, where a call's buffers are
/// in memory of another kind than the host's.
class PlanScratch {
 public:
  void reserve(std::size_t blocks, std::size_t block_bytes, Endpoint& endpoint, MemoryKind memory) {
    stride_ = (block_bytes + cache_line - 1) / cache_line * cache_line;
    const std::size_t bytes = blocks * stride_;
    lent_ = nullptr;
    if (memory != MemoryKind::host && bytes != 0) lent_ = endpoint.scratch(bytes, memory);
    if (bytes <= bytes_ || lent_) return;
    own_.reset(static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{cache_line})));
    bytes_ = bytes;
  }

  std::byte* of(std::size_t block) const noexcept {
    return (lent_ ? lent_.get() : own_.get()) + block * stride_;
  }

  /// Never gives the memory back: something may still touch it.
  void leak() noexcept {
    static_cast<void>(own_.release());
    bytes_ = 0;
    if (lent_) static_cast<void>(new (std::nothrow) detail::Shared<std::byte>(std::move(lent_)));
  }

 private:
  struct AlignedDelete {
    void operator()(std::byte* p) const noexcept {
      ::operator delete[](p, std::align_val_t{cache_line});
    }
  };

  detail::Owned<std::byte[], AlignedDelete> own_;
  std::size_t bytes_ = 0;
  std::size_t stride_ = 0;
  detail::Shared<std::byte> lent_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
