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
#include <papcoll/config.hpp>
#include <papcoll/model/suara_choice.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

// The algorithms that SUARA's choice knows, as schedules.

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

template <class S>
inline constexpr bool combines_in_any_order = [] {
  if constexpr (requires(const S& s) { s.commutative_only(); }) {
    return S{}.commutative_only();
  } else {
    return bool{S::commutative_only};
  }
}();

/// The schedule of one of SUARA's algorithms for p positions and m bytes.
inline AnySchedule schedule_of_part(const SuaraModel& model, SuaraPart part, int p, double m) {
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

inline std::optional<SuaraPart> part_named(std::string_view name) noexcept {
  constexpr std::array<std::string_view, suara_part_count> names{
      Linear::name,
      ReduceThenBcast<Binomial, Binomial>::name,
      RecursiveDoubling::name,
      Ring::name,
      SegmentedRing::name,
      Rabenseifner::name};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return suara_parts[i];
  }
  return std::nullopt;
}

/// A grid without its algorithms.
struct SuaraGrid {
  std::vector<int> extents;
  bool folded = false;
};

/// The best grid by the closed forms, or one as square as can be, for given algorithms.
inline SuaraGrid grid_for(const std::vector<std::string_view>& names, int p, std::size_t bytes) {
  SuaraChoice c;
  bool known = names.size() <= SuaraChoice::most;
  for (std::size_t d = 0; known && d < names.size(); ++d) {
    const auto part = part_named(names[d]);
    known = part.has_value();
    if (known) c.parts[d] = *part;
  }
  if (!known) return {square_extents(p, names.size()), false};
  c.dimensions = names.size();
  c = choose_suara_grid(SuaraModel{}, c, p, static_cast<double>(bytes));
  return {{c.extents.begin(), c.extents.begin() + static_cast<std::ptrdiff_t>(c.dimensions)},
          c.folded};
}

/// The bytes of the vector that a builder speaks of.
inline std::size_t bytes_of(const Builder& b) noexcept {
  return b.whole().size() * b.element_size();
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
