// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/gpu/device_reducer.hpp>

#include <cstdint>

// Operators of a user, compiled by nvcc in user_operators.cu.

/// x -> scale * x + shift, with whole numbers that wrap. 12 bytes, so that no pack fits.
struct Step {
  std::uint32_t scale;
  std::uint32_t shift;
  std::uint32_t count;
  friend bool operator==(const Step&, const Step&) = default;
};

/// One after the other, which is not the other way round.
papcoll::gpu::DeviceReducer steps_in_turn();

/// (low + high) modulo a number that the operator has. Of std::uint32_t.
papcoll::gpu::DeviceReducer sum_modulo_1000();
