#pragma once

#include <papcoll/algorithms/cost/closed_forms/terms.hpp>
#include <papcoll/algorithms/cost/hockney.hpp>
#include <papcoll/base/config.hpp>

// What an allgather costs: p, m and s are as in closed_forms.hpp.

namespace papcoll::inline PAPCOLL_ABI::closed_form {

inline double ring_allgather(const Hockney& h, int p, double m) noexcept {
  return p < 2 ? 0 : (p - 1) * h.alpha + h.beta * detail::others_share(p, m);
}

inline double bruck_allgather(const Hockney& h, int p, double m) noexcept {
  return p < 2 ? 0 : detail::ceil_log2(p) * h.alpha + h.beta * detail::others_share(p, m);
}

/// The rounds of a ring if p is odd.
inline double neighbour_exchange_allgather(const Hockney& h, int p, double m) noexcept {
  if (p < 2) return 0;
  const int rounds = p % 2 == 0 ? p / 2 : p - 1;
  return rounds * h.alpha + h.beta * detail::others_share(p, m);
}

/// Folded, if p is no power of two: the folded one gives its own and gets all others'.
inline double recursive_doubling_allgather(const Hockney& h, int p, double m) noexcept {
  if (p < 2) return 0;
  const double fold = detail::is_power_of_two(p) ? 0 : 2 * h.alpha + h.beta * m;
  return detail::floor_log2(p) * h.alpha + h.beta * detail::others_share(p, m) + fold;
}

inline double linear_allgather(const HockneyWithGap& h, int p, double m) noexcept {
  return p < 2 ? 0 : (p - 2) * h.port(m / p) + h.message(m / p);
}

}  // namespace papcoll::inline PAPCOLL_ABI::closed_form
