// SPDX-License-Identifier: BSD-3-Clause
// papcoll::gpu from outside: on a machine without a GPU, too.
#include <papcoll/gpu/built_in_reducers.hpp>
#include <papcoll/gpu/cuda_runtime.hpp>

#include <cstdio>

papcoll::gpu::DeviceReducer hypotenuse_reducer();
papcoll::gpu::DeviceReducer short_min_reducer();

namespace {

template <class T> T combined(const papcoll::gpu::DeviceReducer& reducer, T low, T high) {
  T out{};
  papcoll::gpu::Operands o;
  o.in[0] = &low;
  o.in[1] = &high;
  o.out[0] = &out;
  o.inputs = 2;
  o.outputs = 1;
  reducer.perform(o, 1, reducer.op);
  return out;
}

}  // namespace

int main() {
  using namespace papcoll;
  const gpu::DeviceReducer* const sum_reducer = gpu::built_in_reducer(built_in_pair<float, Sum>);
  bool right = sum_reducer != nullptr && sum_reducer->launch != nullptr;
  right = right && combined<float>(*sum_reducer, 3, 4) == 7;
  right = right && combined<float>(hypotenuse_reducer(), 3, 4) == 5;
  right = right && combined<short>(short_min_reducer(), 3, 4) == 3;
  try {
    gpu::CudaRuntime cuda;
    std::printf("%d GPUs\n", cuda.devices());
  } catch (const gpu::device_error& e) {
    right = right && e.fault == gpu::Fault::no_gpu;
    std::printf("%s\n", e.what());
  }
  return right ? 0 : 1;
}
