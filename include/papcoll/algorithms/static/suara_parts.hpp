#pragma once

#include <papcoll/algorithms/static/binomial.hpp>
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
#include <papcoll/model/suara_choice.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

// The algorithms that SUARA's choice knows, as schedules.

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// The extents, but the last, of a grid as square as can be.
inline std::vector<int> square_extents(int n, std::size_t dimensions) {
  const double root = std::pow(n, 1 / static_cast<double>(dimensions));
  return std::vector<int>(dimensions - 1, std::max(1, static_cast<int>(std::lround(root))));
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

PAPCOLL_COMPILE_ONCE(AnySuara on_best_grid<>(AnySuara, int, std::size_t))
PAPCOLL_COMPILE_ONCE(AnySchedule chosen_suara<>(int, double))

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
