// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Sums whose bits tell in which order they were made: of all ranks one after the other, or of each
// group for itself and then of the groups.

#include <papcoll/topology/groups.hpp>

#include <cstddef>
#include <numeric>
#include <vector>

namespace group_sums {

inline float element(int rank, std::size_t i) {
  return 1.0F / static_cast<float>(1 + (i * 7 + static_cast<std::size_t>(rank) * 13) % 101);
}

inline std::vector<float> contribution(int rank, std::size_t count) {
  std::vector<float> data(count);
  for (std::size_t i = 0; i < count; ++i) data[i] = element(rank, i);
  return data;
}

inline float sum_of(const std::vector<int>& ranks, std::size_t i) {
  float sum = element(ranks.front(), i);
  for (std::size_t r = 1; r < ranks.size(); ++r) sum += element(ranks[r], i);
  return sum;
}

inline std::vector<float> in_one_level(int ranks, std::size_t count) {
  std::vector<int> everyone(static_cast<std::size_t>(ranks));
  std::iota(everyone.begin(), everyone.end(), 0);
  std::vector<float> sums(count);
  for (std::size_t i = 0; i < count; ++i) sums[i] = sum_of(everyone, i);
  return sums;
}

inline std::vector<float> in_two_levels(const papcoll::Groups& groups, std::size_t count) {
  std::vector<float> sums(count);
  for (std::size_t i = 0; i < count; ++i) {
    sums[i] = sum_of(groups.ranks_of(0), i);
    for (int g = 1; g < groups.count(); ++g) sums[i] += sum_of(groups.ranks_of(g), i);
  }
  return sums;
}

}  // namespace group_sums
