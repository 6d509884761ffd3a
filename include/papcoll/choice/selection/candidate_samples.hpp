// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// The latest costs of a candidate in calls of one kind, in nanoseconds.
struct CandidateSamples {
  static constexpr std::uint32_t kept = 16;
  static constexpr std::uint32_t to_compare = 3;  ///< fewer say nothing
  static constexpr std::uint8_t none = 0xff;
  static constexpr std::uint8_t pardons_of_slow = 4;
  // How much slower than the best is too slow. Twice, as long as memory may be cold:
  static constexpr std::uint32_t warm_margin = 8;   ///< afterwards an eighth of the best's cost
  static constexpr std::uint32_t slow_at_once = 4;  ///< so many times shows in two samples
  static constexpr std::uint32_t very_slow = 3;     ///< so many times is not pardoned soon

  std::uint8_t id = none;
  bool is_dropped = false;
  bool is_far = false;       ///< when it was dropped, its cost was far from the best's
  std::uint8_t pardons = 0;  ///< so many times more it is not tried again with the others
  std::uint32_t count = 0;
  std::uint32_t last = 0;  ///< the number among the kind's calls of the last sample
  std::array<std::uint32_t, kept> ns{};

  void add(std::uint64_t cost, std::uint32_t call) noexcept {
    last = call;
    ns[count++ % kept] = static_cast<std::uint32_t>(std::min<std::uint64_t>(cost, UINT32_MAX));
  }
  std::uint32_t median() const noexcept {
    std::array<std::uint32_t, kept> sorted = ns;
    const auto n = static_cast<std::ptrdiff_t>(std::min(count, kept));
    std::nth_element(sorted.begin(), sorted.begin() + (n - 1) / 2, sorted.begin() + n);
    return sorted[static_cast<std::size_t>((n - 1) / 2)];
  }
  /// Returns true if the candidate is clearly slower than `least`, the best's cost.
  bool is_slower(std::uint32_t least, bool is_warm) const noexcept {
    const std::uint32_t cost = median();
    if (count >= 2 && cost / slow_at_once > least) return true;
    const std::uint32_t margin = is_warm ? least / warm_margin : least;
    return count > to_compare && cost - least > margin;
  }
  void clear() noexcept { count = 0; }
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
