#pragma once

#include <papcoll/config.hpp>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// The largest power of two that is not larger than n; n ≥ 1.
constexpr int floor_power_of_two(int n) noexcept {
  int power = 1;
  while (power <= n / 2) power *= 2;
  return power;
}

/// ⌈log₂ n⌉: the rounds in which what doubles every round grows from 1 to n; n ≥ 1.
constexpr int doubling_rounds(int n) noexcept {
  int rounds = 0;
  while (n > 1) {
    n -= n / 2;
    ++rounds;
  }
  return rounds;
}

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
