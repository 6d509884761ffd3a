// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/transport/stream_pool.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Memory of a rank's device that its peers may map: its own, from which scratch and staging memory
/// are taken and which stays until the end, and what the user shares.
class DeviceMemory : Pinned {
 public:
  /// Memory that peers may map.
  struct Allocation {
    std::uint64_t number = 0;  ///< no other of this rank ever gets it
    std::byte* base = nullptr;
    std::size_t bytes = 0;
    gpu::MemoryHandle handle{};  ///< once it was exported
    bool exported = false;
  };

  /// On a device.
  DeviceMemory(gpu::Api& api, int device) : api_(&api), device_(device) {}

  /// The allocation that has the address, or null if peers may not map it.
  Allocation* find(const std::byte* address) {
    auto it = known_.upper_bound(const_cast<std::byte*>(address));
    if (it == known_.begin()) return nullptr;
    --it;
    return std::less<>{}(address, it->first + it->second.bytes) ? &it->second : nullptr;
  }

  /// By what peers map it. The first time it is exported.
  const gpu::MemoryHandle& handle_of(Allocation& memory) {
    if (!memory.exported) memory.handle = api_->export_memory(memory.base);
    memory.exported = true;
    return memory.handle;
  }

  /// Exposes memory of the user to peers, all of an allocation that begins at `base`.
  void share(std::byte* base, std::size_t bytes) {
    Allocation& added = known_[base];
    added = {};
    added.number = ++numbers_;
    added.base = base;
    added.bytes = bytes;
  }
  /// Undoes share(). Requires that no message is in flight, and that peers have closed their
  /// imports.
  void unshare(std::byte* base) noexcept { known_.erase(base); }

  /// Own memory of at least so many bytes, more than 0: what was given back with the same `order`,
  /// or new. Those who take it with one number are ordered after each other.
  std::byte* take(std::size_t bytes, std::size_t order) {
    const std::size_t size = std::bit_ceil(std::max(bytes, least));
    return take(size, size, order);
  }

  /// Own memory for the user, whose streams have done with what they gave back. It has less than
  /// twice as many bytes, or the least.
  std::byte* take_exported(std::size_t bytes) {
    const std::size_t size = (std::max(bytes, least) + least - 1) / least * least;
    return take(size, 2 * size - 1, exported);
  }
  /// Takes back memory that lend() returned; a later lend() may reuse it.
  void give_back_exported(std::byte* base) { give_back(base, exported); }

  /// Takes back memory of an owner; a later call for that owner may reuse it.
  void give_back(std::byte* base, std::size_t order) {
    free_.push_back({base, known_.at(base).bytes, order});
  }

  /// Never frees own memory: something may still use it.
  void leak() noexcept {
    for (gpu::OwnedMemory& m : own_) static_cast<void>(m.release());
  }

 private:
  struct Free {
    std::byte* base;
    std::size_t bytes;
    std::size_t order;
  };

  /// The owner of what is exposed to the user.
  static constexpr std::size_t exported = ~std::size_t{0};

  std::byte* take(std::size_t size, std::size_t at_most, std::size_t order) {
    const auto free = std::find_if(free_.begin(), free_.end(), [&](const Free& f) {
      return f.bytes >= size && f.bytes <= at_most && f.order == order;
    });
    if (free != free_.end()) {
      std::byte* const base = free->base;
      free_.erase(free);
      return base;
    }
    gpu::OwnedMemory memory{*api_, api_->allocate(device_, size)};
    share(memory.get(), size);
    own_.push_back(std::move(memory));
    return own_.back().get();
  }

  /// Bytes of the smallest allocation: allocations are slow, and each is mapped by peers.
  static constexpr std::size_t least = std::size_t{64} << 10U;

  gpu::Api* api_;
  int device_;
  std::uint64_t numbers_ = 0;
  std::map<std::byte*, Allocation, std::less<>> known_;
  std::vector<gpu::OwnedMemory> own_;
  std::vector<Free> free_;
};

/// Pinned memory of the host that a rank uses again and again, until its end.
class PinnedPool {
 public:
  /// Empty. Events are of `events`, which stays longer.
  PinnedPool(gpu::Api& api, EventPool& events) : api_(&api), events_(&events) {}

  /// Returns at least so many unused bytes.
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

  /// Takes back memory that take() returned.
  void give_back(std::byte* at) { free_.push_back(at); }
  /// Takes back memory that take() returned, which is unused once the event is complete.
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
