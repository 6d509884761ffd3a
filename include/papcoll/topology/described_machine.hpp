#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

class MachineOnDemand;
class MachineSource;
struct Place;

namespace detail {

/// How the ranks of a communicator, of which this is one, tell each other what they know of its
/// machine. Each function is collective.
struct RanksTell {
  int rank = 0;
  const void* context = nullptr;
  /// The problem of the lowest rank that has one, on all ranks, or nothing.
  std::string (*first_problem)(const void* context, const std::string& mine) = nullptr;
  /// From rank 0.
  void (*bcast)(const void* context, void* data, std::size_t bytes) = nullptr;
  void (*allgather)(const void* context, const void* mine, std::size_t bytes, void* all) = nullptr;
};

/// The ranks on the machine that `source`, which is not the default, describes. `node_of`: the
/// lowest rank on the node of each; `places`: where Linux says that they sit, which stands where
/// only the network is described. Collective; throws argument_error, on all ranks.
PAPCOLL_DECL detail::Shared<const MachineOnDemand> described_machine(
    const MachineSource& source, const RanksTell& ranks, const std::vector<int>& node_of,
    std::vector<Place> places);

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/topology/described_machine.ipp>
#endif
