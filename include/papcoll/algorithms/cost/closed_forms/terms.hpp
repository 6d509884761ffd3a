#pragma once

#include <papcoll/algorithms/cost/bandwidth_bound.hpp>
#include <papcoll/algorithms/cost/hockney.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/math.hpp>

#include <algorithm>
#include <bit>

// What several closed forms are made of.

namespace papcoll::inline PAPCOLL_ABI::closed_form {

namespace detail {

inline int floor_log2(int p) noexcept {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(p))) - 1;
}
inline int ceil_log2(int p) noexcept {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(p - 1)));
}
inline bool is_power_of_two(int p) noexcept {
  return std::has_single_bit(static_cast<unsigned>(p));
}
using bandwidth_bound::others_share;

/// Neighbours are folded by halves if p is no power of two. Where the number of pairs is odd, one
/// of them exchanges with a position that has nothing to fold, and whose message is combined before
/// the other half is passed on.
inline double fold_halves(const Hockney& h, int p, double m) noexcept {
  if (is_power_of_two(p)) return 0;
  const double half = h.gamma * m / 2;
  const double mixed = p % 2 == 0 ? 0 : std::max(0.0, half - h.alpha);
  return 2 * h.alpha + h.beta * m + half + mixed;
}

}  // namespace detail

/// In how many segments of s bytes m bytes are cut.
inline double segments(double m, double s) noexcept { return std::max(1.0, math::ceil(m / s)); }

}  // namespace papcoll::inline PAPCOLL_ABI::closed_form
