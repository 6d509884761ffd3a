#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/handles.hpp>
#include <papcoll/gpu/transport/stream_pool.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Pinned memory of the host that a rank uses again and again, until its end.
class PinnedPool {
 public:
  /// Empty. Events are of `events`, which stays longer.
  PinnedPool(gpu::Api& api, EventPool& events) : api_(&api), events_(&events) {}

  /// At least so many bytes that nobody uses.
  std::byte* take(std::size_t bytes) {
    const std::size_t size = std::bit_ceil(std::max(bytes, least));
    const auto free = std::find_if(free_.begin(), free_.end(),
                                   [&](const std::byte* f) { return sizes_.at(f) == size; });
    if (free != free_.end()) {
      std::byte* const at = *free;
      free_.erase(free);
      return at;
    }
    gpu::OwnedHostMemory made{*api_, api_->allocate_host(size)};
    sizes_[made.get()] = size;
    all_.push_back(std::move(made));
    return all_.back().get();
  }

  /// Gives it back.
  void give_back(std::byte* at) { free_.push_back(at); }
  /// Gives it back; nobody uses it once the event is complete.
  void give_back(std::byte* at, gpu::OwnedEvent unused) {
    busy_.push_back({at, std::move(unused)});
  }

  /// Takes notice of events.
  void collect() {
    std::erase_if(busy_, [this](Busy& b) {
      if (!api_->is_complete(b.unused.get())) return false;
      give_back(b.at);
      events_->give_back(std::move(b.unused));
      return true;
    });
  }

  /// Never frees it: something may still use it.
  void leak() noexcept {
    for (gpu::OwnedHostMemory& m : all_) static_cast<void>(m.release());
  }

 private:
  struct Busy {
    std::byte* at;
    gpu::OwnedEvent unused;
  };

  static constexpr std::size_t least = 4096;  ///< bytes of the smallest: pages are pinned

  gpu::Api* api_;
  EventPool* events_;
  std::vector<gpu::OwnedHostMemory> all_;
  std::map<const std::byte*, std::size_t> sizes_;  ///< bytes of each
  std::vector<std::byte*> free_;
  std::vector<Busy> busy_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
