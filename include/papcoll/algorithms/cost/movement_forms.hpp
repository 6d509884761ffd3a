#pragma once

#include <papcoll/algorithms/cost/hockney.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/math.hpp>

#include <algorithm>
#include <bit>

// Of schedules that move data: symbols as in closed_forms.hpp.

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

// --- allgather

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

// --- bcast

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

// --- alltoall. m: bytes that a position has for all, itself
// included.

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

inline double linear_gather(const HockneyWithGap& h, int p, double m) noexcept {
  return linear_allgather(h, p, m);
}

inline double binomial_gather(const Hockney& h, int p, double m) noexcept {
  return p < 2 ? 0 : detail::ceil_log2(p) * h.alpha + h.beta * detail::others_share(p, m);
}

inline double linear_scatter(const HockneyWithGap& h, int p, double m) noexcept {
  return linear_allgather(h, p, m);
}

inline double binomial_scatter(const Hockney& h, int p, double m) noexcept {
  return binomial_gather(h, p, m);
}

// --- barrier

inline double dissemination_barrier(const Hockney& h, int p) noexcept {
  return p < 2 ? 0 : detail::ceil_log2(p) * h.alpha;
}

}  // namespace papcoll::inline PAPCOLL_ABI::closed_form
