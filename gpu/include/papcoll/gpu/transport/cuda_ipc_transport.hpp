// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/op.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/built_in_reducers.hpp>
#include <papcoll/gpu/cuda_runtime.hpp>
#include <papcoll/gpu/device_operator.hpp>
#include <papcoll/gpu/device_reducer.hpp>
#include <papcoll/gpu/transport/device_transport.hpp>

#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// The GPUs of this process, by CUDA. Programs link papcoll::gpu.
struct CudaDevices {
  static constexpr std::string_view transport_name = "CudaIpcTransport";
  static constexpr bool needs_processes = true;  ///< CUDA imports nothing of the process itself

  static std::string unavailable() {
    try {
      static_cast<void>(api());
      return "";
    } catch (const gpu::device_error& problem) {
      return detail::bare(problem.what());
    }
  }
  /// Returns what CUDA keeps for the process, made when it is first asked for.
  static gpu::Api& api() {
    static gpu::CudaRuntime runtime;
    return runtime;
  }
  static gpu::DeviceReducer find_reducer(const Reducer& r) {
    if (const gpu::DeviceReducer* const own = gpu::device_reducer_of(r)) return *own;
    if (const gpu::DeviceReducer* const found = gpu::built_in_reducer(r.built_in)) return *found;
    throw argument_error(
        "papcoll: there is no kernel for this operator and type of elements: pass an operator of "
        "papcoll on integers of up to 64 bits, float or double, or a papcoll::gpu::DeviceOperator");
  }
};

/// Memory of GPUs, among processes of one node: each maps the others' memory by CUDA's IPC, and
/// pulls messages from there. See DeviceTransport.
using CudaIpcTransport = DeviceTransport<CudaDevices>;
static_assert(TransportPolicy<CudaIpcTransport>);

}  // namespace papcoll::inline PAPCOLL_ABI
