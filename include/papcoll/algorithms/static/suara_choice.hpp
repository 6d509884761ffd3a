// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/static/binomial.hpp>
#include <papcoll/algorithms/static/linear.hpp>
#include <papcoll/algorithms/static/pipelined.hpp>
#include <papcoll/algorithms/static/rabenseifner.hpp>
#include <papcoll/algorithms/static/recursive_doubling.hpp>
#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/algorithms/static/scatter_allgather.hpp>
#include <papcoll/algorithms/static/shapes.hpp>
#include <papcoll/algorithms/static/suara.hpp>
#include <papcoll/algorithms/static/suara_cost.hpp>
#include <papcoll/algorithms/static/then_bcast.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/topology/mapping/read_traffic.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

// The search for the best grid, and for what runs along each of its dimensions.

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// Calls f(c) with c's extents set to all grids, from dimension d down. n: the positions of the
/// longest block. `flat`: also those that have only one row, or only one column without gaps.
void each_grid(SuaraChoice& c, std::size_t d, int n, bool flat, const auto& f) {
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

/// Calls f for every grid of p positions, with both ways to fill gaps.
void each_grid(SuaraChoice c, int p, bool flat, const auto& f) {
  for (const bool folded : {false, true}) {
    c.folded = folded;
    each_grid(c, c.dimensions, p, flat, f);
  }
}

/// Looks for the best choice; costs of lines are computed once.
class SuaraSearch {
 public:
  SuaraSearch(const SuaraModel& model, int p, double m) : model_(model), p_(p), m_(m) {}

  [[gnu::cold]] SuaraChoice best(std::size_t most_dimensions) {
    SuaraChoice flat;
    flat.extents[0] = p_;
    flat.seconds = -1;
    for (const SuaraPart part : suara_parts) {
      if (!model_.commutative && !keeps_order(part)) continue;
      const double seconds = seconds_of(model_, part, p_, m_);
      if (flat.seconds < 0 || seconds < flat.seconds) flat.seconds = seconds, flat.parts[0] = part;
    }
    flat.flat = flat.seconds;
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
  [[gnu::cold]] const Line& line(const SuaraLines& lines, std::size_t d) {
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

  [[gnu::cold]] void examine(SuaraChoice& c) {
    const SuaraLines lines = lines_of(p_, c);
    const double gaps = seconds_of_gaps(model_, lines, m_);
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

  [[gnu::cold]] void take(const SuaraChoice& c, double seconds) {
    if (seconds >= best_.seconds) return;
    const double flat = best_.flat;
    best_ = c;
    best_.seconds = seconds;
    best_.flat = flat;
  }

  const SuaraModel& model_;
  int p_;
  double m_;
  Vector<Line> known_;
  SuaraChoice best_;
};

}  // namespace detail

/// The best of all grids of at most so many dimensions (up to 3), with and without gaps, and all
/// algorithms for each of them, by the corrected closed forms. All ranks find the same. A search
/// among P positions takes some P evaluations of each closed form for two dimensions , and some
/// P·log P sums for three.
[[gnu::cold]] inline SuaraChoice choose_suara(const SuaraModel& model, int p, double m,
                                              std::size_t most_dimensions = 2) {
  return detail::SuaraSearch{model, p, m}.best(most_dimensions);
}

/// Returns the best grid for given algorithms: `choice` has the number of dimensions and what runs
/// along them.
[[gnu::cold]] inline SuaraChoice choose_suara_grid(const SuaraModel& model,
                                                   const SuaraChoice& choice, int p, double m) {
  SuaraChoice best = choice;
  best.seconds = -1;
  detail::each_grid(choice, p, true, [&](SuaraChoice& c) {
    c.seconds = seconds_of(model, c, p, m);
    if (best.seconds < 0 || c.seconds < best.seconds) best = c;
  });
  return best;
}

}  // namespace papcoll::inline PAPCOLL_ABI

// What a Suara that runs needs: the algorithms that its choice knows, as schedules, and what the
// positions of a grid send each other.

namespace papcoll::inline PAPCOLL_ABI {

/// The extents, but the last, of a grid as square as can be.
inline std::vector<int> square_extents(int n, std::size_t dimensions) {
  const double root = math::pow(n, 1 / static_cast<double>(dimensions));
  return std::vector<int>(dimensions - 1, std::max(1, static_cast<int>(math::lround(root))));
}

namespace detail {

/// The schedule of one of SUARA's algorithms for p positions and m bytes.
template <class = void>
AnySchedule schedule_of_part(const SuaraModel& model, SuaraPart part, int p, double m) {
  switch (part) {
    case SuaraPart::linear: return AnySchedule::of<Linear>();
    case SuaraPart::nonoverlapping: {
      const ReduceAndBcast both = reduce_and_bcast(model, p, m);
      const bool tree = both.tree <= both.scattered;
      const bool tree_back = both.tree_back <= both.scattered_back;
      return AnyReduceThenBcast{
          tree ? AnySchedule::of<Binomial>() : AnySchedule::of<ReduceScatterGather>(),
          tree_back ? AnySchedule::of<Binomial>() : AnySchedule::of<ScatterAllgather>()};
    }
    case SuaraPart::recursive_doubling: return AnySchedule::of<RecursiveDoubling>();
    case SuaraPart::ring: return AnySchedule::of<Ring>();
    case SuaraPart::segmented_ring:
      return SegmentedRing{.segment_bytes = static_cast<std::size_t>(model.segment)};
    case SuaraPart::rabenseifner: return AnySchedule::of<Rabenseifner>();
  }
  return {};
}

/// Sets `part` to that of this name; false if there is none.
inline bool find_part(std::string_view name, SuaraPart& part) noexcept {
  constexpr std::array<std::string_view, suara_part_count> names{
      Linear::name, AnyReduceThenBcast::name, RecursiveDoubling::name,
      Ring::name,   SegmentedRing::name,      Rabenseifner::name};
  for (std::size_t i = 0; i < names.size(); ++i) {
    part = suara_parts[i];
    if (names[i] == name) return true;
  }
  return false;
}

template <class> AnySuara on_best_grid(AnySuara s, int p, std::size_t bytes) {
  SuaraChoice c;
  c.dimensions = s.along.size();
  bool known = c.dimensions <= SuaraChoice::most;
  for (std::size_t d = 0; known && d < c.dimensions; ++d) {
    known = s.along[d] && find_part(s.along[d].base_name(), c.parts[d]);
  }
  s.extents = square_extents(p, c.dimensions);
  s.folded = false;
  if (!known) return s;
  c = choose_suara_grid(SuaraModel{}, c, p, static_cast<double>(bytes));
  s.extents.assign(c.extents.data(), c.extents.data() + c.dimensions);
  s.folded = c.folded;
  return s;
}

}  // namespace detail

/// The schedule that a choice among p positions for m bytes stands for; a flat one if it has one
/// dimension.
template <class = void>
AnySchedule schedule_of(const SuaraModel& model, const SuaraChoice& choice, int p, double m) {
  const detail::SuaraLines lines = detail::lines_of(p, choice);
  AnySuara s;
  s.folded = choice.folded;
  for (std::size_t d = 0; d < choice.dimensions; ++d) {
    s.along.push_back(detail::schedule_of_part(model, choice.parts[d], lines.lengths[d], m));
    s.extents.push_back(d == 0 ? lines.lengths[0] : choice.extents[d]);
  }
  if (choice.dimensions == 1) return s.along.front();
  const auto fewer = std::span<const int>{s.extents}.first(choice.dimensions - 1);
  if (rows_of_grid(p, fewer, choice.dimensions) == s.extents.back()) s.extents.pop_back();
  return s;
}

namespace detail {

template <class> AnySchedule chosen_suara(int p, double m) {
  const SuaraModel model;
  return schedule_of(model, choose_suara(model, p, m), p, m);
}

/// What add_grid_traffic() adds.
template <class> class GridTraffic {
 public:
  GridTraffic(Traffic& traffic, std::span<const AnySchedule> along, bool folded)
      : traffic_(traffic), along_(along), folded_(folded) {}

  void add(std::span<const int> extents) {
    std::vector<int> all(static_cast<std::size_t>(traffic_.size()));
    std::iota(all.begin(), all.end(), 0);
    add_grid(all, extents, along_.size());
  }

 private:
  [[gnu::cold]] void add_grid(std::span<const int> members, std::span<const int> extents,
                              std::size_t dimensions) {
    if (dimensions == 1) return add_line(0, members);
    const int n = static_cast<int>(members.size());
    const auto grid = UnevenGrid::of(n, rows_of_grid(n, extents, dimensions));
    if (!folded_ || grid.extras == 0) return add_rows(members, grid, extents, dimensions);
    const Fold fold{n, grid.rows * grid.columns};
    std::vector<int> core;
    core.reserve(static_cast<std::size_t>(fold.core()));
    for (int v = 0; v < fold.core(); ++v) core.push_back(member(members, fold.first(v)));
    for (int i = 0; i < fold.pairs(); ++i) {  // by halves, and back
      traffic_.add(member(members, 2 * i + 1), member(members, 2 * i), 1);
      traffic_.add(member(members, 2 * i), member(members, 2 * i + 1), 1.5);
    }
    add_rows(core, {grid.rows, grid.columns, 0}, extents, dimensions);
  }

  [[gnu::cold]] void add_rows(std::span<const int> members, const UnevenGrid& grid,
                              std::span<const int> extents, std::size_t dimensions) {
    const std::size_t inner = dimensions - 1;
    for (int row = 0; row < grid.rows; ++row) {
      const auto first = static_cast<std::size_t>(grid.begin(row));
      const auto length = static_cast<std::size_t>(grid.length(row));
      const auto mine = members.subspan(first, length);
      add_grid(mine, extents.first(std::min(inner, extents.size())), inner);
      const int parts = grid.length(row) > grid.columns ? std::min(grid.columns, 4) : 0;
      for (int i = 0; i < parts; ++i) {  // to the position behind the last column
        traffic_.add(member(mine, i), mine.back(), 1.0 / parts);
      }
    }
    std::vector<int> line(static_cast<std::size_t>(grid.rows));
    for (int column = 0; column < grid.columns; ++column) {
      for (int row = 0; row < grid.rows; ++row) {
        line[static_cast<std::size_t>(row)] = member(members, grid.begin(row) + column);
      }
      add_line(inner, line);
    }
  }

  [[gnu::cold]] void add_line(std::size_t dimension, std::span<const int> members) {
    const int n = static_cast<int>(members.size());
    const Line* known = nullptr;
    for (const Line& line : lines_) {
      if (line.dimension == dimension && line.length == n) known = &line;
    }
    if (known == nullptr) {
      const std::size_t before = arcs_.size();
      if (const auto t = traffic_of(along_[dimension], Collective::allreduce, n)) {
        arcs_.append(t->arcs().data(), t->arcs().size());
      }
      lines_.push_back({dimension, n, before, arcs_.size() - before});
      known = &lines_.back();
    }
    for (const Traffic::Arc& a : std::span{arcs_.data() + known->first_arc, known->arcs}) {
      traffic_.add(member(members, a.from), member(members, a.to), static_cast<double>(a.share));
    }
  }

  static int member(std::span<const int> members, int i) noexcept {
    return members[static_cast<std::size_t>(i)];
  }

  struct Line {
    std::size_t dimension;
    int length;
    std::size_t first_arc;
    std::size_t arcs;
  };

  Traffic& traffic_;
  std::span<const AnySchedule> along_;
  bool folded_;
  Vector<Line> lines_;  ///< one of each dimension and length
  Vector<Traffic::Arc> arcs_;
};

template <class Lazy>
[[gnu::cold]] void add_grid_traffic(Traffic& traffic, std::span<const int> extents,
                                    std::span<const AnySchedule> along, bool folded) {
  GridTraffic<Lazy>{traffic, along, folded}.add(extents);
}
PAPCOLL_COMPILE_ONCE(void add_grid_traffic<>(Traffic&, std::span<const int>,
                                             std::span<const AnySchedule>, bool))
PAPCOLL_COMPILE_ONCE(AnySuara on_best_grid<>(AnySuara, int, std::size_t))
PAPCOLL_COMPILE_ONCE(AnySchedule chosen_suara<>(int, double))

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI
