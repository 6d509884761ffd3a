// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI::pattern {

namespace detail {
/// The finalizer of splitmix64: a bijection of 64-bit words whose every output bit depends on every
/// input bit (Steele, Lea & Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}
}  // namespace detail

/// Random numbers that are the same on every machine and compiler, which those of the standard
/// distributions are not: splitmix64, one independent stream for each (seed, stream) pair. Ranks
/// that construct equal streams draw equal numbers, so a random decision needs no message.
class Random {
 public:
  /// The beginning of a stream.
  constexpr explicit Random(std::uint64_t seed, std::uint64_t stream = 0) noexcept
      : state_(detail::mix(detail::mix(seed + golden) ^ (stream * golden + 1))) {}

  /// 64 random bits.
  constexpr std::uint64_t bits() noexcept { return detail::mix(state_ += golden); }

  /// Uniform in [0, 1), a multiple of 2^-53.
  constexpr double fraction() noexcept { return static_cast<double>(bits() >> 11) * 0x1p-53; }

  /// Uniform in {0, …, bound-1}, bound in [1, 2^32] (biased by less than bound / 2^32).
  constexpr std::uint64_t below(std::uint64_t bound) noexcept {
    return ((bits() >> 32) * bound) >> 32;
  }

  /// Normally distributed with mean 1/2 and standard deviation 1/6, clamped to [0, 1] (three
  /// standard deviations). The sum of twelve uniform numbers, added as integers: no logarithm, no
  /// cosine and no rounding that could differ between machines.
  constexpr double clamped_normal() noexcept {
    constexpr std::int64_t one = std::int64_t{1} << 32;
    std::int64_t sum = 0;  // mean 6·one, standard deviation 1·one
    for (int i = 0; i < 12; ++i) sum += static_cast<std::int64_t>(bits() >> 32);
    const std::int64_t clamped = sum < 3 * one ? 3 * one : sum > 9 * one ? 9 * one : sum;
    return static_cast<double>(clamped - 3 * one) / static_cast<double>(6 * one);
  }

 private:
  static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;  // 2^64 / golden ratio, odd
  std::uint64_t state_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::pattern
