// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/call/team_of.hpp>
#include <papcoll/gpu/device_call.hpp>
#include <papcoll/gpu/transport/device_endpoint.hpp>
#include <papcoll/gpu/transport/device_memory.hpp>
#include <papcoll/node/waiting/waiter.hpp>
#include <papcoll/schedule/endpoint.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI::gpu {
namespace detail {

/// Frees memory that an endpoint has exposed. Peers may have mapped it, so it is freed with the
/// endpoint's own once all have unmapped it.
struct TakeBack {
  papcoll::detail::Shared<DeviceMemory> owner{};
  void operator()(std::byte* exported) const { owner->give_back_exported(exported); }
};
using ExportedMemory = std::unique_ptr<std::byte, TakeBack>;

/// Exposes memory in a call of all ranks, which connects the transport; each passes a length of its
/// own.
template <class Transport>
ExportedMemory export_memory_of(const CallOrigin& origin, std::size_t bytes) {
  struct Wish {
    std::size_t bytes;
    ExportedMemory memory{};
  } wish{bytes};
  Call call;
  call.collective = Collective::allreduce;
  call.count = 1;
  call.types = papcoll::detail::element_bits<std::byte>() | types_on_device;
  call.reducer.context = &wish;
  constexpr std::uint32_t id = 0x5a11ed;
  papcoll::detail::run_at_endpoint(
      origin, device_spec<Allreduce, true, RecursiveDoubling, Transport>(), call, id, {},
      *+[](Endpoint& endpoint, std::uint32_t, Waiter&, const Call& made) {
        auto& wanted = *static_cast<Wish*>(const_cast<void*>(made.reducer.context));
        const auto& owner = Transport::device_endpoint(endpoint).memory();
        wanted.memory = ExportedMemory{owner->take_exported(wanted.bytes), TakeBack{owner}};
      });
  return std::move(wish.memory);
}

}  // namespace detail

/// A buffer on the rank's device that the other ranks may map: collectives of papcoll::gpu use it
/// in place, without a copy to memory of papcoll's first.
///
/// Construction is collective: all ranks of the communicator construct one at the same place among
/// their calls, each of a length of its own. A rank may destroy its own at any time, once its
/// streams have finished with it: the memory is kept for the next one, and freed when the
/// communicator has ended, since other ranks may have mapped it. It may outlive the communicator.
template <class T, class Transport>
class shared_buffer {  // NOLINT(readability-identifier-naming): as shared_vector
 public:
  static_assert(std::is_trivially_copyable_v<T>, "papcoll: elements are copied as bytes");

  /// Allocates `count` elements, uninitialised. Throws device_error if the device has not enough
  /// memory, and then peer_error on the other ranks; transport_unavailable.
  template <Team C, std::integral N> shared_buffer(C&& comm, N count) {
    const detail::CallOrigin origin{detail::core_for_devices(comm), Collective::allreduce};
    size_ = papcoll::detail::checked_count(origin, count);
    memory_ = detail::export_memory_of<Transport>(origin, size_ * sizeof(T));
  }

  /// Returns the address of the first element, on the device.
  T* data() const noexcept { return reinterpret_cast<T*>(memory_.get()); }
  /// Returns the number of elements.
  std::size_t size() const noexcept { return size_; }

 private:
  std::size_t size_ = 0;
  detail::ExportedMemory memory_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::gpu
