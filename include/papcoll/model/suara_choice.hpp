#pragma once

#include <papcoll/config.hpp>
#include <papcoll/model/closed_forms.hpp>
#include <papcoll/model/hockney.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

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

/// May the part be used for an operator that does not commute?
constexpr bool keeps_order(SuaraPart part) noexcept {
  return part != SuaraPart::ring && part != SuaraPart::segmented_ring;
}

/// What its choice goes by: a machine as each algorithm sees it, in the order of SuaraPart.
struct SuaraModel {
  std::array<HockneyWithGap, suara_part_count> machine{};
  HockneyWithGap link{};   ///< of the messages that fill a grid's gaps
  double segment = 8192;   ///< bytes, of segmented rings
  std::size_t window = 4;  ///< blocks in flight, see Options::window
  bool commutative = true;

  SuaraModel() = default;
  /// The same for all of them.
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

  friend bool operator==(const SuaraChoice&, const SuaraChoice&) = default;
};

/// What one of the algorithms costs among p positions, alone. `window`: of segmented rings.
inline double seconds_of(const SuaraModel& model, SuaraPart part, int p, double m,
                         std::size_t window) noexcept {
  const HockneyWithGap& h = model.of(part);
  switch (part) {
    case SuaraPart::linear:
      return closed_form::linear_allreduce(h, p, m);
    case SuaraPart::nonoverlapping:
      return closed_form::nonoverlapping_allreduce(h, p, m);
    case SuaraPart::recursive_doubling:
      return closed_form::recursive_doubling_allreduce(h, p, m);
    case SuaraPart::ring:
      return closed_form::ring_allreduce(h, p, m);
    case SuaraPart::segmented_ring:
      return closed_form::segmented_ring_allreduce(h, p, m, model.segment, window);
    case SuaraPart::rabenseifner:
      return closed_form::rabenseifner_allreduce(h, p, m);
  }
  return 0;
}

/// The same along a dimension of a grid that is not all segmented rings: no block is cut there, and
/// steps are held apart, so that a segmented ring runs block by block, but for two positions.
inline double seconds_along(const SuaraModel& model, SuaraPart part, int p, double m) noexcept {
  return seconds_of(model, part, p, m, p == 2 ? closed_form::detail::no_window : 1);
}

namespace detail {

/// The lines of a grid: how many positions are in those of each dimension, and what its gaps cost,
/// in whole vectors that are folded or handed on.
struct SuaraLines {
  std::array<int, SuaraChoice::most> lengths{};  ///< the longest
  int shortest = 1;                              ///< of the rows, which may differ
  int folds = 0;
  int hand_overs = 0;
};

inline SuaraLines lines_of(int p, const SuaraChoice& c) noexcept {
  SuaraLines lines;
  int least = p;
  int most = p;
  for (std::size_t d = c.dimensions; d > 1; --d) {
    const int rows = std::clamp(c.extents[d - 1], 1, least);
    const bool gaps = least % rows != 0 || most % rows != 0;
    lines.lengths[d - 1] = rows;
    lines.folds += gaps && c.folded ? 1 : 0;
    lines.hand_overs += gaps && !c.folded ? 1 : 0;
    least /= rows;
    most = c.folded ? most / rows : (most + rows - 1) / rows;
  }
  lines.lengths[0] = most;
  lines.shortest = least;
  return lines;
}

/// What an algorithm costs along a dimension; of lines that differ in length, the slowest counts.
inline double seconds_along(const SuaraModel& model, SuaraPart part, int shortest, int longest,
                            double m) noexcept {
  double seconds = 0;
  for (int n = shortest; n <= longest; ++n) {
    seconds = std::max(seconds, papcoll::seconds_along(model, part, n, m));
  }
  return seconds;
}

inline double seconds_of_gaps(const HockneyWithGap& h, const SuaraLines& lines, double m) noexcept {
  return lines.folds * (3 * h.alpha + 2 * h.beta * m + h.gamma * m / 2) +
         lines.hand_overs * h.message(m);
}

/// Segmented rings in all dimensions: blocks go through all of them, as many at once as the window.
inline double seconds_of_rings(const SuaraModel& model, const SuaraLines& lines,
                               std::size_t dimensions, double m) noexcept {
  const HockneyWithGap& h = model.of(SuaraPart::segmented_ring);
  int longest = 1;
  for (std::size_t d = 0; d < dimensions; ++d) longest = std::max(longest, lines.lengths[d]);
  const double block = longest * model.segment;
  const auto group = [&](double part, double together) {
    const double bytes = part * block;
    const HockneyWithGap& link = model.link;
    double seconds = lines.folds * together * (2 * link.port(bytes) + link.gamma * bytes / 2);
    for (std::size_t d = 0; d < dimensions; ++d) {
      const int p = lines.lengths[d];
      const double cuts = std::max(1.0, bytes / (p * model.segment));
      seconds += closed_form::segments_around_ring(h, p, bytes / p / cuts, together * cuts);
    }
    return seconds;
  };
  // What is handed on is hidden by other blocks' steps, but for the last one's.
  return lines.hand_overs * model.link.message(std::min(m, block)) +
         closed_form::window_by_window(m, block, model.window, group);
}

}  // namespace detail

