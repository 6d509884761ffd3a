#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/kernel_operands.hpp>

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
}  // namespace papcoll::inline PAPCOLL_ABI::gpu
