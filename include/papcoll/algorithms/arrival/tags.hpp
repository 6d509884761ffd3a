// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/static/sorted_linear_tree.hpp>
#include <papcoll/arrival/arrival_driven.hpp>
#include <papcoll/arrival/policies.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

// The schedules that are arrival-driven algorithms, and their properties. How one runs is in its
// own header.

namespace papcoll::inline PAPCOLL_ABI {

class NodeContext;
struct Chain;

namespace detail {

/// The common properties of schedules on one node.
template <class Schedule, unsigned Needs, NumericalContract Contract, Collective... Served>
struct NodeSchedule {
  using policy_kind = SchedulePolicyKind;
  static constexpr unsigned needs = Needs | capability::node_memory;
  static constexpr NumericalContract contract = Contract;
  static constexpr bool serves(Collective c) noexcept { return ((c == Served) || ...); }
  friend bool operator==(const Schedule&, const Schedule&) noexcept { return true; }
};

/// The common properties of such schedules under an arrival policy. Those that combine in any order
/// keep no order on request.
template <class Algorithm, class OneCall = typename Algorithm::Run> struct DrivenBy {
  using Schedule = Algorithm;
  using Run = OneCall;
  static constexpr std::string_view name = Schedule::name;
  static constexpr bool keeps_order_on_request = !requires { Schedule::commutative_only; };
};

}  // namespace detail

/// The schedule behind DynamicLeader and StaticLeader.
struct LeaderFan
    : detail::NodeSchedule<LeaderFan, capability::leader, NumericalContract::rank_consistent,
                           Collective::allreduce, Collective::reduce, Collective::bcast,
                           Collective::allgather, Collective::barrier> {
  static constexpr std::string_view name = "LeaderFan";
  static constexpr std::string_view sentence =
      "One rank of the node combines the others' contributions and releases them.";
  /// One call of one rank, in leader_fan.hpp. Dynamic: the first to arrive leads.
  template <bool Dynamic> class Run;
};

template <>
struct ArrivalDriven<DynamicLeader, LeaderFan> : detail::DrivenBy<LeaderFan, LeaderFan::Run<true>> {
  static constexpr std::string_view name = "DynamicLeader";
  static constexpr std::string_view sentence =
      "The first to arrive combines contributions as they come, and releases the others.";
};
template <>
struct ArrivalDriven<StaticLeader, LeaderFan> : detail::DrivenBy<LeaderFan, LeaderFan::Run<false>> {
  static constexpr std::string_view name = "StaticLeader";
  static constexpr std::string_view sentence =
      "Always the same rank waits for all, combines, and releases the others.";
};

/// All read all: the schedule with the fewest steps on one node.
struct Exchange
    : detail::NodeSchedule<Exchange, capability::positions, NumericalContract::reproducible,
                           Collective::allreduce, Collective::reduce, Collective::bcast,
                           Collective::allgather, Collective::reduce_scatter, Collective::gather,
                           Collective::scatter, Collective::barrier> {
  static constexpr std::string_view name = "Exchange";
  static constexpr std::string_view sentence =
      "Every rank reads all contributions from shared memory and combines them itself.";
  /// One call of one rank, in exchange.hpp.
  class Run;
};

template <> struct ArrivalDriven<StaticOrder, Exchange> : detail::DrivenBy<Exchange> {};

/// Every rank combines one slice: the balanced allreduce of one node.
struct MultiLeader : detail::NodeSchedule<MultiLeader, capability::positions,
                                          NumericalContract::reproducible, Collective::allreduce> {
  static constexpr std::string_view name = "MultiLeader";
  static constexpr std::string_view sentence =
      "Every rank of the node combines its own slice of each chunk.";
  /// One call of one rank, in multi_leader.hpp.
  class Run;
};

template <> struct ArrivalDriven<StaticOrder, MultiLeader> : detail::DrivenBy<MultiLeader> {
  static constexpr bool combines_in_groups = true;
};

/// The balanced collectives of one node for large buffers.
struct PeerSlices
    : detail::NodeSchedule<PeerSlices, capability::positions, NumericalContract::reproducible,
                           Collective::allreduce, Collective::reduce, Collective::bcast,
                           Collective::allgather, Collective::reduce_scatter> {
  static constexpr std::string_view name = "PeerSlices";
  static constexpr std::string_view sentence =
      "Every rank works on its slice of the data, straight from its peers' buffers.";
  /// One call of one rank, in peer_slices.hpp.
  class Run;
};

template <> struct ArrivalDriven<StaticOrder, PeerSlices> : detail::DrivenBy<PeerSlices> {
  static constexpr bool exposes_buffers = true;
  static constexpr bool combines_in_groups = true;
};

/// Alltoall, gather, scatter, and allgather with any counts, through the node's memory.
struct BlockCopies
    : detail::NodeSchedule<BlockCopies, capability::positions, NumericalContract::reproducible,
                           Collective::alltoall, Collective::allgather, Collective::gather,
                           Collective::scatter> {
  static constexpr std::string_view name = "BlockCopies";
  static constexpr std::string_view sentence =
      "Every rank copies the blocks meant for it, of whoever is there.";
  /// Bytes of a rank's blocks from which they may go in pieces though its pool has room.
  static constexpr std::size_t chunked_from = std::size_t{1} << 18U;
  /// One call of one rank, in block_copies.hpp.
  class Run;
};

template <> struct ArrivalDriven<StaticOrder, BlockCopies> : detail::DrivenBy<BlockCopies> {
  static constexpr bool exposes_buffers = true;
  static constexpr bool takes_counts = true;
};

/// Scan and exscan through the node's memory.
struct PrefixRuns : detail::NodeSchedule<PrefixRuns, capability::positions, NumericalContract::fast,
                                         Collective::scan, Collective::exscan> {
  static constexpr std::string_view name = "PrefixRuns";
  static constexpr std::string_view sentence =
      "Every rank combines the contributions below it, in runs of those who are there.";
  /// One call of one rank, in prefix_runs.hpp.
  class Run;
};

template <> struct ArrivalDriven<StaticOrder, PrefixRuns> : detail::DrivenBy<PrefixRuns> {
  static constexpr bool exposes_buffers = true;
};

/// The arrival-driven reduce and allreduce whose end all ranks share.
struct SplitTail
    : detail::NodeSchedule<SplitTail, capability::tickets, NumericalContract::rank_consistent,
                           Collective::allreduce, Collective::reduce> {
  static constexpr std::string_view name = "SplitTail";
  static constexpr std::string_view sentence =
      "Whoever is there combines what has come, chunk by chunk; all share what the last one "
      "leaves.";
  static constexpr bool commutative_only = true;
  static constexpr int most_ranks = 1023;  ///< a work word counts them in 10 bits, see Run::Chunk
  /// One call of one rank, in split_tail.hpp.
  class Run;
};

template <> struct ArrivalDriven<ArrivalOrder, SplitTail> : detail::DrivenBy<SplitTail> {
  static constexpr bool exposes_buffers = true;
  static constexpr bool exposes_results = true;
};

/// The reduce and allreduce by arrival in which each rank combines only what it brings.
struct Accumulator
    : detail::NodeSchedule<Accumulator, capability::tickets, NumericalContract::rank_consistent,
                           Collective::allreduce, Collective::reduce> {
  static constexpr std::string_view name = "Accumulator";
  static constexpr std::string_view sentence =
      "Every rank adds what it brings to one shared sum, chunk by chunk, as it comes.";
  static constexpr bool commutative_only = true;
  static constexpr int most_ranks = 1023;  ///< a work word counts them in 10 bits, see Run::Held
  /// One call of one rank, in accumulator.hpp.
  class Run;
};

template <> struct ArrivalDriven<ArrivalOrder, Accumulator> : detail::DrivenBy<Accumulator> {};

/// The arrival-driven reduce and allreduce whose bits never depend on the arrivals.
struct CombiningTree
    : detail::NodeSchedule<CombiningTree, capability::tickets, NumericalContract::reproducible,
                           Collective::allreduce, Collective::reduce> {
  static constexpr std::string_view name = "CombiningTree";
  static constexpr std::string_view sentence =
      "A tree of fixed shape in rank order; whoever finds both children of a node there combines.";
  static constexpr int most_ranks = 65536;  ///< a work word names one in 16 bits, see Run::Chunk
  /// One call of one rank, in combining_tree.hpp.
  class Run;
};

template <> struct ArrivalDriven<ArrivalOrder, CombiningTree> : detail::DrivenBy<CombiningTree> {
  static constexpr bool exposes_buffers = true;
  static constexpr bool exposes_results = true;
};

/// What Chain does where positions are tickets.
struct ArrivalChain {
  static constexpr std::string_view name = "Chain";
  static constexpr std::string_view sentence =
      "Each rank adds to the sum of those who came before it; the last to arrive completes it.";
  static constexpr unsigned needs = capability::tickets | capability::node_memory;
  static constexpr NumericalContract contract = NumericalContract::rank_consistent;
  static constexpr bool commutative_only = true;

