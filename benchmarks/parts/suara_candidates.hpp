// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/algorithms/static/suara_choice.hpp>
#include <papcoll/simulate/simulate.hpp>

#include <cstddef>
#include <vector>

// What SUARA's grids are made of: its algorithms, simulated and by their closed forms.

namespace bench::suara {

using namespace papcoll;

inline constexpr std::size_t element = 4;  // a float's
inline constexpr double segment = 8192;

/// Contention-free, as published: SuaraModel's default.
inline SuaraModel network_model() {
  SuaraModel model;
  model.segment = segment;
  return model;
}

/// The same, but whoever sends several messages sends one after the other.
inline const SuaraModel& taking_turns() {
  static const SuaraModel model{HockneyWithGap{Hockney{}, 0}};
  return model;
}

inline double simulated(const AnySchedule& schedule, int ranks, double bytes) {
  Shape shape;
  shape.collective = Collective::allreduce;
  shape.size = ranks;
  shape.element_size = element;
  shape.count = static_cast<std::size_t>(bytes) / element;
  SimulateOptions options;
  options.ports = Ports::shared;
  return simulate(schedule, shape, Order::identity(ranks), LogGops{}, options).time();
}

/// SUARA's six, where reduce and bcast of the nonoverlapping one are both of two.
struct Candidate {
  SuaraPart part;
  AnySchedule schedule;
  bool binomial_reduce = false;
  bool binomial_bcast = false;
};

inline std::vector<Candidate> all_candidates() {
  std::vector<Candidate> all{{SuaraPart::linear, Linear{}},
                             {SuaraPart::recursive_doubling, RecursiveDoubling{}},
                             {SuaraPart::ring, Ring{}},
                             {SuaraPart::segmented_ring,
                              SegmentedRing{.segment_bytes = static_cast<std::size_t>(segment)}},
                             {SuaraPart::rabenseifner, Rabenseifner{}}};
  for (const bool tree : {true, false}) {
    for (const bool tree_back : {true, false}) {
      const AnySchedule reduce =
          tree ? AnySchedule(Binomial{}) : AnySchedule(ReduceScatterGather{});
      const AnySchedule bcast =
          tree_back ? AnySchedule(Binomial{}) : AnySchedule(ScatterAllgather{});
      all.push_back(
          {SuaraPart::nonoverlapping, AnyReduceThenBcast{reduce, bcast}, tree, tree_back});
    }
  }
  return all;
}

/// The closed form along a line of n ranks that takes turns at its ports, which those that share
/// them do not undercut.
inline double by_form(const Candidate& c, int n, double m) {
  const SuaraModel& turns = taking_turns();
  if (c.part == SuaraPart::segmented_ring) return seconds_along(network_model(), c.part, n, m);
  if (c.part != SuaraPart::nonoverlapping) return seconds_along(turns, c.part, n, m);
  const ReduceAndBcast both = reduce_and_bcast(turns, n, m);
  return (c.binomial_reduce ? both.tree : both.scattered) +
         (c.binomial_bcast ? both.tree_back : both.scattered_back);
}

}  // namespace bench::suara
