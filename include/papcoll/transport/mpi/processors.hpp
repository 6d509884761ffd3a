#pragma once

#include <papcoll/config.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/nodes.hpp>
#include <papcoll/transport/mpi/polled.hpp>

#include <cstddef>
#include <vector>

#include <sched.h>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// Are there more ranks on this node than processors that they, taken together, may run on?
/// Collective.
inline bool is_oversubscribed(const PolledCollectives& all_ranks, const NodeRanks& here) {
  constexpr const char* where = "counting the processors of a node";
  if (here.nodes == all_ranks.size(where)) return false;
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof mine, &mine) != 0) CPU_ZERO(&mine);
  std::vector<cpu_set_t> all(static_cast<std::size_t>(all_ranks.size(where)));
  all_ranks.allgather(&mine, sizeof mine, all.data(), where);
  cpu_set_t together;
  CPU_ZERO(&together);
  for (const int r : here.ranks) CPU_OR(&together, &together, &all[static_cast<std::size_t>(r)]);
  return static_cast<int>(here.ranks.size()) > CPU_COUNT(&together);
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
