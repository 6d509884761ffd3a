#pragma once

#include <papcoll/algorithms/cost/hockney.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/math.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>

// What an allreduce around a ring in segments costs: p, m and s are as in closed_forms.hpp.

namespace papcoll::inline PAPCOLL_ABI::closed_form {

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

}  // namespace papcoll::inline PAPCOLL_ABI::closed_form