/// What a choice costs among p positions.
inline double seconds_of(const SuaraModel& model, const SuaraChoice& choice, int p,
                         double m) noexcept {
  if (choice.dimensions == 1) return seconds_of(model, choice.parts[0], p, m, model.window);
  const detail::SuaraLines lines = detail::lines_of(p, choice);
  bool all_segmented = true;
  double seconds = detail::seconds_of_gaps(model.link, lines, m);
  for (std::size_t d = 0; d < choice.dimensions; ++d) {
    const int shortest = d == 0 ? lines.shortest : lines.lengths[d];
    seconds += detail::seconds_along(model, choice.parts[d], shortest, lines.lengths[d], m);
    all_segmented = all_segmented && choice.parts[d] == SuaraPart::segmented_ring;
  }
  return all_segmented ? detail::seconds_of_rings(model, lines, choice.dimensions, m) : seconds;
}

namespace detail {

/// Calls f(c) with c's extents set to all grids, from dimension d down. n: the positions of the
/// longest block. `flat`: also those that have only one row, or only one column without gaps.
template <class F>
void each_grid(SuaraChoice& c, std::size_t d, int n, bool flat, const F& f) {
  if (d == 1) {
    c.extents[0] = n;
    return f(c);
  }
  const int last = flat ? n : n - 1;
  for (int rows = flat ? 1 : 2; rows <= last; ++rows) {
    const int columns = n / rows;
    const bool longer = rows * columns != n && !c.folded;
    c.extents[d - 1] = rows;
    each_grid(c, d - 1, columns + (longer ? 1 : 0), flat, f);
  }
}

/// The same for both ways to fill gaps.
template <class F>
void each_grid(SuaraChoice c, int p, bool flat, const F& f) {
  for (const bool folded : {false, true}) {
    c.folded = folded;
    each_grid(c, c.dimensions, p, flat, f);
  }
}

/// Looks for the best choice; costs of lines are computed once.
class SuaraSearch {
 public:
  SuaraSearch(const SuaraModel& model, int p, double m) : model_(model), p_(p), m_(m) {}

  SuaraChoice best(std::size_t most_dimensions) {
    SuaraChoice flat;
    flat.extents[0] = p_;
    flat.seconds = -1;
    for (const SuaraPart part : suara_parts) {
      if (!model_.commutative && !keeps_order(part)) continue;
      const double seconds = seconds_of(model_, part, p_, m_, model_.window);
      if (flat.seconds < 0 || seconds < flat.seconds) flat.seconds = seconds, flat.parts[0] = part;
    }
    best_ = flat;
    if (most_dimensions > 1) known_.resize(lengths * (static_cast<std::size_t>(p_) + 1));
    for (std::size_t d = 2; d <= std::min(most_dimensions, SuaraChoice::most); ++d) {
      SuaraChoice c;
      c.dimensions = d;
      each_grid(c, p_, false, [this](SuaraChoice& one) { examine(one); });
    }
    return best_;
  }

