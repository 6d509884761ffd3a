// SPDX-License-Identifier: BSD-3-Clause
#include "user_operators.hpp"

#include <papcoll/gpu/device_operator.cuh>

namespace {

struct InTurn {
  __host__ __device__ Step operator()(const Step& low, const Step& high) const {
    return {high.scale * low.scale, high.scale * low.shift + high.shift, low.count + high.count};
  }
};
const InTurn in_turn{};

struct SumModulo {
  std::uint32_t modulus;
  constexpr std::uint32_t operator()(std::uint32_t low, std::uint32_t high) const {
    return static_cast<std::uint32_t>((std::uint64_t{low} + high) % modulus);
  }
};
const SumModulo sum_modulo{1000};

}  // namespace

papcoll::gpu::DeviceReducer steps_in_turn() { return papcoll::gpu::device_operator<Step>(in_turn); }

papcoll::gpu::DeviceReducer sum_modulo_1000() {
  return papcoll::gpu::device_operator<std::uint32_t>(sum_modulo);
}
