#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/api.hpp>

#include <cstddef>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI::gpu {

/// Owns what an Api made: gives it back at the end. The Api must outlive it.
template <class Handle, void (Api::*end)(Handle) noexcept>
class Owned {
 public:
  Owned() = default;
  /// Takes over `handle`.
  Owned(Api& api, Handle handle) noexcept : api_(&api), handle_(handle) {}
  Owned(Owned&& other) noexcept
      : api_(other.api_), handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr) (api_->*end)(handle_);
  }

  /// What it owns, or null.
  Handle get() const noexcept { return handle_; }
  /// Never gives it back: something may still use it.
  Handle release() noexcept { return std::exchange(handle_, nullptr); }
  explicit operator bool() const noexcept { return handle_ != nullptr; }

 private:
  Api* api_ = nullptr;
  Handle handle_ = nullptr;
};

using OwnedStream = Owned<Stream, &Api::destroy_stream>;       ///< a stream
using OwnedEvent = Owned<Event, &Api::destroy_event>;          ///< an event, made or imported
using OwnedMemory = Owned<std::byte*, &Api::free>;             ///< memory of a device
using OwnedHostMemory = Owned<std::byte*, &Api::free_host>;    ///< pinned memory
using PinnedMemory = Owned<std::byte*, &Api::unpin>;           ///< pinned memory of others
using ImportedMemory = Owned<std::byte*, &Api::close_memory>;  ///< memory of another process

}  // namespace papcoll::inline PAPCOLL_ABI::gpu
