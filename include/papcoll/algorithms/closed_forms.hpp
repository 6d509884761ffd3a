// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>

// What the schedules of algorithms/static cost, in seconds: the formulas of their headers as
// functions. p: positions; m: bytes of the whole vector, also where each position contributes a
// p-th of it (allgather, gather, scatter, reduce_scatter), and in alltoall what one position has
// for all; s: bytes of a segment. All positions arrive at once, no other rank uses the network, and
// every position sends one message at a time and receives one at a time.
//
// Those of one message after the other take nothing but Hockney's parameters; where messages follow
// each other through a port, the gap between them counts, which is alpha in Hockney's own model.
//
// Here are those by which calls choose. model/closed_forms.hpp, of papcoll::analysis, has the
// others.

namespace papcoll::inline PAPCOLL_ABI {

/// Hockney's model of a machine: a message of m bytes takes alpha + beta·m seconds, and combining m
/// bytes with others takes gamma·m.
///
/// The defaults are those published for a Cray XC40 and its Aries network: Nuriyev et al., "SUARA",
/// JPDC 183, 2024. alpha and beta may be those of one algorithm, fitted to its runs.
struct Hockney {
  double alpha = 1.5e-6;   ///< seconds a message
  double beta = 6.25e-11;  ///< seconds a byte sent
  double gamma = 2e-10;    ///< seconds a byte combined

  /// Returns the seconds of a message of so many bytes.
  constexpr double message(double bytes) const noexcept { return alpha + beta * bytes; }

  friend bool operator==(const Hockney&, const Hockney&) = default;
};

/// Hockney's model, and the gap: the seconds for which a message occupies its port beside its
/// bytes: all of alpha in Hockney's own model, less where one message's latency passes while the
/// next one leaves (LogGP's g), nothing in a network that only delays. What goes from hand to hand
/// does not tell them apart; pipelines do.
struct HockneyWithGap : Hockney {
  double gap = alpha;  ///< seconds

  constexpr HockneyWithGap() = default;
  /// All of alpha, as in Hockney's own model.
  // NOLINTNEXTLINE(google-explicit-constructor): Hockney's model is one of them
  constexpr HockneyWithGap(const Hockney& h) noexcept : Hockney(h), gap(h.alpha) {}
  /// A gap of so many seconds.
  constexpr HockneyWithGap(const Hockney& h, double seconds) noexcept : Hockney(h), gap(seconds) {}

  /// Returns the seconds for which a message of so many bytes keeps its port.
  constexpr double port(double bytes) const noexcept { return gap + beta * bytes; }

  friend bool operator==(const HockneyWithGap&, const HockneyWithGap&) = default;
};

}  // namespace papcoll::inline PAPCOLL_ABI

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
/// (p−1)/p of m.
inline double others_share(int p, double m) noexcept { return m * (p - 1) / p; }

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

inline double linear_allgather(const HockneyWithGap& h, int p, double m) noexcept {
  return p < 2 ? 0 : (p - 2) * h.port(m / p) + h.message(m / p);
}

// --- bcast

inline double linear_bcast(const HockneyWithGap& h, int p, double m) noexcept {
  return p < 2 ? 0 : (p - 2) * h.port(m) + h.message(m);
}

inline double binomial_bcast(const Hockney& h, int p, double m) noexcept {
  return p < 2 ? 0 : detail::ceil_log2(p) * h.message(m);
}

inline double binary_tree_bcast(const HockneyWithGap& h, int p, double m) noexcept {
  if (p < 3) return p < 2 ? 0 : h.message(m);
  return detail::floor_log2(p) * (h.port(m) + h.message(m));
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

// --- gather and scatter

inline double linear_gather(const HockneyWithGap& h, int p, double m) noexcept {
  return linear_allgather(h, p, m);
}

inline double binomial_gather(const Hockney& h, int p, double m) noexcept {
  return p < 2 ? 0 : detail::ceil_log2(p) * h.alpha + h.beta * detail::others_share(p, m);
}

// --- barrier

inline double dissemination_barrier(const Hockney& h, int p) noexcept {
  return p < 2 ? 0 : detail::ceil_log2(p) * h.alpha;
}

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

inline double binary_tree_reduce(const HockneyWithGap& h, int p, double m) noexcept {
  if (p < 3) return chain_reduce(h, p, m);
  return detail::floor_log2(p) * (h.message(m) + std::max(h.port(m), h.gamma * m) + h.gamma * m);
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

/// So many segments, one of each block, at the same time through a reduce-scatter and an allgather
/// around a ring: the blocks that start together stay together. Where messages that are under way
/// at once share a port, they go through the allgather in so many groups one behind the other.
inline double segments_around_ring(
    const HockneyWithGap& h, int p, double segment, double together,
    double groups = std::numeric_limits<double>::infinity()) noexcept {
  if (p < 2) return 0;
  const double port = together * h.port(segment);
  const double combine = h.gamma * segment;
  const double message = h.message(segment * std::max(1.0, together / groups));
  return (p - 1) * (std::max({together * combine, port, h.message(segment) + combine}) +
                    std::max(port, message));
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

/// Every round a message and a combination of the whole vector.
inline double recursive_doubling_scan(const Hockney& h, int p, double m) noexcept {
  return p < 2 ? 0 : detail::ceil_log2(p) * (h.message(m) + h.gamma * m);
}

/// A position that is the upper one in every round combines what it receives with the result and
/// with what it passes on, and in the last round with the result only; in the first there is no
/// result yet.
inline double recursive_doubling_exscan(const Hockney& h, int p, double m) noexcept {
  if (p < 2) return 0;
  const int rounds = detail::ceil_log2(p);
  return rounds * (h.message(m) + h.gamma * m) + (rounds - 1) * h.gamma * m;
}

}  // namespace papcoll::inline PAPCOLL_ABI::closed_form
