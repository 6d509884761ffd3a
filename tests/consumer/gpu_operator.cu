// SPDX-License-Identifier: BSD-3-Clause
// An operator of a user, and one of papcoll by its full name, beside CUDA's ::min.
#include <papcoll/base/built_in_operators.hpp>
#include <papcoll/gpu/device_operator.cuh>

using namespace papcoll;

namespace {
struct Hypotenuse {
  __host__ __device__ float operator()(float low, float high) const {
    return sqrtf(low * low + high * high);
  }
};
const Hypotenuse hypotenuse{};
}  // namespace

gpu::DeviceReducer hypotenuse_reducer() { return gpu::device_operator<float>(hypotenuse); }

gpu::DeviceReducer short_min_reducer() { return gpu::device_operator<short>(papcoll::min); }
