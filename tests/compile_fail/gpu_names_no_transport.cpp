// SPDX-License-Identifier: BSD-3-Clause
// A collective on memory of devices that says not how to reach it.
#include <papcoll/core.hpp>
#include <papcoll/gpu.hpp>

#include <string>
#include <string_view>

// EXPECT: papcoll: a collective on memory of devices names the transport that reaches it: write
// EXPECT: write papcoll::gpu::allreduce<papcoll::CudaIpcTransport>(comm, data, count)
// ERRORS: 1

struct Devices {
  static constexpr std::string_view transport_name = "Devices";
  static std::string unavailable();
  static papcoll::gpu::Api& api();
  static papcoll::gpu::DeviceReducer find_reducer(const papcoll::Reducer& reducer);
};

void call(papcoll::ThreadTeam::Rank& comm, float* data) {
#ifdef PAPCOLL_TEST_CONTROL
  papcoll::gpu::allreduce<papcoll::DeviceTransport<Devices>>(comm, data, 10);
#else
  papcoll::gpu::allreduce(comm, data, 10);
#endif
}
