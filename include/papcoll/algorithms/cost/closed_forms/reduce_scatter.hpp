#pragma once

#include <papcoll/algorithms/cost/closed_forms/terms.hpp>
#include <papcoll/algorithms/cost/hockney.hpp>
#include <papcoll/base/config.hpp>

#include <algorithm>

// What a reduce_scatter costs: p, m and s are as in closed_forms.hpp.

namespace papcoll::inline PAPCOLL_ABI::closed_form {

inline double ring_reduce_scatter(const Hockney& h, int p, double m) noexcept {
  return p < 2 ? 0 : (p - 1) * h.alpha + (h.beta + h.gamma) * detail::others_share(p, m);
}

/// All messages are on their way at once; each is combined while the next comes in.
inline double pairwise_reduce_scatter(const HockneyWithGap& h, int p, double m) noexcept {
  if (p < 2) return 0;
  const double each = m / p;
  return h.message(each) + (p - 2) * std::max(h.port(each), h.gamma * each) + h.gamma * each;
}

inline double linear_reduce_scatter(const HockneyWithGap& h, int p, double m) noexcept {
  return pairwise_reduce_scatter(h, p, m);
}

/// For a power of two; every odd split adds a message of its round's size.
inline double recursive_halving_reduce_scatter(const Hockney& h, int p, double m) noexcept {
  double seconds = 0;
  for (int n = p; n > 1; n -= n / 2) {
    const int upper = n / 2;
    const double half = m / p * upper;
    seconds += (n % 2 == 0 ? 1 : 2) * (h.message(half) + h.gamma * half);
  }
  return seconds;
}

}  // namespace papcoll::inline PAPCOLL_ABI::closed_form