  static constexpr bool serves(Collective c) noexcept {
    return c == Collective::allreduce || c == Collective::reduce;
  }

  /// One call of one rank, in arrival_chain.hpp.
  class Run;
};

template <> struct ArrivalDriven<ArrivalOrder, Chain> : detail::DrivenBy<ArrivalChain> {
  using ByTicket = TicketChain;
  static constexpr std::string_view name = "ArrivalOrder+Chain";
  static constexpr bool exposes_buffers = true;
  static constexpr bool exposes_results = true;
};

/// An arrival policy and a schedule that is an arrival-driven algorithm under it.
template <class A, class S> struct Under {
  using Arrival = A;   ///< the arrival policy
  using Schedule = S;  ///< what it is an algorithm with
};

template <class... Algorithms> struct ArrivalAlgorithmList {};

/// Every arrival-driven algorithm of the library, in the order of listings. The catalogue, the
/// tools, the tests and the explorer of interleavings go by this list. The page
/// docs/extending/writing_an_arrival_algorithm.md has all places that a new one touches.
#define PAPCOLL_ARRIVAL_ALGORITHMS(X) \
  X(DynamicLeader, LeaderFan)         \
  X(StaticLeader, LeaderFan)          \
  X(StaticOrder, Exchange)            \
  X(StaticOrder, MultiLeader)         \
  X(StaticOrder, PeerSlices)          \
  X(StaticOrder, BlockCopies)         \
  X(StaticOrder, PrefixRuns)          \
  X(ArrivalOrder, SplitTail)          \
  X(ArrivalOrder, Accumulator)        \
  X(ArrivalOrder, CombiningTree)      \
  X(ArrivalOrder, Chain)

namespace detail {
template <class, class... Algorithms> struct ListAfter {
  using List = ArrivalAlgorithmList<Algorithms...>;
};

template <class... Us> constexpr bool have_different_ids(ArrivalAlgorithmList<Us...>) noexcept {
  const std::uint8_t ids[] = {
      algorithm_id(ArrivalDriven<typename Us::Arrival, typename Us::Schedule>::name)...};
  for (std::size_t i = 0; i < sizeof...(Us); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (ids[i] == ids[j]) return false;
    }
  }
  return true;
}

PAPCOLL_ARRIVAL_ALGORITHMS(PAPCOLL_ARRIVAL_ALGORITHM_ELSEWHERE)
}  // namespace detail

#define PAPCOLL_UNDER(Arrival, Schedule) , Under<Arrival, Schedule>
/// The library's arrival-driven algorithms, each as a schedule under an arrival policy.
using ArrivalAlgorithms = detail::ListAfter<void PAPCOLL_ARRIVAL_ALGORITHMS(PAPCOLL_UNDER)>::List;
#undef PAPCOLL_UNDER
static_assert(detail::have_different_ids(ArrivalAlgorithms{}),
              "papcoll: two algorithms have one algorithm_id(): give one of them another name");

}  // namespace papcoll::inline PAPCOLL_ABI
