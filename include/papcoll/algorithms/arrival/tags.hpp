#pragma once

#include <papcoll/algorithms/static/ticket_chain.hpp>
#include <papcoll/arrival/arrival_driven.hpp>
#include <papcoll/arrival/policies.hpp>
#include <papcoll/base/capability.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/contract.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/config.hpp>

#include <string_view>

// The schedules that are arrival-driven algorithms, and what they say about themselves. How one
// runs is in its own header.

namespace papcoll {
inline namespace PAPCOLL_ABI {

class NodeSite;
struct Chain;

/// The schedule behind DynamicLeader and StaticLeader.
struct LeaderFan {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "LeaderFan";
  static constexpr std::string_view sentence =
      "One rank of the node combines the others' contributions and releases them.";
  static constexpr unsigned needs = capability::leader | capability::node_memory;
  static constexpr NumericalContract contract = NumericalContract::rank_consistent;
  friend bool operator==(const LeaderFan&, const LeaderFan&) = default;

  static constexpr bool serves(Collective c) noexcept {
    return c == Collective::allreduce || c == Collective::reduce || c == Collective::bcast ||
           c == Collective::allgather || c == Collective::barrier;
  }

  /// One call of one rank, in leader_fan.hpp. Dynamic: the first to arrive leads.
  template <bool Dynamic>
  class Run;
};

template <>
struct ArrivalDriven<DynamicLeader, LeaderFan> {
  using Schedule = LeaderFan;
  using Run = LeaderFan::Run<true>;
  static constexpr std::string_view name = "DynamicLeader";
  static constexpr std::string_view sentence =
      "The first to arrive combines contributions as they come, and releases the others.";
  static constexpr bool keeps_order_on_request = true;
};
template <>
struct ArrivalDriven<StaticLeader, LeaderFan> {
  using Schedule = LeaderFan;
  using Run = LeaderFan::Run<false>;
  static constexpr std::string_view name = "StaticLeader";
  static constexpr std::string_view sentence =
      "Always the same rank waits for all, combines, and releases the others.";
  static constexpr bool keeps_order_on_request = true;
};

/// All read all: the schedule with the fewest steps on one node.
struct Exchange {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "Exchange";
  static constexpr std::string_view sentence =
      "Every rank reads all contributions from shared memory and combines them itself.";
  static constexpr unsigned needs = capability::positions | capability::node_memory;
  static constexpr NumericalContract contract = NumericalContract::reproducible;
  friend bool operator==(const Exchange&, const Exchange&) = default;

  static constexpr bool serves(Collective c) noexcept {
    return c == Collective::allreduce || c == Collective::reduce || c == Collective::bcast ||
           c == Collective::allgather || c == Collective::reduce_scatter ||
           c == Collective::barrier;
  }

  /// One call of one rank, in exchange.hpp.
  class Run;
};

template <>
struct ArrivalDriven<StaticOrder, Exchange> {
  using Schedule = Exchange;
  using Run = Exchange::Run;
  static constexpr std::string_view name = "Exchange";
  static constexpr bool keeps_order_on_request = true;
};

/// Every rank combines one slice: the balanced allreduce of one node.
struct MultiLeader {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "MultiLeader";
  static constexpr std::string_view sentence =
      "Every rank of the node combines its own slice of each chunk.";
  static constexpr unsigned needs = capability::positions | capability::node_memory;
  static constexpr NumericalContract contract = NumericalContract::reproducible;
  friend bool operator==(const MultiLeader&, const MultiLeader&) = default;

  static constexpr bool serves(Collective c) noexcept { return c == Collective::allreduce; }

  /// One call of one rank, in multi_leader.hpp.
  class Run;
};

template <>
struct ArrivalDriven<StaticOrder, MultiLeader> {
  using Schedule = MultiLeader;
  using Run = MultiLeader::Run;
  static constexpr std::string_view name = "MultiLeader";
  static constexpr bool keeps_order_on_request = true;
};

/// The balanced collectives of one node for large buffers.
struct PeerSlices {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "PeerSlices";
  static constexpr std::string_view sentence =
      "Every rank works on its slice of the data, straight from its peers' buffers.";
  static constexpr unsigned needs = capability::positions | capability::node_memory;
  static constexpr NumericalContract contract = NumericalContract::reproducible;
  friend bool operator==(const PeerSlices&, const PeerSlices&) = default;

  static constexpr bool serves(Collective c) noexcept {
    return c == Collective::allreduce || c == Collective::reduce || c == Collective::bcast ||
           c == Collective::allgather || c == Collective::reduce_scatter;
  }

  /// One call of one rank, in peer_slices.hpp.
  class Run;
};

template <>
struct ArrivalDriven<StaticOrder, PeerSlices> {
  using Schedule = PeerSlices;
  using Run = PeerSlices::Run;
  static constexpr std::string_view name = "PeerSlices";
  static constexpr bool keeps_order_on_request = true;
  static constexpr bool lends_buffers = true;
};

/// Alltoall, gather, scatter, and allgather with any counts, through the node's memory.
struct BlockCopies {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "BlockCopies";
  static constexpr std::string_view sentence =
      "Every rank copies the blocks meant for it, of whoever is there.";
  static constexpr unsigned needs = capability::positions | capability::node_memory;
  static constexpr NumericalContract contract = NumericalContract::reproducible;
  friend bool operator==(const BlockCopies&, const BlockCopies&) = default;

  static constexpr bool serves(Collective c) noexcept {
    return c == Collective::alltoall || c == Collective::allgather || c == Collective::gather ||
           c == Collective::scatter;
  }

  /// One call of one rank, in block_copies.hpp.
  class Run;
};

template <>
struct ArrivalDriven<StaticOrder, BlockCopies> {
  using Schedule = BlockCopies;
  using Run = BlockCopies::Run;
  static constexpr std::string_view name = "BlockCopies";
  static constexpr bool keeps_order_on_request = true;
  static constexpr bool lends_buffers = true;
  static constexpr bool takes_counts = true;
};

/// Scan and exscan through the node's memory.
struct PrefixRuns {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "PrefixRuns";
  static constexpr std::string_view sentence =
      "Every rank combines the contributions below it, in runs of those who are there.";
  static constexpr unsigned needs = capability::positions | capability::node_memory;
  static constexpr NumericalContract contract = NumericalContract::fast;
  friend bool operator==(const PrefixRuns&, const PrefixRuns&) = default;

  static constexpr bool serves(Collective c) noexcept {
    return c == Collective::scan || c == Collective::exscan;
  }

  /// One call of one rank, in prefix_runs.hpp.
  class Run;
};

template <>
struct ArrivalDriven<StaticOrder, PrefixRuns> {
  using Schedule = PrefixRuns;
  using Run = PrefixRuns::Run;
  static constexpr std::string_view name = "PrefixRuns";
  static constexpr bool keeps_order_on_request = true;
  static constexpr bool lends_buffers = true;
};

/// The arrival-driven reduce and allreduce whose end all ranks share.
struct SplitTail {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "SplitTail";
  static constexpr std::string_view sentence =
      "Whoever is there combines what has come, chunk by chunk; all share what the last one "
      "leaves.";
  static constexpr unsigned needs = capability::tickets | capability::node_memory;
  static constexpr NumericalContract contract = NumericalContract::rank_consistent;
  static constexpr bool commutative_only = true;
  static constexpr int most_ranks = 1023;  ///< a work word counts them in 10 bits, see Chunk
  friend bool operator==(const SplitTail&, const SplitTail&) = default;

  static constexpr bool serves(Collective c) noexcept {
    return c == Collective::allreduce || c == Collective::reduce;
  }

  /// One call of one rank, in split_tail.hpp.
  class Run;
};

template <>
struct ArrivalDriven<ArrivalOrder, SplitTail> {
  using Schedule = SplitTail;
  using Run = SplitTail::Run;
  static constexpr std::string_view name = "SplitTail";
  static constexpr bool keeps_order_on_request = false;
  static constexpr bool lends_buffers = true;
  static constexpr bool lends_results = true;
};

/// The reduce and allreduce by arrival in which each rank combines only what it brings.
struct Accumulator {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "Accumulator";
  static constexpr std::string_view sentence =
      "Every rank adds what it brings to one shared sum, chunk by chunk, as it comes.";
  static constexpr unsigned needs = capability::tickets | capability::node_memory;
  static constexpr NumericalContract contract = NumericalContract::rank_consistent;
  static constexpr bool commutative_only = true;
  static constexpr int most_ranks = 1023;  ///< a work word counts them in 10 bits, see Held
  friend bool operator==(const Accumulator&, const Accumulator&) = default;

  static constexpr bool serves(Collective c) noexcept {
    return c == Collective::allreduce || c == Collective::reduce;
  }

  /// One call of one rank, in accumulator.hpp.
  class Run;
};

template <>
struct ArrivalDriven<ArrivalOrder, Accumulator> {
  using Schedule = Accumulator;
  using Run = Accumulator::Run;
  static constexpr std::string_view name = "Accumulator";
  static constexpr bool keeps_order_on_request = false;
};

/// The arrival-driven reduce and allreduce whose bits never depend on the arrivals.
struct CombiningTree {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "CombiningTree";
  static constexpr std::string_view sentence =
      "A tree of fixed shape in rank order; whoever finds both children of a node there combines.";
  static constexpr unsigned needs = capability::tickets | capability::node_memory;
  static constexpr NumericalContract contract = NumericalContract::reproducible;
  static constexpr int most_ranks = 65536;  ///< a work word names one in 16 bits, see Chunk
  friend bool operator==(const CombiningTree&, const CombiningTree&) = default;

  static constexpr bool serves(Collective c) noexcept {
    return c == Collective::allreduce || c == Collective::reduce;
  }

  /// One call of one rank, in combining_tree.hpp.
  class Run;
};

template <>
struct ArrivalDriven<ArrivalOrder, CombiningTree> {
  using Schedule = CombiningTree;
  using Run = CombiningTree::Run;
  static constexpr std::string_view name = "CombiningTree";
  static constexpr bool keeps_order_on_request = true;
  static constexpr bool lends_buffers = true;
  static constexpr bool lends_results = true;
};

/// What Chain does where positions are tickets.
struct ArrivalChain {
  static constexpr std::string_view name = "Chain";
  static constexpr unsigned needs = capability::tickets | capability::node_memory;
  static constexpr bool commutative_only = true;
  static constexpr std::string_view sentence =
      "Each rank adds to the sum of those who came before it; the last to arrive completes it.";
  static constexpr NumericalContract contract = NumericalContract::rank_consistent;

  static constexpr bool serves(Collective c) noexcept {
    return c == Collective::allreduce || c == Collective::reduce;
  }

  /// One call of one rank, in arrival_chain.hpp.
  class Run;
};

template <>
struct ArrivalDriven<ArrivalOrder, Chain> {
  using Schedule = ArrivalChain;
  using Run = ArrivalChain::Run;
  using ByTicket = TicketChain;
  static constexpr std::string_view name = "ArrivalOrder+Chain";
  static constexpr bool keeps_order_on_request = false;
  static constexpr bool lends_buffers = true;
  static constexpr bool lends_results = true;
};

/// An arrival policy and a schedule that is an arrival-driven algorithm under it.
template <class A, class S>
struct Under {
  using Arrival = A;   ///< the arrival policy
  using Schedule = S;  ///< what it is an algorithm with
};

template <class... Algorithms>
struct ArrivalAlgorithmList {};

/// Every arrival-driven algorithm of the library, in the order of listings. The catalogue, the
/// tools, the tests and the explorer of interleavings go by this list: an algorithm is its
/// header, its schedule with its ArrivalDriven above, and a line here.
using ArrivalAlgorithms =
    ArrivalAlgorithmList<Under<DynamicLeader, LeaderFan>, Under<StaticLeader, LeaderFan>,
                         Under<StaticOrder, Exchange>, Under<StaticOrder, MultiLeader>,
                         Under<StaticOrder, PeerSlices>, Under<StaticOrder, BlockCopies>,
                         Under<StaticOrder, PrefixRuns>, Under<ArrivalOrder, SplitTail>,
                         Under<ArrivalOrder, Accumulator>, Under<ArrivalOrder, CombiningTree>,
                         Under<ArrivalOrder, Chain>>;

namespace detail {
PAPCOLL_COMPILED_ONCE(
    const ArrivalAlgorithm& algorithm_under<DynamicLeader, LeaderFan, NodeSite>() noexcept)
PAPCOLL_COMPILED_ONCE(
    const ArrivalAlgorithm& algorithm_under<StaticLeader, LeaderFan, NodeSite>() noexcept)
PAPCOLL_COMPILED_ONCE(
    const ArrivalAlgorithm& algorithm_under<StaticOrder, Exchange, NodeSite>() noexcept)
PAPCOLL_COMPILED_ONCE(
    const ArrivalAlgorithm& algorithm_under<StaticOrder, MultiLeader, NodeSite>() noexcept)
PAPCOLL_COMPILED_ONCE(
    const ArrivalAlgorithm& algorithm_under<StaticOrder, PeerSlices, NodeSite>() noexcept)
PAPCOLL_COMPILED_ONCE(
    const ArrivalAlgorithm& algorithm_under<StaticOrder, BlockCopies, NodeSite>() noexcept)
PAPCOLL_COMPILED_ONCE(
    const ArrivalAlgorithm& algorithm_under<StaticOrder, PrefixRuns, NodeSite>() noexcept)
PAPCOLL_COMPILED_ONCE(
    const ArrivalAlgorithm& algorithm_under<ArrivalOrder, SplitTail, NodeSite>() noexcept)
PAPCOLL_COMPILED_ONCE(
    const ArrivalAlgorithm& algorithm_under<ArrivalOrder, Accumulator, NodeSite>() noexcept)
PAPCOLL_COMPILED_ONCE(
    const ArrivalAlgorithm& algorithm_under<ArrivalOrder, CombiningTree, NodeSite>() noexcept)
PAPCOLL_COMPILED_ONCE(
    const ArrivalAlgorithm& algorithm_under<ArrivalOrder, Chain, NodeSite>() noexcept)
}  // namespace detail

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
