#pragma once

#include <papcoll/base/joined.hpp>
#include <papcoll/base/text_hash.hpp>
#include <papcoll/config.hpp>
#include <papcoll/error.hpp>
#include <papcoll/topology/bound_processors.hpp>
#include <papcoll/topology/described_places.hpp>
#include <papcoll/topology/linux.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/machine_source.hpp>
#include <papcoll/topology/packed_machine.hpp>
#include <papcoll/topology/processor_set.hpp>
#include <papcoll/transport/mpi/agree_on_error.hpp>
#include <papcoll/transport/mpi/nodes.hpp>
#include <papcoll/transport/mpi/polled.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <unistd.h>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// Where the ranks of a communicator sit, as all of them learn it when it is made.
struct MachineOfRanks {
  std::shared_ptr<const Machine> machine;
  std::vector<int> nodes;       ///< of each rank, the lowest rank of its node
  bool oversubscribed = false;  ///< more ranks on this node than processors they may run on
  ProcessorSet processors;      ///< those of this rank
  /// Stands for what all ranks reported of themselves: the same on all.
  std::uint64_t id = 0;
};

/// What a rank tells the others of where it is.
struct Whereabouts {
  std::int32_t node = 0;  ///< the lowest rank on its node
  /// Of the nodes that a network file names; −1: it does not name this one, or there is no file.
  std::int32_t listed = -1;
  std::array<std::uint16_t, 4> place{};  ///< package, NUMA domain, L3, core
  BoundProcessors processors;
};
static_assert(sizeof(Whereabouts) <= 32 && std::has_unique_object_representations_v<Whereabouts>);

[[gnu::cold]] inline std::int32_t find_this_host(const std::vector<std::uint64_t>& hosts) {
  std::array<char, 256> name{};
  if (hosts.empty() || gethostname(name.data(), name.size() - 1) != 0) return -1;
  const auto at = std::find(hosts.begin(), hosts.end(), hash_of_host(name.data()));
  return at == hosts.end() ? -1 : static_cast<std::int32_t>(at - hosts.begin());
}

/// What a source describes, read on rank 0. Throws argument_error, on all ranks. Collective, but
/// for Linux and descriptions in code.
[[gnu::cold]] inline Machine described_machine(const PolledCollectives& all_ranks,
                                               const MachineSource& source) {
  if (source.is_default()) return {};
  if (source.in_code() != nullptr) return *source.in_code();
  constexpr const char* where = "reading the machine of Options::machine";
  const bool reads = all_ranks.rank(where) == 0;
  std::string bytes;
  std::string problem;
  if (reads) {
    try {
      bytes = packed(source.read());
    } catch (const std::exception& e) {
      problem = bare(e.what());
    }
  }
  problem = first_problem(all_ranks, problem, where);
  if (!problem.empty()) {
    throw argument_error(
        joined({"papcoll: Options of a papcoll::Communicator: machine: ", problem}));
  }
  std::size_t size = bytes.size();
  all_ranks.bcast(&size, sizeof size, 0, where);
  bytes.resize(size);
  all_ranks.bcast(bytes.data(), size, 0, where);
  return unpacked(bytes);
}

/// Finds where all ranks sit: one allgather of at most 32 bytes of each, besides what
/// described_machine() takes. Throws argument_error, on all ranks.
[[gnu::cold]] inline MachineOfRanks find_machine(const PolledCollectives& all_ranks,
                                                 const NodeRanks& here,
                                                 const MachineSource& source) {
  constexpr const char* where = "learning where the ranks of a communicator sit";
  const Machine described = described_machine(all_ranks, source);
  MachineOfRanks found;
  found.processors = ProcessorSet::of_this_thread();
  const Place mine = described.size() == 0 ? linux_place(found.processors) : Place{};
  Whereabouts report;
  report.node = here.ranks.front();
  report.listed = find_this_host(described.hosts);
  report.place = {mine.package, mine.numa, mine.l3, mine.core};
  report.processors = BoundProcessors::of(found.processors);
  std::vector<Whereabouts> all(static_cast<std::size_t>(all_ranks.size(where)));
  all_ranks.allgather(&report, sizeof report, all.data(), where);

  found.nodes.reserve(all.size());
  std::vector<BoundProcessors> here_on;
  here_on.reserve(here.ranks.size());
  for (const Whereabouts& w : all) {
    found.nodes.push_back(w.node);
    if (w.node == report.node) here_on.push_back(w.processors);
  }
  found.oversubscribed = outnumber(here_on.size(), count_processors(here_on));
  found.id =
      hash_of_text({reinterpret_cast<const char*>(all.data()), all.size() * sizeof(Whereabouts)});

  std::string why;
  std::vector<Place> places;
  if (described.size() != 0) {
    places = described_places(described, found.nodes, why);
    if (!why.empty()) {
      throw argument_error(
          joined({"papcoll: Options::machine describes a machine of too few "
                  "places: ",
                  why, ": describe more cores or nodes"}));
    }
    auto machine = std::make_shared<Machine>(std::move(places), described.network());
    machine->source = described.source;
    machine->caches = described.caches;
    found.machine = std::move(machine);
    return found;
  }
  // Nodes are numbered by their lowest ranks, which come first.
  std::vector<int> number(all.size(), -1);
  std::vector<int> listed;
  listed.reserve(static_cast<std::size_t>(here.nodes));
  places.reserve(all.size());
  bool all_listed = true;
  int unlisted = 0;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const Whereabouts& w = all[r];
    int& node = number[static_cast<std::size_t>(w.node)];
    if (node < 0) {
      node = static_cast<int>(listed.size());
      listed.push_back(w.listed);
      if (w.listed < 0 && all_listed) unlisted = static_cast<int>(r);
      all_listed = all_listed && w.listed >= 0;
    }
    places.push_back({node, w.place[0], w.place[1], w.place[2], w.place[3]});
  }
  const bool has_network = !described.hosts.empty();
  auto machine = std::make_shared<Machine>(
      std::move(places), has_network && all_listed ? described.network().among(listed) : Network{});
  machine->source = "Linux";
  machine->caches = linux_caches();
  if (has_network && all_listed) {
    machine->source = joined({"Linux, and ", described.source});
  } else if (has_network) {
    machine->source = joined({"Linux; ", described.source, " does not name the host of rank ",
                              unlisted, ", so all nodes count as on one switch"});
  }
  found.machine = std::move(machine);
  return found;
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
