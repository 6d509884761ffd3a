#pragma once

#include <papcoll/algorithms/cost/closed_forms/terms.hpp>
#include <papcoll/algorithms/cost/hockney.hpp>
#include <papcoll/base/config.hpp>

#include <algorithm>

// What a reduce costs: p, m and s are as in closed_forms.hpp.

namespace papcoll::inline PAPCOLL_ABI::closed_form {

/// While the root combines one contribution, it receives the next.
inline double linear_reduce(const HockneyWithGap& h, int p, double m) noexcept {
  if (p < 2) return 0;
  return h.message(m) + (p - 2) * std::max(h.port(m), h.gamma * m) + h.gamma * m;
}

inline double chain_reduce(const Hockney& h, int p, double m) noexcept {
  return p < 2 ? 0 : (p - 1) * (h.message(m) + h.gamma * m);
}

inline double binomial_reduce(const Hockney& h, int p, double m) noexcept {
  return p < 2 ? 0 : detail::ceil_log2(p) * (h.message(m) + h.gamma * m);
}

inline double knomial_reduce(const HockneyWithGap& h, int p, double m, int radix) noexcept {
  double seconds = 0;
  for (long long reached = 1; reached < p; reached *= radix) {
    const auto children = std::min<long long>(radix, (p + reached - 1) / reached) - 1;
    seconds += h.message(m) + h.gamma * m +
               static_cast<double>(children - 1) * std::max(h.port(m), h.gamma * m);
  }
  return seconds;
}

inline double binary_tree_reduce(const HockneyWithGap& h, int p, double m) noexcept {
  if (p < 3) return chain_reduce(h, p, m);
  return detail::floor_log2(p) * (h.message(m) + std::max(h.port(m), h.gamma * m) + h.gamma * m);
}

inline double pipelined_chain_reduce(const HockneyWithGap& h, int p, double m, double s) noexcept {
  if (p < 2) return 0;
  const double n = segments(m, s);
  const double each = std::min(s, m);
  const double rest = m - each;
  const double behind = n > 1 ? std::max((n - 1) * h.gap + h.beta * rest, h.gamma * rest) : 0;
  return chain_reduce(h, p, each) + behind;
}

inline double pipelined_binary_tree_reduce(const HockneyWithGap& h, int p, double m,
                                           double s) noexcept {
  if (p < 3) return pipelined_chain_reduce(h, p, m, s);
  const double n = segments(m, s);
  const double each = std::min(s, m);
  const double rest = m - each;
  const double behind = n > 1 ? 2 * std::max((n - 1) * h.gap + h.beta * rest, h.gamma * rest) : 0;
  return binary_tree_reduce(h, p, each) + behind;
}

/// As two_tree_bcast, up the trees.
inline double two_tree_reduce(const HockneyWithGap& h, int p, double m, double s) noexcept {
  if (p < 2) return 0;
  const double n = segments(m, s);
  const double each = std::min(s, m);
  const double rest = m - each;
  return binary_tree_reduce(h, p, each) + std::max((n - 1) * h.gap + h.beta * rest, h.gamma * rest);
}

/// Recursive halving, then a binomial gather; neighbours are folded before if p is no power of two.
inline double reduce_scatter_gather_reduce(const Hockney& h, int p, double m) noexcept {
  if (p < 2) return 0;
  const int d = detail::floor_log2(p);
  return detail::fold_halves(h, p, m) + 2 * d * h.alpha +
         (2 * h.beta + h.gamma) * detail::others_share(1 << d, m);
}

}  // namespace papcoll::inline PAPCOLL_ABI::closed_form
