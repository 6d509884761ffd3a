// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

// How long the blocks of an irregular call are: a function of the command line alone, so that all
// ranks know those of all.
namespace bench {

/// How the lengths of blocks differ.
enum class Counts : unsigned char {
  power_law,  ///< the i-th longest, from 1, in proportion to 1/i (Zipf's law)
  equal,      ///< not at all
  random,     ///< in proportion to uniform random numbers of (0, 1]
  one_large,  ///< one has half of all elements, and the others equal parts of the other half
};

inline constexpr std::array<std::string_view, 4> counts_names{"power-law", "equal", "random",
                                                              "one-large"};

constexpr std::string_view name_of(Counts counts) {
  return counts_names[static_cast<std::size_t>(counts)];
}

/// To what the lengths of so many blocks are in proportion; which block has which is drawn.
inline std::vector<double> block_weights(Counts counts, std::size_t blocks, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> weights(blocks, 1);
  switch (counts) {
    case Counts::equal: break;
    case Counts::power_law:
      for (std::size_t i = 0; i < blocks; ++i) weights[i] = 1 / static_cast<double>(i + 1);
      for (std::size_t i = blocks; i > 1; --i) std::swap(weights[i - 1], weights[random() % i]);
      break;
    case Counts::random:
      for (double& w : weights) w = static_cast<double>((random() >> 11U) + 1) * 0x1p-53;
      break;
    case Counts::one_large:
      if (blocks > 1) weights[random() % blocks] = static_cast<double>(blocks - 1);
      break;
  }
  return weights;
}

/// Lengths of so many blocks, whose mean is exactly `mean`: block i ends at the whole part of what
/// the blocks up to it have together. Throws std::invalid_argument if their sum is no std::size_t.
inline std::vector<std::size_t> block_lengths(Counts counts, std::size_t blocks, std::size_t mean,
                                              std::uint64_t seed) {
  std::size_t total = 0;
  if (__builtin_mul_overflow(blocks, mean, &total)) {
    throw std::invalid_argument("all blocks together have more elements than memory has bytes");
  }
  if (counts == Counts::equal) return std::vector<std::size_t>(blocks, mean);
  const std::vector<double> weights = block_weights(counts, blocks, seed);
  double all = 0;
  for (const double w : weights) all += w;
  std::vector<std::size_t> lengths;
  double up_to = 0;
  std::size_t given = 0;
  for (const double w : weights) {
    up_to += w;
    const double share = std::floor(static_cast<double>(total) * (up_to / all));
    const bool last = lengths.size() + 1 == blocks;
    const std::size_t end =
        last ? total : std::clamp(static_cast<std::size_t>(share), given, total);
    lengths.push_back(end - given);
    given = end;
  }
  return lengths;
}

}  // namespace bench
