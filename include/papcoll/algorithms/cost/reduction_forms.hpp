#pragma once

#include <papcoll/algorithms/cost/hockney.hpp>
#include <papcoll/algorithms/cost/movement_forms.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/math.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>

// Of schedules that combine data: symbols as in closed_forms.hpp.

// --- reduce

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

// --- reduce_scatter

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

// --- allreduce around a ring in segments

namespace detail {

inline constexpr std::size_t no_window = std::numeric_limits<std::size_t>::max();

}  // namespace detail

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

/// So many segments, one of each block, at the same time through a reduce-scatter and an allgather
/// around a ring: the blocks that start together stay together.
inline double segments_around_ring(const HockneyWithGap& h, int p, double segment,
                                   double together) noexcept {
  if (p < 2) return 0;
  const double port = together * h.port(segment);
  const double combine = h.gamma * segment;
  return (p - 1) * (std::max({together * combine, port, h.message(segment) + combine}) +
                    std::max(port, h.message(segment)));
}

/// Adds up f(part, together) for the blocks of `block` bytes that a window lets start together, one
/// window after the other; a last, shorter block counts by its bytes, or is that part of a block.
template <class F>
double window_by_window(double m, double block, std::size_t window, const F& f) noexcept {
  const double most = window == detail::no_window ? m / block : static_cast<double>(window);
  const double blocks = m / block;
  const double full = std::max(0.0, math::ceil(blocks / std::max(1.0, most)) - 1);
  const double rest = blocks - full * most;
  const double last = rest < 1 ? f(rest, 1.0) : f(1.0, rest);
  return (full > 0 ? full * f(1.0, most) : 0) + last;
}

/// As papcoll runs it: as many blocks of p segments as the window start together, and in each phase
/// combine one segment while others are on their way. The allgather of one block overlaps with no
/// reduce-scatter, since all are in the same phase.
inline double segmented_ring_allreduce(const HockneyWithGap& h, int p, double m, double s,
                                       std::size_t window = detail::no_window) noexcept {
  if (p < 2) return 0;
  // Until the first segment is there, nothing is combined.
  const double fill = m > p * s && window > 1 ? h.message(s) : 0;
  return fill + window_by_window(m, p * s, window, [&](double part, double together) {
           return segments_around_ring(h, p, part * s, together);
         });
}

// --- allreduce

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

// --- scan and exscan

/// From position to position, as a reduce by a chain.
inline double chain_scan(const Hockney& h, int p, double m) noexcept {
  return chain_reduce(h, p, m);
}

/// The last position only receives.
inline double chain_exscan(const Hockney& h, int p, double m) noexcept {
  return p < 2 ? 0 : chain_reduce(h, p, m) - h.gamma * m;
}

/// The same in segments of s bytes.
inline double pipelined_chain_scan(const HockneyWithGap& h, int p, double m, double s) noexcept {
  return pipelined_chain_reduce(h, p, m, s);
}

/// Every round a message and a combination of the whole vector.
inline double recursive_doubling_scan(const Hockney& h, int p, double m) noexcept {
  return p < 2 ? 0 : detail::ceil_log2(p) * (h.message(m) + h.gamma * m);
}

/// Who is the upper one in every round combines what it gets with the result and with what it
/// passes on, and in the last round with the result only; in the first there is no result yet.
inline double recursive_doubling_exscan(const Hockney& h, int p, double m) noexcept {
  if (p < 2) return 0;
  const int rounds = detail::ceil_log2(p);
  return rounds * (h.message(m) + h.gamma * m) + (rounds - 1) * h.gamma * m;
}

}  // namespace papcoll::inline PAPCOLL_ABI::closed_form
