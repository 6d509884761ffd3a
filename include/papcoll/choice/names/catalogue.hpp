// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/arrival/all.hpp>
#include <papcoll/algorithms/hierarchical/hierarchical.hpp>
#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/choice/policies/hierarchical_spec.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace detail {

/// A schedule of two: one that serves `First`, then a bcast.
template <class Any, Collective First>
[[gnu::cold]] AnySchedule parse_then_bcast(std::string_view arguments, Catalogue catalogue) {
  const auto parts = split_arguments(arguments);
  if (parts.size() != 2) {
    throw_error<argument_error>({"papcoll: ", Any::name, " needs two schedules, one that serves ",
                                 name_of(First), " and one that serves bcast, but was given '",
                                 arguments, "': write ", Any::name, ":Binomial,Chain"});
  }
  Any schedule{schedule_named(parts[0], catalogue), schedule_named(parts[1], catalogue)};
  const auto require = [](const AnySchedule& part, Collective c) {
    if (part.serves(c)) return;
    throw_error<argument_error>({"papcoll: ", part.name(), " does not serve ", name_of(c),
                                 ", which ", Any::name, " needs of its ",
                                 (c == First ? "first" : "second"), " schedule: write ", Any::name,
                                 ":Binomial,Chain or others of `papcoll list ", name_of(c), "`"});
  };
  const auto& [first, bcast] = schedule;
  require(first, First);
  require(bcast, Collective::bcast);
  return schedule;
}

inline constexpr std::string_view how_to_write_suara =
    "write Suara:Ring,Rabenseifner,8 or Suara:Ring,Ring,Ring,4x8, or Suara alone, which chooses";

inline bool is_no_name(std::string_view text) noexcept {
  return !text.empty() && text.front() < 'A';
}

/// A schedule along one dimension of Suara's grid.
[[gnu::cold]] inline AnySchedule suara_dimension(std::string_view text, Catalogue catalogue) {
  const auto colon = std::min(text.find(':'), text.size());
  const std::string_view after = text.substr(std::min(colon + 1, text.size()));
  const AnySchedule plain = schedule_named(text.substr(0, colon), catalogue);
  if (!plain.serves(Collective::allreduce)) {
    throw_error<argument_error>(
        {"papcoll: ", plain.name(),
         " does not serve allreduce, which Suara needs along each dimension: take "
         "Ring, Rabenseifner, RecursiveDoubling or another of `papcoll list "
         "allreduce`"});
  }
  try {
    return schedule_named(text, catalogue);
  } catch (const argument_error& e) {
    if (!is_no_name(after)) throw;
    throw_error<argument_error>(
        {e.what(),
         "; where it is a length of the grid, it comes last, after a comma: ", how_to_write_suara});
  }
}

/// Schedules, the extents of their grid and "folded", of which the latter two may be left out.
[[gnu::cold]] inline AnySchedule parse_suara(std::string_view arguments, Catalogue catalogue) {
  AnySuara schedule;
  auto parts = split_arguments(arguments);
  schedule.folded = parts.back() == "folded";
  if (schedule.folded) parts.pop_back();
  std::string_view extents;
  if (!parts.empty() && is_no_name(parts.back())) {
    extents = parts.back();
    parts.pop_back();
  }
  const auto given = [&] { return joined({"but was given '", arguments, "': "}); };
  if (std::any_of(parts.begin(), parts.end(), is_no_name)) {
    throw_error<argument_error>({"papcoll: Suara needs the lengths of its grid last, joined by x, ",
                                 given(), how_to_write_suara});
  }
  if (parts.size() >= 2) {
    for (const std::string_view part : parts) {
      schedule.along.push_back(suara_dimension(part, catalogue));
    }
    if (!extents.empty()) {
      schedule.extents = parse_extents(AnySuara::name, AnySuara::parameters.back(), extents);
    }
  }
  const std::size_t lengths = schedule.extents.size();
  if (parts.size() < 2 || lengths > parts.size() || (lengths != 0 && lengths + 1 < parts.size())) {
    throw_error<argument_error>(
        {"papcoll: Suara needs a schedule for each of two or more dimensions and, if anything, "
         "the lengths of all of them or of all but the last, ",
         given(), how_to_write_suara});
  }
  if (schedule.folded && lengths == 0) {
    throw_error<argument_error>(
        {"papcoll: Suara chooses by itself whether to fold if it chooses the grid: leave 'folded' "
         "out of '",
         arguments, "', or write the length of a row before it"});
  }
  return schedule;
}

template <class Any, Collective First>
constexpr CatalogueRow then_bcast_row(std::string_view proven_with, std::string_view in_source) {
  CatalogueRow row = static_row<Any>(proven_with);
  row.plan = []() -> AnySchedule {
    return Any{AnySchedule::of<Binomial>(), AnySchedule::of<Binomial>()};
  };
  row.parse = &parse_then_bcast<Any, First>;
  row.in_source = in_source;
  return row;
}

constexpr CatalogueRow suara_row() {
  CatalogueRow row = static_row<AnySuara>(
      "Ring,Ring,4 Ring,Rabenseifner,3 Rabenseifner,RecursiveDoubling,4,folded "
      "SegmentedRing:16,SegmentedRing:16,4 Rabenseifner,Ring,Linear,2x3");
  row.needs |= requirement::commutative_operator;  // of what it chooses by itself
  row.parse = &parse_suara;
  row.in_source =
      "Suara<Ring, Rabenseifner>; Suara<Ring, Rabenseifner>{{8}}: rows of 8; AnySuara: all chosen";
  return row;
}

