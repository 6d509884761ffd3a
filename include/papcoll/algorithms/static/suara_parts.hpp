#pragma once

#include <papcoll/algorithms/static/binomial.hpp>
#include <papcoll/algorithms/static/fold.hpp>
#include <papcoll/algorithms/static/grid.hpp>
#include <papcoll/algorithms/static/linear.hpp>
#include <papcoll/algorithms/static/rabenseifner.hpp>
#include <papcoll/algorithms/static/recursive_doubling.hpp>
#include <papcoll/algorithms/static/reduce_scatter_gather.hpp>
#include <papcoll/algorithms/static/reduce_then_bcast.hpp>
#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/algorithms/static/scatter_allgather.hpp>
#include <papcoll/algorithms/static/segmented_ring.hpp>
#include <papcoll/algorithms/static/suara.hpp>
#include <papcoll/algorithms/static/suara_choice.hpp>
#include <papcoll/base/math.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/topology/mapping/read_traffic.hpp>

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

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
    case SuaraPart::linear:
      return AnySchedule::of<Linear>();
    case SuaraPart::nonoverlapping: {
      const ReduceAndBcast both = reduce_and_bcast(model, p, m);
      const bool tree = both.tree <= both.scattered;
      const bool tree_back = both.tree_back <= both.scattered_back;
      return AnyReduceThenBcast{
          tree ? AnySchedule::of<Binomial>() : AnySchedule::of<ReduceScatterGather>(),
          tree_back ? AnySchedule::of<Binomial>() : AnySchedule::of<ScatterAllgather>()};
    }
    case SuaraPart::recursive_doubling:
      return AnySchedule::of<RecursiveDoubling>();
    case SuaraPart::ring:
      return AnySchedule::of<Ring>();
    case SuaraPart::segmented_ring:
      return SegmentedRing{.segment_bytes = static_cast<std::size_t>(model.segment)};
    case SuaraPart::rabenseifner:
      return AnySchedule::of<Rabenseifner>();
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

template <class>
AnySuara on_best_grid(AnySuara s, int p, std::size_t bytes) {
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

template <class>
AnySchedule chosen_suara(int p, double m) {
  const SuaraModel model;
  return schedule_of(model, choose_suara(model, p, m), p, m);
}

/// What tell_grid_traffic() tells.
template <class>
class GridTraffic {
 public:
  GridTraffic(Traffic& traffic, std::span<const AnySchedule> along, bool folded)
      : traffic_(traffic), along_(along), folded_(folded) {}

  void tell(std::span<const int> extents) {
    std::vector<int> all(static_cast<std::size_t>(traffic_.size()));
    std::iota(all.begin(), all.end(), 0);
    tell_grid(all, extents, along_.size());
  }

 private:
  [[gnu::cold]] void tell_grid(std::span<const int> members, std::span<const int> extents,
                               std::size_t dimensions) {
    if (dimensions == 1) return tell_line(0, members);
    const int n = static_cast<int>(members.size());
    const auto grid = UnevenGrid::of(n, rows_of_grid(n, extents, dimensions));
    if (!folded_ || grid.extras == 0) return tell_rows(members, grid, extents, dimensions);
    const Fold fold{n, grid.rows * grid.columns};
    std::vector<int> core;
    core.reserve(static_cast<std::size_t>(fold.core()));
    for (int v = 0; v < fold.core(); ++v) core.push_back(member(members, fold.first(v)));
    for (int i = 0; i < fold.pairs(); ++i) {  // by halves, and back
      traffic_.add(member(members, 2 * i + 1), member(members, 2 * i), 1);
      traffic_.add(member(members, 2 * i), member(members, 2 * i + 1), 1.5);
    }
    tell_rows(core, {grid.rows, grid.columns, 0}, extents, dimensions);
  }

  [[gnu::cold]] void tell_rows(std::span<const int> members, const UnevenGrid& grid,
                               std::span<const int> extents, std::size_t dimensions) {
    const std::size_t inner = dimensions - 1;
    for (int row = 0; row < grid.rows; ++row) {
      const auto first = static_cast<std::size_t>(grid.begin(row));
      const auto length = static_cast<std::size_t>(grid.length(row));
      const auto mine = members.subspan(first, length);
      tell_grid(mine, extents.first(std::min(inner, extents.size())), inner);
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
      tell_line(inner, line);
    }
  }

  [[gnu::cold]] void tell_line(std::size_t dimension, std::span<const int> members) {
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
[[gnu::cold]] void tell_grid_traffic(Traffic& traffic, std::span<const int> extents,
                                     std::span<const AnySchedule> along, bool folded) {
  GridTraffic<Lazy>{traffic, along, folded}.tell(extents);
}
PAPCOLL_COMPILE_ONCE(void tell_grid_traffic<>(Traffic&, std::span<const int>,
                                              std::span<const AnySchedule>, bool))
PAPCOLL_COMPILE_ONCE(AnySuara on_best_grid<>(AnySuara, int, std::size_t))
PAPCOLL_COMPILE_ONCE(AnySchedule chosen_suara<>(int, double))

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI
