#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/handles.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Memory of other ranks that this one has mapped, by their number of the allocation: an address
/// may come back for other memory, a number never does.
class MemoryImports {
 public:
  /// For a device. Beyond `most` imports those that were not used for the longest time are closed.
  MemoryImports(gpu::Api& api, int device, std::size_t most)
      : api_(&api), device_(device), most_(most) {}

  /// Where the peer's allocation begins for this rank's device.
  std::byte* find(int peer, std::uint64_t allocation, const gpu::MemoryHandle& handle) {
    return find(peer, allocation, handle, device_);
  }
  /// The same for another device of this process.
  std::byte* find(int peer, std::uint64_t allocation, const gpu::MemoryHandle& handle, int device) {
    const auto it = std::find_if(open_.begin(), open_.end(), [&](const Import& i) {
      return i.peer == peer && i.allocation == allocation && i.device == device;
    });
    if (it != open_.end()) {
      it->used = ++clock_;
      return it->memory.get();
    }
    gpu::ImportedMemory memory{*api_, api_->import_memory(device, handle)};
    open_.push_back({peer, allocation, device, ++clock_, std::move(memory)});
    return open_.back().memory.get();
  }

  /// Puts down what is beyond the limit, to be closed when all that is in the stream now is
  /// complete; and closes what was put down and is no longer in use. Every stream that pulls has
  /// been joined to this one.
  void trim(gpu::Stream joined) {
    while (open_.size() > most_) {
      const auto oldest =
          std::min_element(open_.begin(), open_.end(),
                           [](const Import& a, const Import& b) { return a.used < b.used; });
      gpu::OwnedEvent unused{*api_, api_->make_event(device_, false)};
      api_->record(unused.get(), joined);
      closing_.push_back({std::move(oldest->memory), std::move(unused)});
      open_.erase(oldest);
    }
    std::erase_if(closing_, [this](const Closing& c) { return api_->is_complete(c.unused.get()); });
  }

  /// How many are mapped, with those that are being closed.
  std::size_t size() const noexcept { return open_.size() + closing_.size(); }

  /// Closes all of them. Nothing may be in flight.
  void close() noexcept {
    open_.clear();
    closing_.clear();
  }

  /// Never closes them: something may still be in flight.
  void leak() noexcept {
    for (Import& i : open_) static_cast<void>(i.memory.release());
    for (Closing& c : closing_) static_cast<void>(c.memory.release());
    close();
  }

 private:
  struct Import {
    int peer;
    std::uint64_t allocation;
    int device;
    std::uint64_t used;  ///< a time, by clock_
    gpu::ImportedMemory memory;
  };
  struct Closing {
    gpu::ImportedMemory memory;
    gpu::OwnedEvent unused;
  };

  gpu::Api* api_;
  int device_;
  std::size_t most_;
  std::uint64_t clock_ = 0;
  std::vector<Import> open_;
  std::vector<Closing> closing_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
