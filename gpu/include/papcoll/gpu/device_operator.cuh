#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/device_reducer.hpp>
#include <papcoll/gpu/kernel.cuh>

// Operators of one's own on a device. In a .cu file, compiled by nvcc as C++20 (-std=c++20; with
// --expt-relaxed-constexpr a constexpr operator() needs no __host__ __device__):
//
//   #include <papcoll/gpu/device_operator.cuh>
//
//   struct LargerMagnitude {
//     __host__ __device__ float operator()(float low, float high) const {
//       if (fabsf(high) == fabsf(low)) return high > low ? high : low;
//       return fabsf(high) > fabsf(low) ? high : low;
//     }
//   };
//   const LargerMagnitude larger_magnitude{};
//
//   papcoll::gpu::DeviceReducer magnitude_reducer() {
//     return papcoll::gpu::device_operator<float>(larger_magnitude);
//   }
//
// Other files, of any compiler, declare magnitude_reducer(). A .cu that needs papcoll's operators
// includes base/built_in_operators.hpp, not papcoll.hpp, which takes nvcc long, and names them in
// full, as papcoll::min: CUDA has a ::min and a ::max.

namespace papcoll::inline PAPCOLL_ABI::gpu {

/// The reducer of an operator on T, for devices and for the host. Both call op(low, high) of a
/// const operator, low being from the earlier rank. The operator is kept by address and must
/// outlive what is done with the reducer; each kernel gets a copy. T and Op are trivially copyable,
/// and Op has at most 2048 bytes.
template <class T, class Op>
constexpr DeviceReducer device_operator(const Op& op) noexcept {
  DeviceReducer made = host_reducer<T>(op);
  made.launch = &detail::launch<T, Op>;
  return made;
}

template <class T, class Op>
DeviceReducer device_operator(const Op&& op) = delete;  // it would not outlive the call

}  // namespace papcoll::inline PAPCOLL_ABI::gpu
