// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/topology/described_machine.hpp>
#include <papcoll/topology/linux.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/machine_on_demand.hpp>
#include <papcoll/topology/machine_source.hpp>
#include <papcoll/topology/processor_set.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>
#include <papcoll/transport/mpi/nodes.hpp>
#include <papcoll/transport/mpi/polled_collectives.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Where the ranks of a communicator sit, as all of them learn it when it is made.
struct MachineOfRanks {
  Shared<const MachineOnDemand> machine;
  std::vector<int> nodes;       ///< of each rank, the lowest rank of its node
  bool oversubscribed = false;  ///< more ranks on this node than processors they may run on
  std::size_t count = 0;        ///< of the processors that they may run on
  ProcessorSet processors;      ///< those of this rank
  /// Stands for what all ranks reported of themselves: the same on all.
  std::uint64_t id = 0;
};

/// What a rank sends the others of where it is.
struct Whereabouts {
  std::int32_t node = 0;                 ///< the lowest rank on its node
  std::array<std::uint16_t, 4> place{};  ///< package, NUMA domain, L3, core
  std::uint32_t unused = 0;
  BoundProcessors processors;
};
static_assert(sizeof(Whereabouts) <= 32 && std::has_unique_object_representations_v<Whereabouts>);

[[gnu::cold]] inline RankAllgather allgather_among(const PolledCollectives& all_ranks) {
  static constexpr const char* where = "reading the machine of Options::machine";
  using Ranks = const PolledCollectives;
  return {all_ranks.rank(where), &all_ranks,
          [](const void* ranks, const std::string& mine) {
            return first_problem(*static_cast<Ranks*>(ranks), mine, where);
          },
          [](const void* ranks, void* data, std::size_t bytes) {
            static_cast<Ranks*>(ranks)->bcast(data, bytes, 0, where);
          },
          [](const void* ranks, const void* mine, std::size_t bytes, void* all) {
            static_cast<Ranks*>(ranks)->allgather(mine, bytes, all, where);
          }};
}

/// Finds where all ranks sit: one allgather of at most 32 bytes of each, besides what a machine
/// that is described takes. Throws argument_error, on all ranks.
[[gnu::cold]] inline MachineOfRanks find_machine(const PolledCollectives& all_ranks,
                                                 const NodeRanks& here,
                                                 const MachineSource& source) {
  constexpr const char* where = "finding where the ranks of a communicator sit";
  MachineOfRanks found;
  found.processors = ProcessorSet::of_this_thread();
  const Place mine = linux_place(found.processors);
  Whereabouts report;
  report.node = here.ranks.front();
  report.place = {mine.package, mine.numa, mine.l3, mine.core};
  report.processors = BoundProcessors::of(found.processors);
  Vector<Whereabouts> all(static_cast<std::size_t>(all_ranks.size(where)));
  all_ranks.allgather(&report, sizeof report, all.data(), where);

  Vector<BoundProcessors> here_on;
  here_on.reserve(here.ranks.size());
  std::vector<Place> places;
  places.reserve(all.size());
  std::vector<int> number(
      all.size());  // nodes are numbered by their lowest ranks, which come first
  int nodes = 0;
  for (const Whereabouts& w : all) {
    if (w.node == static_cast<int>(places.size())) number[places.size()] = nodes++;
    places.push_back(
        {number[static_cast<std::size_t>(w.node)], w.place[0], w.place[1], w.place[2], w.place[3]});
    found.nodes.push_back(w.node);
    if (w.node == report.node) here_on.push_back(w.processors);
  }
  found.count = count_processors(here_on);
  found.oversubscribed = outnumber(here_on.size(), found.count);
  found.id =
      hash_of_text({reinterpret_cast<const char*>(all.data()), all.size() * sizeof(Whereabouts)});
  found.machine =
      source.is_default()
          ? detail::make_shared<const MachineOnDemand>(std::move(places))
          : source.describe()(source, allgather_among(all_ranks), found.nodes, std::move(places));
  return found;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
