// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Calls by tickets: ArrivalOrder+Chain where ranks share no memory.

#include "matrix.hpp"
#include "mixed.hpp"

#include <papcoll/choice/names/catalogue.hpp>
#include <papcoll/choice/policies/policy_checks.hpp>
#include <papcoll/runtime/team.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tickets {

inline const papcoll::CatalogueRow& row() {
  const auto rows = papcoll::catalogue();
  return *std::find_if(rows.begin(), rows.end(),
                       [](const auto& r) { return r.name == "ArrivalOrder+Chain"; });
}

/// A few hundred elements are several segments.
inline papcoll::Algorithm short_segments(papcoll::AlgorithmSpec s, std::string_view transport) {
  s.follow_tickets(*row().tickets);
  s.schedule = papcoll::SortedLinearTree{.segment_bytes = 40};
  return {"ArrivalOrder+Chain of 40 bytes", s, std::string(transport)};
}

/// Reduces and allreduces in bursts, of which ranks may leave the former early; now and then a rank
/// comes so late that all others wait for it. What is wrong on this rank, or "".
template <class Comm>
std::string calls_by_ticket(Comm& comm, const papcoll::Algorithm& algorithm, int calls,
                            std::uint32_t seed) {
  using papcoll::Collective;
  matrix::Runner<Comm> runner{comm};
  const matrix::Candidate candidate{algorithm, &row()};
  std::minstd_rand random{seed};  // draws the same on all ranks
  mixed::Delays delays{seed + static_cast<std::uint32_t>(comm.rank()) + 1};
  constexpr std::size_t counts[] = {0, 1, 3, 100, 777};
  for (int i = 0; i < calls;) {
    const auto c = random() % 4 == 0 ? Collective::allreduce : Collective::reduce;
    const std::size_t count = counts[random() % std::size(counts)];
    const int root = static_cast<int>(random() % static_cast<unsigned>(comm.size()));
    const bool in_place = random() % 2 == 0;
    const int late = static_cast<int>(random() % static_cast<unsigned>(2 * comm.size()));
    if (late == comm.rank()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    for (auto burst = random() % 12; burst-- > 0 && i < calls; ++i) {
      delays.maybe();
      runner.run(candidate, c, {count, root, in_place});
    }
  }
  return runner.problems();
}

}  // namespace tickets