 private:
  struct Line {
    SuaraPart part{};
    double seconds = -1;
    SuaraPart other{};  ///< the best but segmented rings
    double other_seconds = -1;
  };

  /// How many lengths the rows of one grid may have: blocks differ by one, and their rows.
  static constexpr std::size_t lengths = 3;

  /// The best algorithms along dimension d.
  const Line& line(const SuaraLines& lines, std::size_t d) {
    const int longest = lines.lengths[d];
    const int shortest = d == 0 ? lines.shortest : longest;
    Line& known = known_[lengths * static_cast<std::size_t>(longest) +
                         static_cast<std::size_t>(longest - shortest)];
    if (known.seconds >= 0) return known;
    const auto better = [](double a, double b) { return b < 0 || a < b; };
    for (const SuaraPart part : suara_parts) {
      if (!model_.commutative && !keeps_order(part)) continue;
      const double seconds = detail::seconds_along(model_, part, shortest, longest, m_);
      if (better(seconds, known.seconds)) known.part = part, known.seconds = seconds;
      if (part == SuaraPart::segmented_ring) continue;
      if (better(seconds, known.other_seconds)) known.other = part, known.other_seconds = seconds;
    }
    return known;
  }

  void examine(SuaraChoice& c) {
    const SuaraLines lines = lines_of(p_, c);
    const double gaps = seconds_of_gaps(model_.link, lines, m_);
    double seconds = gaps;
    bool all_segmented = true;
    for (std::size_t d = 0; d < c.dimensions; ++d) {
      const Line& l = line(lines, d);
      c.parts[d] = l.part;
      seconds += l.seconds;
      all_segmented = all_segmented && l.part == SuaraPart::segmented_ring;
    }
    if (!all_segmented) {
      take(c, seconds);
    } else {  // which is a case of its own: see below
      for (std::size_t d = 0; d < c.dimensions; ++d) {
        const Line& l = line(lines, d);
        c.parts[d] = l.other;
        take(c, seconds - l.seconds + l.other_seconds);
        c.parts[d] = l.part;
      }
    }
    if (!model_.commutative) return;
    c.parts.fill(SuaraPart::segmented_ring);
    take(c, seconds_of_rings(model_, lines, c.dimensions, m_));
  }

  void take(const SuaraChoice& c, double seconds) {
    if (seconds >= best_.seconds) return;
    best_ = c;
    best_.seconds = seconds;
  }

  const SuaraModel& model_;
  int p_;
  double m_;
  std::vector<Line> known_;
  SuaraChoice best_;
};

}  // namespace detail

/// The best of all grids of at most so many dimensions (up to 3), with and without gaps, and all
/// algorithms for each of them, by the corrected closed forms. All ranks find the same. A search
/// among P positions takes some P evaluations of each closed form for two dimensions (16 µs for 64
/// positions, 0.25 ms for 1,000), and some P·log P sums for three.
inline SuaraChoice choose_suara(const SuaraModel& model, int p, double m,
                                std::size_t most_dimensions = 2) {
  return detail::SuaraSearch{model, p, m}.best(most_dimensions);
}

/// The best grid for given algorithms: `choice` says how many dimensions and what runs along them.
inline SuaraChoice choose_suara_grid(const SuaraModel& model, const SuaraChoice& choice, int p,
                                     double m) {
  SuaraChoice best = choice;
  best.seconds = -1;
  detail::each_grid(choice, p, true, [&](SuaraChoice& c) {
    c.seconds = seconds_of(model, c, p, m);
    if (best.seconds < 0 || c.seconds < best.seconds) best = c;
  });
  return best;
}

}  // namespace papcoll::inline PAPCOLL_ABI
