// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Calls of a team of threads that go wrong: what each rank hears, and what it may have done before.

#include "arrival_names.hpp"
#include "mistakes.hpp"
#include "outcome.hpp"

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/explain.hpp>
#include <papcoll/thread_team.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace team_outcomes {

using papcoll::Collective;
using Rank = papcoll::ThreadTeam::Rank;

// What hangs is a failure, and not a time-out of the whole test.
inline const papcoll::Options patient{.deadline = std::chrono::seconds{20}};

template <class Body> std::vector<Outcome> outcomes(papcoll::ThreadTeam& team, Body&& body) {
  std::vector<Outcome> all(static_cast<std::size_t>(team.size()));
  team.run([&](Rank& comm) {
    all[static_cast<std::size_t>(comm.rank())] = outcome_of([&] { body(comm); });
  });
  return all;
}

/// What each rank hears of the call with these outcomes, in it or later.
inline std::vector<Outcome> heard(papcoll::ThreadTeam& team, std::vector<Outcome> outcomes) {
  team.run([&](Rank& comm) {
    Outcome& mine = outcomes[static_cast<std::size_t>(comm.rank())];
    mine = mistakes::heard(comm, mine);
  });
  return outcomes;
}

/// Ranks that have done their part of these may have left before anything was wrong.
inline bool may_leave_early(Collective c) {
  return papcoll::is_rooted(c) || papcoll::is_prefix_reduction(c);
}

/// The names of the arrival-driven algorithms, and none, which leaves the choice to the library.
inline const std::vector<std::string> arrival_algorithms = [] {
  std::vector<std::string> names = arrival_names();
  names.emplace(names.begin());
  return names;
}();

inline papcoll::Algorithm named(const std::string& name) {
  return name.empty() ? papcoll::Algorithm{} : papcoll::algorithm(name);
}

/// Has some rank run an algorithm whose partial results lie in outputs?
inline bool has_lent_results(papcoll::ThreadTeam& team) {
  std::atomic<bool> found{false};
  team.run([&found](Rank& comm) {
    for (const papcoll::AlgorithmCount& ran : papcoll::algorithm_counts(comm)) {
      const auto* const arrival = named(std::string{ran.algorithm}).spec().arrival;
      if (arrival != nullptr && arrival->exposes_results) found = true;
    }
  });
  return found;
}

/// May a call that fails have written to outputs? BlockCopies and PrefixRuns write as ranks come.
inline bool may_write(const std::string& name, const mistakes::Mistake<Rank>& mistake,
                      papcoll::ThreadTeam& team) {
  if (name.empty()) {
    return mistake.irregular || mistakes::may_have_blocks(mistake.collective) ||
           has_lent_results(team);
  }
  return named(name).spec().arrival->exposes_results || name == "BlockCopies" ||
         name == "PrefixRuns";
}

inline bool serves(const std::string& name, const mistakes::Mistake<Rank>& mistake) {
  if (name.empty()) return mistake.collective != Collective::reduce_scatter;
  const papcoll::ArrivalTraits& a = *named(name).spec().arrival;
  return a.serves(mistake.collective) && (a.takes_counts || !mistake.irregular);
}

/// The same of a static schedule.
inline bool serves(const papcoll::AnySchedule& schedule, const mistakes::Mistake<Rank>& mistake) {
  return schedule.serves(mistake.collective) && (schedule.own_parts_only() || !mistake.irregular);
}

}  // namespace team_outcomes
