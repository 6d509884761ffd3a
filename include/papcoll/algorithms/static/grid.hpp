#pragma once

#include <papcoll/algorithms/static/fold.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>
#include <span>

namespace papcoll::inline PAPCOLL_ABI {

/// n positions as rows of neighbours, as even as possible: the first `extras` rows have one
/// position more than there are columns.
///
///     n = 11, 3 rows:      0  1  2 | 3        3 columns, 2 extras (3 and 7)
///                          4  5  6 | 7
///                          8  9 10
struct UnevenGrid {
  int rows;
  int columns;
  int extras;

  static constexpr UnevenGrid of(int n, int rows) noexcept {
    const int columns = n / rows;
    return {rows, columns, n - rows * columns};
  }

  constexpr int begin(int row) const noexcept { return row * columns + std::min(row, extras); }
  constexpr int length(int row) const noexcept { return columns + (row < extras ? 1 : 0); }
  constexpr int row_of(int p) const noexcept {
    const int longer = extras * (columns + 1);
    return p < longer ? p / (columns + 1) : extras + (p - longer) / columns;
  }
};

/// How many rows so many positions make where the grid's extents are given, all or all but the last
/// one, and there are `dimensions` of them.
constexpr int rows_of_grid(int n, std::span<const int> extents, std::size_t dimensions) noexcept {
  if (extents.size() >= dimensions) return std::clamp(extents[dimensions - 1], 1, n);
  long long block = 1;
  for (const int e : extents) block = std::min<long long>(block * std::max(e, 1), n);
  return static_cast<int>(n / block);
}

namespace detail {

[[gnu::cold]] inline void emit_grid(auto& b, std::span<const int> extents,
                                    std::span<const AnySchedule> along, bool folded);

/// Hands the result to the position behind the last column, in parts from several of its row, which
/// may have them at different times.
[[gnu::cold]] inline void serve_extra(auto& row, int columns) {
  constexpr int most = 4;
  const int parts = std::min(columns, most);
  const int me = row.position();
  for (int i = 0; i < parts; ++i) {
    const Range r = part(row.whole(), i, parts);
    if (me == i) row.send(columns, r);
    if (me == columns) row.receive(i, r);
  }
}

[[gnu::cold]] inline void emit_rows(auto& b, const UnevenGrid& grid, std::span<const int> extents,
                                    std::span<const AnySchedule> along, bool folded) {
  const int row = grid.row_of(b.position());
  const int column = b.position() - grid.begin(row);
  Builder mine = b.among(grid.begin(row), 1, grid.length(row));
  const std::size_t inner = along.size() - 1;
  emit_grid(mine, extents.first(std::min(inner, extents.size())), along.first(inner), folded);
  b.end_round();
  if (column < grid.columns) {
    Builder line = b.among(grid.rows, [&](int i) { return grid.begin(i) + column; });
    along[inner].emit(Collective::allreduce, line);
  }
  if (grid.length(row) > grid.columns) serve_extra(mine, grid.columns);
}

/// Allreduce along one dimension of a grid after the other. `extents`: as in rows_of_grid();
/// `folded`: positions that the grid has no place for are folded with neighbours, else rows differ
/// in length by one.
[[gnu::cold]] inline void emit_grid(auto& b, std::span<const int> extents,
                                    std::span<const AnySchedule> along, bool folded) {
  if (along.size() == 1) return along[0].emit(Collective::allreduce, b);
  const auto grid = UnevenGrid::of(b.size(), rows_of_grid(b.size(), extents, along.size()));
  if (!folded || grid.extras == 0) return emit_rows(b, grid, extents, along, folded);
  const Fold fold{b.size(), grid.rows * grid.columns};
  fold_halves(b, fold);
  if (!fold.folded_away(b.position())) {
    Builder core = core_of(b, fold);
    emit_rows(core, {grid.rows, grid.columns, 0}, extents, along, folded);
  }
  unfold(b, fold);
}

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
