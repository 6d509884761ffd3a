#pragma once

#include <papcoll/algorithms/static/fold.hpp>
#include <papcoll/algorithms/static/grid.hpp>
#include <papcoll/algorithms/static/suara.hpp>
#include <papcoll/base/trivial_vector.hpp>
#include <papcoll/mapping/read_traffic.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>
#include <span>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// What tell_grid_traffic() tells.
template <class>
class GridTraffic {
 public:
  GridTraffic(Traffic& traffic, std::span<const AnySchedule> along, bool folded)
      : traffic_(traffic), along_(along), folded_(folded) {}

  void tell(std::span<const int> extents) {
    std::vector<int> all;
    for (int p = 0; p < traffic_.size(); ++p) all.push_back(p);
    tell_grid(all, extents, along_.size());
  }

 private:
  void tell_grid(std::span<const int> members, std::span<const int> extents,
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

  void tell_rows(std::span<const int> members, const UnevenGrid& grid, std::span<const int> extents,
                 std::size_t dimensions) {
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

  void tell_line(std::size_t dimension, std::span<const int> members) {
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
  TrivialVector<Line> lines_;  ///< one of each dimension and length
  TrivialVector<Traffic::Arc> arcs_;
};

template <class Lazy>
void tell_grid_traffic(Traffic& traffic, std::span<const int> extents,
                       std::span<const AnySchedule> along, bool folded) {
  GridTraffic<Lazy>{traffic, along, folded}.tell(extents);
}
PAPCOLL_COMPILE_ONCE(void tell_grid_traffic<>(Traffic&, std::span<const int>,
                                              std::span<const AnySchedule>, bool))

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
