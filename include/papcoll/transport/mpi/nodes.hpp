// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/topology/options.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>
#include <papcoll/transport/mpi/polled_collectives.hpp>
#include <papcoll/transport/shm/shm_file.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI {

/// Where the ranks of a communicator are, as one of them sees it.
struct NodeRanks {
  std::vector<int> ranks;  ///< those on this rank's node, itself included, ascending
  int nodes = 1;           ///< nodes of the whole communicator; the same on all ranks
};

/// Returns where the ranks are, given the key of each rank's node; `rank` is this one.
[[gnu::cold]] inline NodeRanks nodes_by(detail::Vector<std::uint64_t> keys, std::size_t rank) {
  NodeRanks here{{}, 0};
  const std::uint64_t own = keys[rank];
  for (std::size_t r = 0; r < keys.size(); ++r) {
    if (keys[r] == own) here.ranks.push_back(static_cast<int>(r));
  }
  detail::heap_sort(keys.data(), keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i == 0 || keys[i] != keys[i - 1]) ++here.nodes;
  }
  return here;
}

/// The ranks of `comm`, by their numbers in `outer`; MPI_UNDEFINED for one that is not there.
[[gnu::cold]] inline std::vector<int> ranks_in(MPI_Comm outer, MPI_Comm comm, const char* where) {
  int size = 0;
  detail::check(MPI_Comm_size(comm, &size), "MPI_Comm_size", where);
  std::vector<int> numbers(static_cast<std::size_t>(size));
  std::vector<int> translated(numbers.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  MPI_Group here = MPI_GROUP_NULL;
  MPI_Group there = MPI_GROUP_NULL;
  MPI_Comm_group(comm, &here);
  MPI_Comm_group(outer, &there);
  const int code = MPI_Group_translate_ranks(here, size, numbers.data(), there, translated.data());
  MPI_Group_free(&here);
  MPI_Group_free(&there);
  detail::check(code, "MPI_Group_translate_ranks", where);
  return translated;
}

/// Returns true if MPICH was told to treat ranks of one machine as ranks of several, as tests do.
/// It reads each variable under three names.
[[gnu::cold]] inline bool mpi_pretends_nodes() {
  for (const std::string_view prefix : {"MPIR_CVAR_", "MPIR_PARAM_", "MPICH_"}) {
    for (const char* name : {"NOLOCAL", "NUM_CLIQUES", "ODD_EVEN_CLIQUES", "EVEN_ODD_CLIQUES"}) {
      if (std::getenv((detail::joined({prefix, name})).c_str()) != nullptr) return true;
    }
  }
  return false;
}

/// Asks MPI which ranks can share memory with this one. Collective, and MPI_Comm_split_type waits
/// inside MPI, for which there is no non-blocking form. No MPI communicator is left behind. Throws
/// mpi_error.
inline NodeRanks node_ranks(const detail::PolledCollectives& all_ranks) {
  constexpr const char* where = "finding the ranks of a node";
  const int rank = all_ranks.rank(where);
  const detail::ErrorsReturned guard{all_ranks.comm(), where};
  MPI_Comm node = MPI_COMM_NULL;
  detail::check(
      MPI_Comm_split_type(all_ranks.comm(), MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node),
      "MPI_Comm_split_type", where);
  auto first = static_cast<std::uint64_t>(rank);  // of the node
  all_ranks.on(node).bcast(&first, sizeof first, 0, where);
  MPI_Comm_free(&node);
  detail::Vector<std::uint64_t> all(static_cast<std::size_t>(all_ranks.size(where)));
  all_ranks.allgather(&first, sizeof first, all.data(), where);
  return nodes_by(std::move(all), static_cast<std::size_t>(rank));
}

}  // namespace papcoll::inline PAPCOLL_ABI

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Finds out if the ranks of a node may copy from each other's private memory (cross-memory
/// attach): each tries it on all others. Collective, with the same outcome on all ranks: the
/// processes of this node's ranks; or none and, in `why_no_cma`, the reason.
[[gnu::cold]] inline Vector<pid_t> probe_copies(const PolledCollectives& all_ranks,
                                                const NodeRanks& here, PeerAccess wanted,
                                                std::string& why_no_cma) {
  if (wanted != PeerAccess::best && wanted != PeerAccess::copied) {
    why_no_cma = "the Options forbid it";
    return {};
  }
  constexpr const char* where = "trying cross-memory attach";
  struct Probe {
    std::uint64_t at;
    std::uint64_t value;
    std::int64_t pid;
  };
  // Random, so that a process of the same number elsewhere is not taken for the rank.
  std::uint64_t secret = 0;
  std::string problem = caught<system_error>([&] { secret = ShmTicket::draw().nonce[0]; });
  const Probe mine{reinterpret_cast<std::uintptr_t>(&secret), secret, getpid()};
  Vector<Probe> all(static_cast<std::size_t>(all_ranks.size(where)));
  all_ranks.allgather(&mine, sizeof mine, all.data(), where);
  Vector<pid_t> pids;
  for (const int r : here.ranks) {
    pids.push_back(static_cast<pid_t>(all[static_cast<std::size_t>(r)].pid));
  }
  try {
    const PeerMemory peers{nullptr, 0, pids};
    for (std::size_t i = 0; i < pids.size() && problem.empty(); ++i) {
      const Probe& theirs = all[static_cast<std::size_t>(here.ranks[i])];
      std::uint64_t seen = 0;
      peers.pull(&seen, static_cast<int>(i), theirs.at, sizeof seen);
      if (seen != theirs.value) problem = "found another process than was meant";
    }
  } catch (const system_error& e) {
    problem = joined({"the kernel refuses it (", std::strerror(e.number), ")"});
  }
  why_no_cma = first_problem(all_ranks, problem, where);
  if (!why_no_cma.empty()) pids.clear();
  return pids;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
