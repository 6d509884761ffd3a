// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/device_reducer.hpp>

#include <cstddef>
#include <type_traits>

// The kernel that combines, and its launch. For nvcc alone, which brings CUDA's own declarations.

namespace papcoll::inline PAPCOLL_ABI::gpu {
namespace detail {

inline constexpr unsigned block_threads = 512;

/// Four blocks fill a multiprocessor of 2048 threads. More would only be blocks that wait: each
/// thread goes on with what its stride gives it.
inline constexpr std::size_t blocks_per_multiprocessor = 4;

template <class T, class Op>
__global__ void __launch_bounds__(block_threads)
    combine_kernel(const __grid_constant__ Operands operands, const std::size_t n, const Op op) {
  combine<T>(operands, n, blockIdx.x * std::size_t{blockDim.x} + threadIdx.x,
             std::size_t{gridDim.x} * blockDim.x, op);
}

/// A DeviceReducer::Launch.
template <class T, class Op>
int launch(const Operands& operands, std::size_t n, const void* op, int processors, void* stream) {
  static_assert(std::is_trivially_copyable_v<Op> && sizeof(Op) <= 2048,
                "papcoll: an operator is copied to the device as a kernel's parameter: it must be "
                "trivially copyable and of at most 2048 bytes; keep what is larger in memory that "
                "the device reaches, and a pointer to it in the operator");
  if (n == 0) return cudaSuccess;
  const std::size_t in_block = block_threads * pack_elements<T>;
  const std::size_t needed = (n - 1) / in_block + 1;
  const std::size_t most = static_cast<std::size_t>(processors) * blocks_per_multiprocessor;
  const dim3 blocks(static_cast<unsigned>(needed < most ? needed : most));
  void* parameters[] = {const_cast<Operands*>(&operands), &n, const_cast<void*>(op)};
  // Unlike <<<…>>>, this returns the launch's own error, and no earlier one of others.
  return cudaLaunchKernel(reinterpret_cast<const void*>(&combine_kernel<T, Op>), blocks,
                          dim3(block_threads), parameters, 0, static_cast<cudaStream_t>(stream));
}

}  // namespace detail

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

/// The reducer of an operator on T, for devices and for the host. Both call op(low, high) of a
/// const operator, low being from the earlier rank. The operator is kept by address and must
/// outlive what is done with the reducer; each kernel gets a copy. T and Op are trivially copyable,
/// and Op has at most 2048 bytes.
template <class T, class Op> constexpr DeviceReducer device_operator(const Op& op) noexcept {
  DeviceReducer made = host_reducer<T>(op);
  made.launch = &detail::launch<T, Op>;
  return made;
}

template <class T, class Op>
DeviceReducer device_operator(const Op&& op) = delete;  // it would not outlive the call

}  // namespace papcoll::inline PAPCOLL_ABI::gpu
