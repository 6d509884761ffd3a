// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace bench {

struct OneWay {
  std::size_t bytes = 0;
  double seconds = 0;  ///< half a round trip between the first and the last rank, the median
};

/// From how many bytes on the two sides agree before a message is sent: where the time of one grows
/// most beyond what its bytes explain, by a third of a short message's time at least. 0 if that is
/// nowhere. Each size is twice the one before.
inline std::size_t where_times_jump(std::span<const OneWay> one_way) {
  constexpr std::size_t most = std::size_t{256} << 10;  // beyond, it is caches that end
  constexpr double least = 0.3;                         // of a short message's time
  std::size_t found = 0;
  double highest = one_way.empty() ? 0 : least * one_way.front().seconds;
  for (std::size_t i = 1; i + 1 < one_way.size() && one_way[i].bytes <= most; ++i) {
    // What the bytes add is half of what the next doubling adds.
    const double bytes = std::max(0.0, one_way[i + 1].seconds - one_way[i].seconds) / 2;
    const double jump = one_way[i].seconds - one_way[i - 1].seconds - bytes;
    if (jump <= highest) continue;
    highest = jump;
    found = one_way[i].bytes;
  }
  return found;
}

}  // namespace bench
