#pragma once

#include <papcoll/algorithms/cost/closed_forms/allreduce.hpp>
#include <papcoll/algorithms/cost/closed_forms/bcast.hpp>
#include <papcoll/algorithms/cost/closed_forms/reduce.hpp>
#include <papcoll/algorithms/cost/closed_forms/segmented_ring.hpp>
#include <papcoll/algorithms/cost/closed_forms/terms.hpp>
#include <papcoll/algorithms/cost/hockney.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/math.hpp>

#include <algorithm>
#include <cstddef>

// The closed forms of allreduces where messages that are under way at once share a port, as TCP's
// and SimGrid's do: who sends to several at once serves all of them late, and a message that comes
// early delays those that are waited for. Where each rank sends and receives one message at a time
// anyway, nothing changes: Ring, and powers of two in RecursiveDoubling and Rabenseifner.
//
// How much a fold is delayed by depends on who of its neighbours is folded, too: what stands here
// for it is measured in simulations of 3 to 509 ranks (analysis/simulate.hpp, Ports::shared), and
// within 6 % of the whole time.

namespace papcoll::inline PAPCOLL_ABI {

namespace closed_form::shared_ports {

/// All contributions come at the same time, so that combining begins when the last one is there.
inline double linear_allreduce(const HockneyWithGap& h, int p, double m) noexcept {
  return closed_form::linear_allreduce(h, p, m) + (p > 2 ? h.beta * m : 0);
}

/// What is folded shares a port with the first exchange of those that have nothing to fold.
inline double recursive_doubling_allreduce(const Hockney& h, int p, double m) noexcept {
  const double shared = detail::is_power_of_two(p) ? 0 : h.beta * m;
  return closed_form::recursive_doubling_allreduce(h, p, m) + shared;
}

inline double rabenseifner_allreduce(const Hockney& h, int p, double m) noexcept {
  const double odd = std::min(1.5, 0.25 * detail::floor_log2(p));
  const double messages = detail::is_power_of_two(p) ? 0 : p % 2 == 0 ? 1.6 : odd;
  return closed_form::rabenseifner_allreduce(h, p, m) + messages * h.beta * m;
}

inline double reduce_scatter_gather_reduce(const Hockney& h, int p, double m) noexcept {
  const double messages = detail::is_power_of_two(p) ? 0 : p % 2 == 0 ? 0.6 : 0.15;
  return closed_form::reduce_scatter_gather_reduce(h, p, m) + messages * h.beta * m;
}

/// A position serves all its children at once, so that each of them, the one with the most
/// children of its own too, has the message when the last one has.
inline int binomial_bcast_messages(int p) noexcept {
  if (p < 2) return 0;
  const int children = detail::ceil_log2(p);
  const int full = (children - 2) * (children - 1) / 2;  // of the largest subtree that lacks nobody
  return children + std::max(full, binomial_bcast_messages(p - (1 << (children - 1))));
}
inline double binomial_bcast(const Hockney& h, int p, double m) noexcept {
  return p < 2 ? 0 : detail::ceil_log2(p) * h.alpha + binomial_bcast_messages(p) * h.beta * m;
}

/// The scatter's messages share ports with each other and with the ring's, unless those are held up
/// by their latency.
inline double scatter_allgather_bcast(const Hockney& h, int p, double m) noexcept {
  const double shared = p < 2 ? 0 : 2 * h.beta * m * (p - 2) / p - h.alpha * p / 2;
  return closed_form::scatter_allgather_bcast(h, p, m) + std::max(0.0, shared);
}

/// Segments that come at the same time are combined one after the other. Through the allgather they
/// go in so many groups one behind the other.
inline double segments_around_ring(const HockneyWithGap& h, int p, double segment, double together,
                                   int groups = 1) noexcept {
  if (p < 2) return 0;
  const double port = together * h.port(segment);
  const double combine = h.gamma * segment;
  const double message = h.message(segment * std::max(1.0, together / groups));
  return (p - 1) * (std::max({together * combine, port, h.message(segment) + combine}) +
                    std::max(port, message));
}

/// The blocks of a window come apart into two groups while the next window's begin, where the ring
/// is long enough for that.
inline double segmented_ring_allreduce(const HockneyWithGap& h, int p, double m, double s,
                                       std::size_t window) noexcept {
  if (p < 2) return 0;
  constexpr int long_enough = 8;
  const double fill = m > p * s && window > 1 ? h.message(s) : 0;
  const double blocks = m / (p * s);
  const double full = std::max(0.0, math::ceil(blocks / static_cast<double>(window)) - 1);
  const double rest = blocks - full * static_cast<double>(window);
  const int groups = p < long_enough ? 1 : 2;
  return fill + full * segments_around_ring(h, p, s, static_cast<double>(window), groups) +
         segments_around_ring(h, p, std::min(rest, 1.0) * s, std::max(rest, 1.0));
}

}  // namespace closed_form::shared_ports

}  // namespace papcoll::inline PAPCOLL_ABI
