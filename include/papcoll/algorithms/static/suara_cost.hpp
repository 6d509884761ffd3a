// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/closed_forms.hpp>
#include <papcoll/base/config.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

// The closed forms of allreduces where messages that are under way at once share a port, as TCP's
// and SimGrid's do: who sends to several at once serves all of them late, and a message that comes
// early delays those that are waited for. Where each rank sends and receives one message at a time
// anyway, nothing changes: Ring, and powers of two in RecursiveDoubling and Rabenseifner.
//
// How much a fold is delayed by depends on who of its neighbours is folded, too: what stands here
// for it is measured in simulations of 3 to 509 ranks (simulate/simulate.hpp, Ports::shared), and
// within 6 % of the whole time.

namespace papcoll::inline PAPCOLL_ABI {

namespace closed_form::shared_ports {

/// A position serves all its children at once, so that each of them, the one with the most
/// children of its own too, has the message when the last one has.
inline int binomial_bcast_messages(int p) noexcept {
  if (p < 2) return 0;
  const int children = detail::ceil_log2(p);
  const int full = (children - 2) * (children - 1) / 2;  // of the largest subtree that is complete
  return children + std::max(full, binomial_bcast_messages(p - (1 << (children - 1))));
}

/// The blocks of a window come apart into two groups while the next window's begin, where the ring
/// is long enough for that. Segments that come at the same time are combined one after the other.
inline double segmented_ring_allreduce(const HockneyWithGap& h, int p, double m, double s,
                                       std::size_t window) noexcept {
  if (p < 2) return 0;
  constexpr int long_enough = 8;
  const double fill = m > p * s && window > 1 ? h.message(s) : 0;
  const double blocks = m / (p * s);
  const double full = std::max(0.0, math::ceil(blocks / static_cast<double>(window)) - 1);
  const double rest = blocks - full * static_cast<double>(window);
  const double groups = p < long_enough ? 1 : 2;
  return fill + full * segments_around_ring(h, p, s, static_cast<double>(window), groups) +
         segments_around_ring(h, p, std::min(rest, 1.0) * s, std::max(rest, 1.0), 1);
}

}  // namespace closed_form::shared_ports

// What SUARA's choice costs: its algorithms along lines, and grids of them.

/// The allreduce algorithms that SUARA chooses from for each dimension.
enum class SuaraPart : unsigned char {
  linear,
  nonoverlapping,
  recursive_doubling,
  ring,
  segmented_ring,
  rabenseifner,
};
inline constexpr std::size_t suara_part_count = 6;
inline constexpr std::array suara_parts{
    SuaraPart::linear, SuaraPart::nonoverlapping, SuaraPart::recursive_doubling,
    SuaraPart::ring,   SuaraPart::segmented_ring, SuaraPart::rabenseifner};

/// Returns true if the part combines in rank order, as an operator that does not commute needs.
constexpr bool keeps_order(SuaraPart part) noexcept {
  return part != SuaraPart::ring && part != SuaraPart::segmented_ring;
}

/// What its choice goes by: a machine as each algorithm sees it, in the order of SuaraPart.
struct SuaraModel {
  std::array<HockneyWithGap, suara_part_count> machine{};
  HockneyWithGap link{};           ///< of the messages that fill a grid's gaps
  double segment = 8192;           ///< bytes, of segmented rings: the published one
  std::size_t pipeline_depth = 4;  ///< as that of Options
  bool commutative = true;
  bool shared_ports = false;  ///< messages in flight at once share a port; false: take turns

  /// The published parameters where messages are delayed by alpha, keep no port meanwhile, and
  /// share it: what the simulator's defaults are with Ports::shared.
  SuaraModel() : SuaraModel(HockneyWithGap{Hockney{}, 0}) { shared_ports = true; }
  /// Constructs a model in which every algorithm, and the messages that fill gaps, cost alike.
  explicit SuaraModel(const HockneyWithGap& all) : link(all) { machine.fill(all); }

  const HockneyWithGap& of(SuaraPart part) const noexcept {
    return machine[static_cast<std::size_t>(part)];
  }
};

/// A grid and what runs along each of its dimensions.
struct SuaraChoice {
  static constexpr std::size_t most = 3;

  std::size_t dimensions = 1;  ///< 1: no grid is better
  std::array<SuaraPart, most> parts{};
  std::array<int, most> extents{};  ///< the last is the number of rows
  bool folded = false;
  double seconds = 0;
  double flat = 0;  ///< seconds of the best without a grid, if that was looked for

  friend bool operator==(const SuaraChoice&, const SuaraChoice&) = default;
};

/// What the nonoverlapping one is made of among p positions: the quicker reduce and bcast each.
struct ReduceAndBcast {
  double tree = 0;  ///< seconds, binomial
  double scattered = 0;
  double tree_back = 0;
  double scattered_back = 0;

