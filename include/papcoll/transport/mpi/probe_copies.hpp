#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/topology/options.hpp>
#include <papcoll/transport/mpi/agree_on_error.hpp>
#include <papcoll/transport/mpi/check.hpp>
#include <papcoll/transport/mpi/nodes.hpp>
#include <papcoll/transport/mpi/polled_collectives.hpp>
#include <papcoll/transport/shm/shm_file.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <sys/types.h>
#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// May the ranks of a node copy from each other's private memory (cross-memory attach)? Each tries
/// it on all others. Collective, with the same answer on all ranks: the processes of this node's
/// ranks, or none and, in `why_no_cma`, why not.
[[gnu::cold]] inline detail::Vector<pid_t> probe_copies(const PolledCollectives& all_ranks,
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
  detail::Vector<Probe> all(static_cast<std::size_t>(all_ranks.size(where)));
  all_ranks.allgather(&mine, sizeof mine, all.data(), where);
  detail::Vector<pid_t> pids;
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
    problem = detail::joined({"the kernel refuses it (", std::strerror(e.number), ")"});
  }
  why_no_cma = first_problem(all_ranks, problem, where);
  if (!why_no_cma.empty()) pids.clear();
  return pids;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
