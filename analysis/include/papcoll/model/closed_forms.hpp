// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/closed_forms.hpp>
#include <papcoll/base/config.hpp>

#include <algorithm>

// The closed forms by which no call chooses; symbols as in algorithms/closed_forms.hpp, which has
// the others. No form is below what the data volume takes, see bandwidth_bound.
//
// `papcoll simulate` shows them beside the simulated time. Two are there to be compared with: the
// literature's segmented_ring_allreduce_serial(), and nonoverlapping_allreduce(), the best of four.

namespace papcoll::inline PAPCOLL_ABI {

/// The least that any schedule takes which sends and receives one message at a time: what must pass
/// one port, and what must be combined, as far as the two cannot overlap entirely.
namespace bandwidth_bound {

using closed_form::detail::others_share;

/// Every position must receive the result or what it is made of, and give its own.
inline double allreduce(const Hockney& h, int p, double m) noexcept {
  if (p < 2) return 0;
  return std::max(2 * h.beta, h.gamma) * others_share(p, m);
}
/// Every position but the root must receive the vector.
inline double bcast(const Hockney& h, int p, double m) noexcept { return p < 2 ? 0 : h.beta * m; }
/// The root has its own contribution, and must combine p−1 others somewhere.
inline double reduce(const Hockney& h, int p, double m) noexcept {
  if (p < 2) return 0;
  return std::max(h.beta * m, h.gamma * others_share(p, m));
}
/// Returns the seconds of an allgather, and of a gather and a scatter.
inline double allgather(const Hockney& h, int p, double m) noexcept {
  return p < 2 ? 0 : h.beta * others_share(p, m);
}
inline double reduce_scatter(const Hockney& h, int p, double m) noexcept {
  return p < 2 ? 0 : std::max(h.beta, h.gamma) * others_share(p, m);
}

}  // namespace bandwidth_bound

}  // namespace papcoll::inline PAPCOLL_ABI

namespace papcoll::inline PAPCOLL_ABI::closed_form {

// --- allgather

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

// --- bcast

inline double chain_bcast(const Hockney& h, int p, double m) noexcept {
  return p < 2 ? 0 : (p - 1) * h.message(m);
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

// --- alltoall. m: bytes that a position has for all, itself included.

/// Batches of so many messages, one batch after the other.
inline double spread_out_alltoall(const HockneyWithGap& h, int p, double m, int window) noexcept {
  double seconds = 0;
  for (int left = p - 1; left > 0; left -= window) {
    seconds += (std::min(left, window) - 1) * h.port(m / p) + h.message(m / p);
  }
  return seconds;
}

/// All messages of a position at once.
inline double linear_alltoall(const HockneyWithGap& h, int p, double m) noexcept {
  return p < 2 ? 0 : spread_out_alltoall(h, p, m, p - 1);
}

/// One message after the other; Pairwise, too.
inline double ring_alltoall(const HockneyWithGap& h, int p, double m) noexcept {
  return spread_out_alltoall(h, p, m, 1);
}

/// For each digit of the distances, written to the base `radix`, a message for each of its values
/// but 0.
inline double bruck_alltoall(const HockneyWithGap& h, int p, double m, int radix) noexcept {
  double seconds = 0;
  for (long long weight = 1; weight < p; weight *= radix) {
    double last = 0;  // of this digit: what its message takes beyond its time in the port
    for (int digit = 1; digit < radix && digit * weight < p; ++digit) {
      int parts = 0;
      for (int o = 1; o < p; ++o) parts += o / weight % radix == digit ? 1 : 0;
      seconds += h.port(parts * m / p);
      last = h.alpha - h.gap;
    }
    seconds += last;
  }
  return seconds;
}

// --- gather and scatter

inline double linear_scatter(const HockneyWithGap& h, int p, double m) noexcept {
  return linear_allgather(h, p, m);
}

inline double binomial_scatter(const Hockney& h, int p, double m) noexcept {
  return binomial_gather(h, p, m);
}

// --- barrier

inline double knomial_reduce(const HockneyWithGap& h, int p, double m, int radix) noexcept {
  double seconds = 0;
  for (long long reached = 1; reached < p; reached *= radix) {
    const auto children = std::min<long long>(radix, (p + reached - 1) / reached) - 1;
    seconds += h.message(m) + h.gamma * m +
               static_cast<double>(children - 1) * std::max(h.port(m), h.gamma * m);
  }
  return seconds;
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

// --- reduce_scatter

inline double ring_reduce_scatter(const Hockney& h, int p, double m) noexcept {
  return p < 2 ? 0 : (p - 1) * h.alpha + (h.beta + h.gamma) * detail::others_share(p, m);
}

// --- allreduce around a ring in segments

/// The literature's form, corrected so that it keeps the bandwidth bound: n blocks of p segments,
/// combining overlapped with receiving in the reduce-scatter, and the allgather in one piece.
inline double segmented_ring_allreduce_serial(const Hockney& h, int p, double m,
                                              double s) noexcept {
  if (p < 2) return 0;
  const double n = std::max(1.0, math::ceil(m / (p * s)));
  const double each = std::min(s, m / p);
  const double message = h.message(each);
  const double combine = h.gamma * each;
  return (p - 1) * ((n - 1) * std::max(message, combine) + message + combine) +
         (p - 1) * h.message(m / p);
}

// --- allreduce

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

// --- scan and exscan

/// The last position only receives.
inline double chain_exscan(const Hockney& h, int p, double m) noexcept {
  return p < 2 ? 0 : chain_reduce(h, p, m) - h.gamma * m;
}

/// The seconds of a pipelined chain scan of m bytes among p positions, in segments of s bytes.
inline double pipelined_chain_scan(const HockneyWithGap& h, int p, double m, double s) noexcept {
  return pipelined_chain_reduce(h, p, m, s);
}

}  // namespace papcoll::inline PAPCOLL_ABI::closed_form
