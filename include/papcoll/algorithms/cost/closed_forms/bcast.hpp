#pragma once

#include <papcoll/algorithms/cost/closed_forms/terms.hpp>
#include <papcoll/algorithms/cost/hockney.hpp>
#include <papcoll/base/config.hpp>

#include <algorithm>

// What a bcast costs: p, m and s are as in closed_forms.hpp.

namespace papcoll::inline PAPCOLL_ABI::closed_form {

inline double linear_bcast(const HockneyWithGap& h, int p, double m) noexcept {
  return p < 2 ? 0 : (p - 2) * h.port(m) + h.message(m);
}

inline double chain_bcast(const Hockney& h, int p, double m) noexcept {
  return p < 2 ? 0 : (p - 1) * h.message(m);
}

inline double binomial_bcast(const Hockney& h, int p, double m) noexcept {
  return p < 2 ? 0 : detail::ceil_log2(p) * h.message(m);
}

/// In every level the child that is served last passes on last.
inline double knomial_bcast(const HockneyWithGap& h, int p, double m, int radix) noexcept {
  double seconds = 0;
  for (long long reached = 1; reached < p; reached *= radix) {
    const auto children = std::min<long long>(radix, (p + reached - 1) / reached) - 1;
    seconds += static_cast<double>(children - 1) * h.port(m) + h.message(m);
  }
  return seconds;
}

inline double binary_tree_bcast(const HockneyWithGap& h, int p, double m) noexcept {
  if (p < 3) return p < 2 ? 0 : h.message(m);
  return detail::floor_log2(p) * (h.port(m) + h.message(m));
}

/// n segments go through p−1 hands, one behind the other.
inline double pipelined_chain_bcast(const HockneyWithGap& h, int p, double m, double s) noexcept {
  if (p < 2) return 0;
  const double n = segments(m, s);
  const double each = std::min(s, m);
  const double behind = n > 1 ? (n - 1) * h.gap + h.beta * (m - each) : 0;
  return (p - 1) * h.message(each) + behind;
}

/// Each position sends every segment twice.
inline double pipelined_binary_tree_bcast(const HockneyWithGap& h, int p, double m,
                                          double s) noexcept {
  if (p < 3) return pipelined_chain_bcast(h, p, m, s);
  const double n = segments(m, s);
  const double each = std::min(s, m);
  const double behind = n > 1 ? 2 * ((n - 1) * h.gap + h.beta * (m - each)) : 0;
  return binary_tree_bcast(h, p, each) + behind;
}

/// Binomial scatter, then an allgather around a ring.
inline double scatter_allgather_bcast(const Hockney& h, int p, double m) noexcept {
  if (p < 2) return 0;
  return (detail::ceil_log2(p) + p - 1) * h.alpha + 2 * h.beta * detail::others_share(p, m);
}

/// Two binary trees, each for half of the chunks of s bytes, inner positions of one being leaves of
/// the other: Sanders, Speck, Träff, "Two-tree algorithms for full bandwidth broadcast, reduction
/// and scan", Parallel Computing 35(12), 2009: n + 2d steps for d levels, where the gap is α.
inline double two_tree_bcast(const HockneyWithGap& h, int p, double m, double s) noexcept {
  if (p < 2) return 0;
  const double n = segments(m, s);
  const double each = std::min(s, m);
  return binary_tree_bcast(h, p, each) + (n - 1) * h.gap + h.beta * (m - each);
}

}  // namespace papcoll::inline PAPCOLL_ABI::closed_form
