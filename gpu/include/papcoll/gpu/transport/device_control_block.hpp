#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/device_site.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI {

/// Bytes of memory that peers may map.
struct DeviceAddress {
  std::uint64_t allocation = 0;  ///< the owner's number of the memory; 0: no place
  std::uint64_t offset = 0;      ///< there
  gpu::MemoryHandle memory{};    ///< of that memory
};

/// What a rank announces in a call.
struct DeviceAnnouncement {
  std::uint64_t bytes = 0;      ///< of the vector
  std::uint32_t algorithm = 0;  ///< its number
  DeviceAddress contribution{};
  DeviceAddress result{};
};

/// What a rank shows all others in calls that depend on arrivals. It begins as zeros.
struct DeviceControlBlock {
  /// The event of a signal, and the last call in which it was given. The owner records the event
  /// before it stores the call's number. It records it anew only in a later call, which it enters
  /// when all have called wait() for this one: see DeviceSite.
  struct Signal {
    /// Release: makes `event`, `post` and the record visible to who acquires it. Numbers of calls
    /// are the same on all ranks, and a rank is in one at a time, so that equality is enough.
    alignas(cache_line) std::atomic<std::uint32_t> call{0};
    gpu::EventHandle event{};  ///< of the owner, from the first signal on
  };

  /// Of rank 0: how many tickets were drawn, size() in each call that draws any. Relaxed: a ticket
  /// says who is last, and what the others wrote is seen by their signals.
  alignas(cache_line) std::atomic<std::uint32_t> tickets{0};
  /// Written before `given`. Whoever has read it has signalled before the owner's next call.
  alignas(cache_line) DeviceAnnouncement post{};
  std::array<Signal, device_signals> signals{};
};
static_assert(std::is_trivially_destructible_v<DeviceControlBlock>);

}  // namespace papcoll::inline PAPCOLL_ABI
