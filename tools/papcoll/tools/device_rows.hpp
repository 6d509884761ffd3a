// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The algorithms on memory of devices, which are no part of the catalogue: that is for calls of the
// host, and does not reach GPUs.

#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/gpu/device_algorithm.hpp>
#include <papcoll/gpu/device_slices.hpp>
#include <papcoll/gpu/shared_device.hpp>

#include <array>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

template <DeviceAlgorithm A> constexpr CatalogueRow device_row(std::string_view in_source) {
  CatalogueRow row;
  row.name = row.schedule = A::name;
  row.arrival = "ArrivalOrder";
  row.sentence = A::sentence;
  row.needs = A::needs;
  row.contract = NumericalContract::rank_consistent;
  row.strongest = A::contract;
  row.serves = &A::serves;
  row.in_source = in_source;
  return row;
}

inline constexpr std::array device_rows{
    device_row<SharedDevice>("papcoll::gpu::allreduce<SharedDevice, CudaIpcTransport>"),
    device_row<DeviceSlices>("papcoll::gpu::allreduce<DeviceSlices, CudaIpcTransport>"),
};

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
