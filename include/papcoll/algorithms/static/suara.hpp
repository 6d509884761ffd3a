// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/static/schedule_parameters.hpp>
#include <papcoll/algorithms/static/shapes.hpp>
#include <papcoll/algorithms/static/then_bcast.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>
#include <span>
#include <tuple>
#include <vector>

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

/// Returns how many rows so many positions make where the grid's extents are given, all or all but
/// the last one, and there are `dimensions` of them.
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

struct AnySuara;

namespace detail {

// In suara_choice.hpp. Templates, so that a file compiles them only for a Suara that it runs.

/// Suara's algorithms on the grid that the closed forms rate best, or on one as square as possible.
template <class = void> AnySuara on_best_grid(AnySuara s, int p, std::size_t bytes);

/// Returns the schedule that Suara alone stands for, for m bytes among p positions, by the
/// published network.
template <class = void> AnySchedule chosen_suara(int p, double m);

/// Tells what emit_grid() sends.
template <class = void>
void add_grid_traffic(Traffic& traffic, std::span<const int> extents,
                      std::span<const AnySchedule> along, bool folded);

/// "4x8", without those that are left out.
inline std::string extents_text(std::span<const int> extents) {
  std::string text;
  for (const int e : extents) {
    if (e != 0) text.append(text.empty() ? "" : "x").append(std::to_string(e));
  }
  return text;
}

}  // namespace detail

/// Allreduce in L ≥ 2 steps over an L-dimensional grid of the positions: in step i every position
/// takes part in an allreduce of the whole vector along dimension i, all lines in parallel.
///
/// Phases: those of each step; where all dimensions pipeline, different blocks' steps overlap.
/// Cost: the sum of what each dimension's allreduce costs among its extent. On an R × C grid two
///   rings take 2(R + C − 2)α rather than 2(RC − 1)α, for nearly twice the data: about 4βm and 2γm.
/// Prefer it where P is large and m/P small, so that a flat ring waits for latencies, and
///   Rabenseifner does not suit, because P is no power of two or its long distances are dear:
///   choose_suara() in algorithms/static/suara_choice.hpp says by the closed forms what is best.
/// Limits: L times the data of a flat Ring: long vectors on few positions want that. Works for
///   operators that do not commute if all its dimensions do: rows are neighbours.
///
///     Suara<Ring, Ring>{{3}}, P = 6          0      1      2          3      4      5
///                                            a      b      c          d      e      f
///     along rows, {0 1 2} and {3 4 5}        abc    abc    abc        def    def    def
///     along columns, {0 3} {1 4} {2 5}       a–f    a–f    a–f        a–f    a–f    a–f
///
/// `extents` are the lengths of the dimensions, the inmost first. The last may be left out (0): as
/// many rows as P has of at least that length (20 positions in rows of 8 are two rows of 10). If it
/// is given it alone says how many rows there are, and the others follow from P. All left out: the
/// best by the closed forms with the published parameters, messages under way sharing their ports,
/// from P and the bytes of the call alone; for other algorithms than SuaraPart names, a grid as
/// square as can be.
///
/// Any number of positions: where P has no such factors, rows differ in length by one, and the
/// position behind the last column of a longer row gets the result from its neighbours at the end;
/// or, `folded`, such positions give their vectors to neighbours before, and get the result after,
/// which is cheaper where rows of a power of two are.
///
/// Names: Suara:Ring,Rabenseifner,8 has rows of 8 or more, Suara:Ring,Ring,Ring,4x8 blocks of
/// 4 × 8, Suara:Ring,Rabenseifner,16x64,folded 64 rows; Suara alone chooses the algorithms, too.
///
/// Source: Nuriyev, Manumachu, Aseeri, Verma, Lastovetsky, "SUARA: A scalable universal allreduce
/// communication algorithm", JPDC 183, 2024, where P = R·C; the gaps are ours.
///
/// Suara<Ring, Rabenseifner> is a policy, Suara<Ring, Rabenseifner>{{16, 64}, true} is folded and
/// for papcoll::algorithm(). AnySuara is the same of schedules that are known at run time; without
/// any, it chooses them, too. emit() throws argument_error if one of them serves no allreduce.
struct AnySuara {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "Suara";
  static constexpr std::string_view sentence =
      "An allreduce along each dimension of a grid, one after the other.";
  static constexpr std::array parameters{
      Parameter{"along rows", "", 0, "a schedule that serves allreduce"},
      Parameter{"along columns", "", 0, "another one, and so on"},
      Parameter{"extents", "", 1,
                "the least length of a row, or of more dimensions: 4x8; then folded"}};

  std::vector<AnySchedule> along;  ///< the schedule along each dimension; empty: all are chosen
  std::vector<int> extents;        ///< lengths of the dimensions; empty: chosen
  bool folded = false;             ///< positions beyond the grid give theirs to neighbours first

