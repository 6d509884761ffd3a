// SPDX-License-Identifier: BSD-3-Clause
// Algorithms on memory of devices, in calls and with policies that do not fit them.
#include <papcoll/allreduce.hpp>
#include <papcoll/arrival/policies.hpp>
#include <papcoll/arrival/predictor.hpp>
#include <papcoll/gpu.hpp>
#include <papcoll/reduce.hpp>
#include <papcoll/thread_team.hpp>

#include <string>
#include <string_view>
#include <vector>

// EXPECT: papcoll: this schedule combines in the memory of devices, and this call does not reach
// EXPECT: that: take papcoll::gpu::allreduce with a transport such as CudaIpcTransport
// EXPECT: unmet::device_memory<papcoll::CollectiveTag<papcoll::Collective::allreduce>
// EXPECT: papcoll::SharedDevice
// EXPECT: unmet::device_memory<papcoll::CollectiveTag<papcoll::Collective::reduce>
// EXPECT: papcoll::DeviceSlices, papcoll::ThreadTransport
// EXPECT: papcoll: this schedule goes by the order in which ranks arrive
// EXPECT: papcoll: this algorithm moves only while its rank waits in the call
// EXPECT: papcoll: this schedule does not serve this collective
// EXPECT: papcoll: two schedules for one collective
// ERRORS: 6

using namespace papcoll;

struct Devices {
  static constexpr std::string_view transport_name = "Devices";
  static std::string unavailable();
  static gpu::Api& api();
  static gpu::DeviceReducer find_reducer(const Reducer&);
};
using Transport = DeviceTransport<Devices>;

void call(ThreadTeam::Rank& comm, std::vector<int>& data, int* on_device) {
#ifdef PAPCOLL_TEST_CONTROL
  allreduce<Ring>(comm, data);
  reduce<Binomial, ThreadTransport>(comm, data, root{0});
  gpu::allreduce<ArrivalOrder, SharedDevice, Transport>(comm, on_device, 10);
  gpu::iallreduce<Ring, Transport>(comm, on_device, 10).wait();
  gpu::reduce<Transport, DeviceSlices>(comm, on_device, 10, root{0});
  gpu::allreduce<DeviceSlices, Transport, Reproducible>(comm, on_device, 10);
#else
  allreduce<SharedDevice>(comm, data);
  reduce<DeviceSlices, ThreadTransport>(comm, data, root{0});
  gpu::allreduce<StaticOrder, SharedDevice, Transport>(comm, on_device, 10);
  gpu::iallreduce<SharedDevice, Transport>(comm, on_device, 10).wait();
  gpu::bcast<Transport, DeviceSlices>(comm, on_device, 10, root{0});
  gpu::allreduce<DeviceSlices, SharedDevice, Transport>(comm, on_device, 10);
#endif
}
