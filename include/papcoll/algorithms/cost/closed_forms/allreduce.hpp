#pragma once

#include <papcoll/algorithms/cost/closed_forms/bcast.hpp>
#include <papcoll/algorithms/cost/closed_forms/reduce.hpp>
#include <papcoll/algorithms/cost/closed_forms/terms.hpp>
#include <papcoll/algorithms/cost/hockney.hpp>
#include <papcoll/base/config.hpp>

#include <algorithm>

// What an allreduce costs: p, m and s are as in closed_forms.hpp.

namespace papcoll::inline PAPCOLL_ABI::closed_form {

inline double linear_allreduce(const HockneyWithGap& h, int p, double m) noexcept {
  return linear_reduce(h, p, m) + linear_bcast(h, p, m);
}

inline double binomial_allreduce(const Hockney& h, int p, double m) noexcept {
  return binomial_reduce(h, p, m) + binomial_bcast(h, p, m);
}

inline double knomial_allreduce(const HockneyWithGap& h, int p, double m, int radix) noexcept {
  return knomial_reduce(h, p, m, radix) + knomial_bcast(h, p, m, radix);
}

inline double binary_tree_allreduce(const HockneyWithGap& h, int p, double m) noexcept {
  return binary_tree_reduce(h, p, m) + binary_tree_bcast(h, p, m);
}

/// Reduce, then bcast, each the quicker of a binomial tree and the scattered one: what
/// ReduceThenBcast:(Binomial or ReduceScatterGather),(Binomial or ScatterAllgather) costs.
inline double nonoverlapping_allreduce(const Hockney& h, int p, double m) noexcept {
  return std::min(binomial_reduce(h, p, m), reduce_scatter_gather_reduce(h, p, m)) +
         std::min(binomial_bcast(h, p, m), scatter_allgather_bcast(h, p, m));
}

/// Neighbours are folded, by whole vectors, if p is no power of two.
inline double recursive_doubling_allreduce(const Hockney& h, int p, double m) noexcept {
  if (p < 2) return 0;
  const double each = h.message(m) + h.gamma * m;
  const double fold = detail::is_power_of_two(p) ? 0 : each + h.message(m);
  return detail::floor_log2(p) * each + fold;
}

inline double ring_allreduce(const Hockney& h, int p, double m) noexcept {
  if (p < 2) return 0;
  return 2 * (p - 1) * h.alpha + (2 * h.beta + h.gamma) * detail::others_share(p, m);
}

/// Up two trees and down again, a chunk while later ones still come up: each passes a port twice.
inline double two_tree_allreduce(const HockneyWithGap& h, int p, double m, double s) noexcept {
  if (p < 2) return 0;
  const double n = segments(m, s);
  const double each = std::min(s, m);
  const double rest = m - each;
  return binary_tree_reduce(h, p, each) + binary_tree_bcast(h, p, each) +
         std::max(2 * ((n - 1) * h.gap + h.beta * rest), h.gamma * rest);
}

/// Neighbours are folded, by halves, if p is no power of two.
inline double rabenseifner_allreduce(const Hockney& h, int p, double m) noexcept {
  if (p < 2) return 0;
  const int d = detail::floor_log2(p);
  const double unfold = detail::is_power_of_two(p) ? 0 : h.message(m);
  return detail::fold_halves(h, p, m) + 2 * d * h.alpha +
         (2 * h.beta + h.gamma) * detail::others_share(1 << d, m) + unfold;
}

}  // namespace papcoll::inline PAPCOLL_ABI::closed_form
