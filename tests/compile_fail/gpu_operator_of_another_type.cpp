// SPDX-License-Identifier: BSD-3-Clause
// An operator on devices whose elements are not those of the call.
#include <papcoll/core.hpp>
#include <papcoll/gpu.hpp>

#include <string>
#include <string_view>

// EXPECT: papcoll: this DeviceOperator is for elements of another type
// ERRORS: 1

struct Devices {
  static constexpr std::string_view transport_name = "Devices";
  static std::string unavailable();
  static papcoll::gpu::Api& api();
  static papcoll::gpu::DeviceReducer find_reducer(const papcoll::Reducer& reducer);
};

#ifdef PAPCOLL_TEST_CONTROL
using Element = float;
#else
using Element = double;
#endif

void call(papcoll::ThreadTeam::Rank& comm, float* data,
          const papcoll::gpu::DeviceOperator<Element, true>& op) {
  papcoll::gpu::allreduce<papcoll::DeviceTransport<Devices>>(comm, data, 10, op);
}