template <class Arrival, class Schedule> constexpr CatalogueRow row_of(Under<Arrival, Schedule>) {
  CatalogueRow row =
      arrival_row(arrival_algorithm<Arrival, Schedule>, Arrival::name, Schedule::name);
  using Driven = ArrivalDriven<Arrival, Schedule>;
  if constexpr (requires { typename Driven::ByTicket; }) row.tickets = &ticketed_algorithm<Driven>;
  return row;
}

constexpr CatalogueRow hierarchical_row() {
  CatalogueRow row;
  row.name = row.schedule = hierarchical_name;
  row.sentence = hierarchical_sentence;
  row.needs = hierarchical_needs(Collective::allreduce).bits;
  row.contract = NumericalContract::rank_consistent;
  row.serves = &hierarchical_serves;
  row.is_hierarchical = true;
  row.parameters = hierarchical_parameters;
  row.in_source = "Hierarchical<Policies<DynamicLeader, ShmTransport>, Rabenseifner>";
  return row;
}

// Static schedules and what is made of them, one line each.
inline constexpr std::array other_rows{
    static_row<Linear>(),
    static_row<Chain>(),
    static_row<PipelinedChain>(),
    static_row<Binomial>(),
    static_row<KNomial>("2 3 8"),
    static_row<BinaryTree>(),
    static_row<PipelinedBinaryTree>(),
    static_row<TwoTreeComplete>("12"),
    static_row<ReorderedTwoTree>("12"),
    static_row<TwoTreeSanders>("12 12,rounds"),
    static_row<RecursiveDoubling>(),
    static_row<Ring>(),
    static_row<SegmentedRing>(),
    static_row<ThreeStage>("2,8 1,40 3,40 100,40"),
    static_row<Rabenseifner>(),
    static_row<ReduceScatterGather>(),
    static_row<ScatterAllgather>(),
    then_bcast_row<AnyReduceThenBcast, Collective::reduce>(
        "Binomial,Chain KNomial:3,Linear "
        "PipelinedChain:4096,PipelinedBinaryTree:4096 TwoTreeComplete:12,TwoTreeComplete:12 "
        "TwoTreeComplete:12,ReorderedTwoTree:12 TwoTreeSanders:12,TwoTreeComplete:12",
        "ReduceThenBcast<Binomial, Chain>; ReduceThenBcast<KNomial, Chain>{{8}, {}}"),
    then_bcast_row<AnyGatherThenBcast, Collective::gather>(
        "Linear,Chain Binomial,PipelinedChain:16 Linear,KNomial:3",
        "GatherThenBcast<Binomial, Chain>; GatherThenBcast<Linear, KNomial>{{}, {8}}"),
    suara_row(),
    static_row<RecursiveHalving>(),
    static_row<Pairwise>(),
    static_row<SpreadOut>("1 3"),
    static_row<Bruck>("3 4 64"),
    static_row<NeighbourExchange>(),
    static_row<Dissemination>(),
    hierarchical_row(),
    predicted_row<SortedLinearTree>("8"),
    predicted_row<PreReducedRing>("0,1024000"),
    predicted_row<ClairvoyantTree>("1,1"),
    predicted_row<StragglAR>("1 40"),
};

template <class... Algorithms> constexpr auto rows_with(ArrivalAlgorithmList<Algorithms...>) {
  std::array<CatalogueRow, sizeof...(Algorithms) + other_rows.size()> rows{row_of(Algorithms{})...};
  std::copy(other_rows.begin(), other_rows.end(), rows.begin() + sizeof...(Algorithms));
  return rows;
}

template <class Algorithms> inline constexpr auto catalogue_rows = rows_with(Algorithms{});

}  // namespace detail

/// The row of an arrival-driven algorithm, made of its policies alone.
template <class Arrival, class Schedule> constexpr CatalogueRow arrival_row() {
  return detail::row_of(Under<Arrival, Schedule>{});
}

namespace detail {
/// The rows of the library, and those that are registered, for which there is room: spans that
/// catalogue() returned stay valid.
[[gnu::cold]] inline std::vector<CatalogueRow>& all_rows() {
  constexpr std::size_t most_registered = 256;
  static std::vector<CatalogueRow> rows = [] {
    const Catalogue own = catalogue_rows<ArrivalAlgorithms>;
    std::vector<CatalogueRow> all;
    all.reserve(own.size() + most_registered);
    all.assign(own.begin(), own.end());
    return all;
  }();
  return rows;
}
}  // namespace detail

/// Every algorithm of the library, and those that are registered.
[[gnu::cold]] inline Catalogue catalogue() { return detail::all_rows(); }

/// Gives an algorithm of a program's own a name, by which algorithm(), explain(), papcoll-bench and
/// the command papcoll know it. At namespace scope, in one file:
///
///     static const papcoll::Registered mine{papcoll::static_row<Mine>()};
struct Registered : Pinned {
  /// Throws argument_error if there is an algorithm of that name, or no room.
  explicit Registered(const CatalogueRow& row) {
    std::vector<CatalogueRow>& all = detail::all_rows();
    for (const CatalogueRow& other : all) {
      if (other.name != row.name) continue;
      detail::throw_error<argument_error>(
          {"papcoll: two algorithms are called ", row.name, ": give yours another name"});
    }
    if (all.size() == all.capacity()) {
      detail::throw_error<argument_error>(
          {"papcoll: too many algorithms are registered: ", row.name, " finds no room"});
    }
    all.push_back(row);
  }
};

}  // namespace papcoll::inline PAPCOLL_ABI