  template <class = void> bool commutative_only() const {
    for (const AnySchedule& s : along) {
      if (s && s.commutative_only()) return true;
    }
    return along.empty();
  }

  template <class = void> std::string arguments() const {
    std::string text;
    for (const AnySchedule& s : along) add_argument(text, s ? s.name() : "");
    const std::string lengths = detail::extents_text(extents);
    if (!lengths.empty()) add_argument(text, lengths);
    if (folded) add_argument(text, "folded");
    return text;
  }

  /// Where every dimension pipelines, the longest of the blocks they pipeline in; else each cuts
  /// for itself.
  template <class = void> std::size_t segment(int size, std::size_t element_size) const {
    if (extents.empty() || extents.front() == 0) return 0;
    std::size_t longest = 0;
    int n = size;
    for (std::size_t d = along.size(); d-- > 0;) {
      const auto given = std::span{extents}.first(std::min(d + 1, extents.size()));
      const int rows = d == 0 ? n : rows_of_grid(n, given, d + 1);
      const std::size_t one = along[d] ? along[d].segment(rows, element_size) : 0;
      if (one == 0) return 0;
      longest = std::max(longest, one);
      n /= rows;
    }
    return longest;
  }

  /// One dimension after the other: a position that began the next one with what it has already
  /// would hold up those who still wait for it in this one.
  void emit(Allreduce, auto& b) const {
    const std::size_t bytes = b.whole().size() * b.element_size();
    if (along.empty()) return resolved(b.size(), bytes).emit(Collective::allreduce, b);
    require_parts();
    const AnySuara grid = on_grid(b.size(), bytes);
    Builder steps = b.flow(2);
    detail::emit_grid(steps, grid.extents, grid.along, grid.folded);
  }

  /// The choice, or the same schedules on the grid that was chosen for them.
  template <class = void> AnySchedule resolved(int size, std::size_t bytes) const {
    if (!along.empty()) return on_grid(size, bytes);
    if (!extents.empty() || folded) {
      detail::throw_error<argument_error>(
          {"papcoll: Suara has extents of a grid, or 'folded', and no schedules: give one for each "
           "dimension, or leave them out and it chooses the grid, too"});
    }
    return detail::chosen_suara(size, static_cast<double>(bytes));
  }

  /// The traffic of the grid that was chosen or given.
  template <class = void> void traffic(Collective /*c*/, auto& t) const {
    if (extents.empty()) return;
    require_parts();
    detail::add_grid_traffic(t, extents, along, folded);
  }

  friend bool operator==(const AnySuara&, const AnySuara&) = default;

 private:
  template <class = void> AnySuara on_grid(int size, std::size_t bytes) const {
    return extents.empty() ? detail::on_best_grid(*this, size, bytes) : *this;
  }

  template <class = void> void require_parts() const {
    for (const AnySchedule& part : along) {
      detail::require_part(part, Collective::allreduce,
                           "Suara needs schedules that serve allreduce along its dimensions");
    }
  }
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<AnySuara>() noexcept)

/// Suara of schedules that are known as types.
template <class... Dims> struct Suara {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = AnySuara::name;
  static constexpr std::string_view sentence = AnySuara::sentence;
  static constexpr bool commutative_only =
      (detail::commutative_only_of(detail::PartServing<Dims, Allreduce>{}) || ...);
  static constexpr std::size_t dimensions = sizeof...(Dims);  ///< of the grid

  /// Lengths of the dimensions, the inmost first; 0: left out.
  std::array<int, dimensions> extents{};
  bool folded = false;  ///< positions beyond the grid give theirs to neighbours first
  /// The schedule along each dimension, the inmost first.
  std::tuple<detail::PartServing<Dims, Allreduce>...> along{};

  AnySuara at_run_time() const {
    static_assert(
        sizeof...(Dims) >= 2,
        "papcoll: Suara needs a schedule for each of two or more dimensions: write "
        "Suara<Ring, Rabenseifner>, or papcoll::algorithm(Suara<Ring, Rabenseifner>{{8}}) "
        "for rows of 8, or AnySuara, which chooses the schedules, too");
    static_assert((detail::part_serves<Dims, Allreduce> && ...),
                  "papcoll: Suara runs an allreduce along each dimension of its grid, and one of "
                  "these is no static schedule that serves it: take Ring, Rabenseifner, "
                  "RecursiveDoubling or another that docs/policies.md shows for allreduce");
    AnySuara s{{}, {extents.begin(), extents.end()}, folded};
    std::apply([&s](const auto&... part) { (s.along.emplace_back(part), ...); }, along);
    if (!extents.empty() && extents.back() == 0) s.extents.pop_back();
    if (!s.extents.empty() && s.extents.front() == 0) s.extents.clear();
    return s;
  }
  void emit(Allreduce, auto& b) const { at_run_time().emit(Allreduce{}, b); }

  friend bool operator==(const Suara&, const Suara&) = default;
};

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/algorithms/static/suara_choice.hpp>
#endif
