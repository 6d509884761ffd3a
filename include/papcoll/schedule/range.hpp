// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI {

/// Elements [lo, hi) of the vector of a call.
struct Range {
  std::size_t lo = 0;  ///< the first one
  std::size_t hi = 0;  ///< behind the last one

  /// Returns the number of elements.
  constexpr std::size_t size() const noexcept { return hi - lo; }
  /// Returns true if it has no elements.
  constexpr bool empty() const noexcept { return lo == hi; }
  /// Returns true if the two have an element in common.
  constexpr bool overlaps(Range o) const noexcept { return lo < o.hi && o.lo < hi; }
  /// Returns true if it has all of the other's elements.
  constexpr bool contains(Range o) const noexcept { return lo <= o.lo && o.hi <= hi; }
  friend constexpr bool operator==(Range, Range) = default;
};

/// Part i of n balanced parts of a range: sizes differ by one at most, the longer ones first.
constexpr Range part(Range whole, int i, int n) noexcept {
  const auto parts = static_cast<std::size_t>(n);
  const auto index = static_cast<std::size_t>(i);
  const std::size_t each = whole.size() / parts;
  const std::size_t longer = whole.size() % parts;
  const std::size_t lo = whole.lo + index * each + (index < longer ? index : longer);
  return {lo, lo + each + (index < longer ? 1 : 0)};
}

}  // namespace papcoll::inline PAPCOLL_ABI
