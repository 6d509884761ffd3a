#pragma once

#include <papcoll/algorithms/arrival/accumulator.hpp>
#include <papcoll/algorithms/arrival/arrival_chain.hpp>
#include <papcoll/algorithms/arrival/block_copies.hpp>
#include <papcoll/algorithms/arrival/combining_tree.hpp>
#include <papcoll/algorithms/arrival/exchange.hpp>
#include <papcoll/algorithms/arrival/leader_fan.hpp>
#include <papcoll/algorithms/arrival/multi_leader.hpp>
#include <papcoll/algorithms/arrival/peer_slices.hpp>
#include <papcoll/algorithms/arrival/prefix_runs.hpp>
#include <papcoll/algorithms/arrival/split_tail.hpp>
#include <papcoll/arrival/policies.hpp>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// An arrival policy and a schedule that is an arrival-driven algorithm under it.
template <class A, class S>
struct Under {
  using Arrival = A;   ///< the arrival policy
  using Schedule = S;  ///< what it is an algorithm with
};

template <class... Algorithms>
struct ArrivalAlgorithmList {};

/// Every arrival-driven algorithm of the library, in the order of listings. The catalogue, the
/// tools, the tests and the explorer of interleavings go by this list: an algorithm is its header,
/// with its ArrivalDriven, and a line here.
using ArrivalAlgorithms =
    ArrivalAlgorithmList<Under<DynamicLeader, LeaderFan>, Under<StaticLeader, LeaderFan>,
                         Under<StaticOrder, Exchange>, Under<StaticOrder, MultiLeader>,
                         Under<StaticOrder, PeerSlices>, Under<StaticOrder, BlockCopies>,
                         Under<StaticOrder, PrefixRuns>, Under<ArrivalOrder, SplitTail>,
                         Under<ArrivalOrder, Accumulator>, Under<ArrivalOrder, CombiningTree>,
                         Under<ArrivalOrder, Chain>>;

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