  double seconds() const noexcept {
    return std::min(tree, scattered) + std::min(tree_back, scattered_back);
  }
};

[[gnu::cold]] inline ReduceAndBcast reduce_and_bcast(const SuaraModel& model, int p,
                                                     double m) noexcept {
  const HockneyWithGap& h = model.of(SuaraPart::nonoverlapping);
  ReduceAndBcast both{
      closed_form::binomial_reduce(h, p, m), closed_form::reduce_scatter_gather_reduce(h, p, m),
      closed_form::binomial_bcast(h, p, m), closed_form::scatter_allgather_bcast(h, p, m)};
  if (!model.shared_ports || p < 2) return both;
  const double whole = h.beta * m;
  if (!closed_form::detail::is_power_of_two(p)) both.scattered += (p % 2 == 0 ? 0.6 : 0.15) * whole;
  const int messages = closed_form::shared_ports::binomial_bcast_messages(p);
  both.tree_back += (messages - closed_form::detail::ceil_log2(p)) * whole;
  // The scatter's messages share ports with each other and with the ring's, unless those are held
  // up by their latency.
  both.scattered_back += std::max(0.0, 2 * whole * (p - 2) / p - h.alpha * p / 2);
  return both;
}

namespace detail {

[[gnu::cold]] inline double segments_around_ring(const SuaraModel& model, int p, double segment,
                                                 double together) noexcept {
  constexpr double apart = std::numeric_limits<double>::infinity();
  return closed_form::segments_around_ring(model.of(SuaraPart::segmented_ring), p, segment,
                                           together, model.shared_ports ? 1 : apart);
}

}  // namespace detail

/// Returns the seconds of one of the algorithms among p positions, alone.
[[gnu::cold]] inline double seconds_of(const SuaraModel& model, SuaraPart part, int p,
                                       double m) noexcept {
  const HockneyWithGap& h = model.of(part);
  const bool shared = model.shared_ports;
  // If ports are shared, a fold is delayed by as many whole vectors as computed below.
  const double fold = shared && !closed_form::detail::is_power_of_two(p) ? h.beta * m : 0;
  switch (part) {
    case SuaraPart::linear:
      // All contributions come at the same time: combining begins when the last one is there.
      return closed_form::linear_allreduce(h, p, m) + (shared && p > 2 ? h.beta * m : 0);
    case SuaraPart::nonoverlapping: return reduce_and_bcast(model, p, m).seconds();
    case SuaraPart::recursive_doubling:
      // It shares a port with the first exchange of those that have nothing to fold.
      return closed_form::recursive_doubling_allreduce(h, p, m) + fold;
    case SuaraPart::ring: return closed_form::ring_allreduce(h, p, m);
    case SuaraPart::segmented_ring:
      return shared ? closed_form::shared_ports::segmented_ring_allreduce(h, p, m, model.segment,
                                                                          model.pipeline_depth)
                    : closed_form::segmented_ring_allreduce(h, p, m, model.segment,
                                                            model.pipeline_depth);
    case SuaraPart::rabenseifner: {
      const double odd = std::min(1.5, 0.25 * closed_form::detail::floor_log2(p));
      return closed_form::rabenseifner_allreduce(h, p, m) + (p % 2 == 0 ? 1.6 : odd) * fold;
    }
  }
  return 0;
}

/// The seconds along one dimension of a grid that is not all segmented rings. No block is cut
/// there, and few messages are let go at once, so that a segmented ring runs block by block, of
/// which one begins while the one before is at its last message.
[[gnu::cold]] inline double seconds_along(const SuaraModel& model, SuaraPart part, int p,
                                          double m) noexcept {
  if (part != SuaraPart::segmented_ring || p < 2) return seconds_of(model, part, p, m);
  const HockneyWithGap& h = model.of(part);
  const double s = model.segment;
  const double block = p * s;
  const auto around = [&](double share, double) {
    return detail::segments_around_ring(model, p, share * s, 1);
  };
  const double further = std::max(0.0, math::ceil(m / block) - 1);
  const double whole = closed_form::window_by_window(m, block, 1, around);
  if (model.shared_ports) return whole - further * h.alpha;
  const double overlapped =
      p > 2 ? h.message(s) + h.gamma * s : around(1, 1) - std::max(h.gamma * s, 2 * h.port(s));
  return whole - further * overlapped;
}

namespace detail {

/// The lines of a grid: how many positions are in those of each dimension, and what its gaps cost,
/// in whole vectors that are folded or handed on.
struct SuaraLines {
  std::array<int, SuaraChoice::most> lengths{};  ///< the longest
  int shortest = 1;                              ///< of the rows, which may differ
  int folds = 0;
  int hand_overs = 0;
  int pairs = 0;  ///< rows of two where others are of one, or two folded to one
};

[[gnu::cold]] inline SuaraLines lines_of(int p, const SuaraChoice& c) noexcept {
  SuaraLines lines;
  int least = p;
  int most = p;
  for (std::size_t d = c.dimensions; d > 1; --d) {
    const int rows = std::clamp(c.extents[d - 1], 1, least);
    const bool gaps = least % rows != 0 || most % rows != 0;
    lines.lengths[d - 1] = rows;
    lines.folds += gaps && c.folded ? 1 : 0;
    lines.hand_overs += gaps && !c.folded ? 1 : 0;
    if (most / rows == 1) lines.pairs = most % rows;
    least /= rows;
    most = c.folded ? most / rows : (most + rows - 1) / rows;
  }
  lines.lengths[0] = most;
  lines.shortest = least;
  return lines;
}

/// Returns the seconds of an algorithm along a dimension; of lines that differ in length, the
/// slowest counts.
[[gnu::cold]] inline double seconds_along(const SuaraModel& model, SuaraPart part, int shortest,
                                          int longest, double m) noexcept {
  double seconds = 0;
  for (int n = shortest; n <= longest; ++n) {
    seconds = std::max(seconds, papcoll::seconds_along(model, part, n, m));
  }
  return seconds;
}

/// Where others have no row to run along, or none to fold, their first messages come early. Where
/// ports are shared, they delay a pair that meets them in the first or second round of a column:
/// measured in simulations, with Rabenseifner along columns.
[[gnu::cold]] inline double seconds_of_early(const SuaraModel& model, const SuaraLines& lines,
                                             double m) noexcept {
  constexpr std::array messages{0.0, 1.8, 1.2,
                                0.0};  // by the position of the last pair in its four
  if (!model.shared_ports) return 0;
  const double bytes = messages[static_cast<std::size_t>(lines.pairs % 4)] * m;
  return std::max(0.0, model.link.beta * bytes - 4 * model.link.alpha);
}

[[gnu::cold]] inline double seconds_of_gaps(const SuaraModel& model, const SuaraLines& lines,
                                            double m) noexcept {
  const HockneyWithGap& h = model.link;
  return lines.folds * (3 * h.alpha + 2 * h.beta * m + h.gamma * m / 2) +
         lines.hand_overs * h.message(m) + seconds_of_early(model, lines, m);
}

/// Segmented rings in all dimensions: blocks go through all of them, as many at once as the window.
[[gnu::cold]] inline double seconds_of_rings(const SuaraModel& model, const SuaraLines& lines,
                                             std::size_t dimensions, double m) noexcept {
  const HockneyWithGap& link = model.link;
  const HockneyWithGap& h = model.of(SuaraPart::segmented_ring);
  const auto shortest_of = [&lines](std::size_t d) {
    return d == 0 ? lines.shortest : lines.lengths[d];
  };
  int longest = lines.shortest;  // rows are cut by the shortest of them
  for (std::size_t d = 1; d < dimensions; ++d) longest = std::max(longest, lines.lengths[d]);
  const double block = longest * model.segment;
  const auto group = [&](double part, double together) {
    const double bytes = part * block;
    double seconds = lines.folds * together * (2 * link.port(bytes) + link.gamma * bytes / 2);
    for (std::size_t d = 0; d < dimensions; ++d) {
      const int p = lines.lengths[d];
      const double cuts = std::max(1.0, bytes / (p * model.segment));
      seconds += segments_around_ring(model, p, bytes / p / cuts, together * cuts);
      // The pieces that a dimension cuts a block into follow one another, and of what the further
      // ones wait, some shows: measured in simulations.
      const double pieces = math::ceil(bytes / (shortest_of(d) * model.segment));
      seconds += std::clamp(pieces - 1, 0.0, 2.0) * (p - 1) * 1.5 * h.alpha;
    }
    return seconds;
  };
  // What is handed on is hidden by other blocks' steps, but for the last one's.
  return 3 * lines.folds * link.alpha + lines.hand_overs * link.message(std::min(m, block)) +
         closed_form::window_by_window(m, block, model.pipeline_depth, group);
}

}  // namespace detail

/// Returns the seconds of a choice among p positions.
[[gnu::cold]] inline double seconds_of(const SuaraModel& model, const SuaraChoice& choice, int p,
                                       double m) noexcept {
  if (choice.dimensions == 1) return seconds_of(model, choice.parts[0], p, m);
  const detail::SuaraLines lines = detail::lines_of(p, choice);
  bool all_segmented = true;
  double seconds = detail::seconds_of_gaps(model, lines, m);
  for (std::size_t d = 0; d < choice.dimensions; ++d) {
    const int shortest = d == 0 ? lines.shortest : lines.lengths[d];
    seconds += detail::seconds_along(model, choice.parts[d], shortest, lines.lengths[d], m);
    all_segmented = all_segmented && choice.parts[d] == SuaraPart::segmented_ring;
  }
  return all_segmented ? detail::seconds_of_rings(model, lines, choice.dimensions, m) : seconds;
}

}  // namespace papcoll::inline PAPCOLL_ABI
