#pragma once

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/call.hpp>
#include <papcoll/capability.hpp>
#include <papcoll/catalogue/algorithm.hpp>
#include <papcoll/catalogue/arrival_algorithms.hpp>
#include <papcoll/catalogue/choice.hpp>

#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI {

/// Where one algorithm gives way to the next, in bytes of the call. All of them are the same on
/// every rank: a choice must be.
struct Thresholds {
  // Allreduce on one node, µs per call (doubles, Zen 4, Open MPI):
  //   2 pinned ranks            512 B: Exchange 0.26, MultiLeader 0.26; 1 KB: 0.39, 0.28
  //   8 ranks on 2 processors   8 KB: Exchange 21, DynamicLeader 23, MultiLeader 29
  //                             64 KB: DynamicLeader 44, MultiLeader 49; 128 KB: 122, 117
  std::size_t exchange_two_ranks = 512;
  std::size_t exchange_more_ranks = 1024;
  std::size_t exchange_oversubscribed = 8192;
  std::size_t leader_oversubscribed = 65536;
  // Above, PeerSlices: 2 pinned ranks, 64 KB: 8.9 µs (MultiLeader's way), and 2.8 in the arena.
  std::size_t multi_leader = 8192;
  // By messages (2 and 4 ranks over MPI's shared memory).
  std::size_t recursive_doubling = 8192;
  std::size_t tree = 65536;  ///< reduce and bcast: binomial below, scattered above
  std::size_t bruck = 4096;  ///< allgather, all contributions together
};

namespace detail {

/// The choice among the algorithms that read their peers' memory; none for a call that they cannot
/// serve.
inline const ArrivalAlgorithm* choose_on_node(const Call& call, int size, bool oversubscribed,
                                              const Thresholds& t) {
  switch (call.collective) {
    case Collective::allreduce: {
      const std::size_t tiny = oversubscribed ? t.exchange_oversubscribed
                               : size <= 2    ? t.exchange_two_ranks
                                              : t.exchange_more_ranks;
      if (call.bytes() <= tiny) return &exchange;
      if (oversubscribed && call.bytes() <= t.leader_oversubscribed) return &dynamic_leader;
      return call.bytes() <= t.multi_leader ? &multi_leader : &peer_slices;
    }
    case Collective::reduce:
    case Collective::bcast:
      return &dynamic_leader;
    case Collective::allgather:
    case Collective::barrier:
      return &exchange;
    default:
      return nullptr;
  }
}

/// The choice among the algorithms that pass messages. A template, so that a program compiles only
/// the schedules of the collectives it calls.
template <Collective C>
AnySchedule choose_by_messages(const Call& call, int size, const Thresholds& t) {
  const std::size_t bytes = call.bytes();
  if constexpr (C == Collective::allreduce) {
    if (bytes <= t.recursive_doubling) return AnySchedule::of<RecursiveDoubling>();
    return AnySchedule::of<Rabenseifner>();
  } else if constexpr (C == Collective::reduce) {
    if (bytes <= t.tree) return AnySchedule::of<Binomial>();
    return AnySchedule::of<ReduceScatterGather>();
  } else if constexpr (C == Collective::bcast) {
    if (bytes <= t.tree) return AnySchedule::of<Binomial>();
    return AnySchedule::of<ScatterAllgather>();
  } else if constexpr (C == Collective::allgather) {
    if (bytes * static_cast<std::size_t>(size) <= t.bruck) return AnySchedule::of<Bruck>();
    return AnySchedule::of<Ring>();
  } else if constexpr (C == Collective::reduce_scatter) {
    return call.reducer.commutative ? AnySchedule::of<Pairwise>() : AnySchedule::of<Linear>();
  } else if constexpr (C == Collective::barrier) {
    return AnySchedule::of<Dissemination>();
  } else {
    return AnySchedule::of<Binomial>();
  }
}

}  // namespace detail

template <Collective C>
void choose(Selection& s, const Call& call, int size, bool oversubscribed, std::size_t chunk_bytes,
            bool non_blocking) {
  const Thresholds t{};
  const bool reads_memory = (s.transport->offers & capability::node_memory) != 0;
  if (reads_memory && !non_blocking && call.reducer.size <= chunk_bytes) {
    s.arrival = detail::choose_on_node(call, size, oversubscribed, t);
  }
  if (s.arrival == nullptr) s.schedule = detail::choose_by_messages<C>(call, size, t);
}

PAPCOLL_COMPILE_ONCE(Choose choose<Collective::allreduce>)
PAPCOLL_COMPILE_ONCE(Choose choose<Collective::reduce>)
PAPCOLL_COMPILE_ONCE(Choose choose<Collective::bcast>)
PAPCOLL_COMPILE_ONCE(Choose choose<Collective::allgather>)
PAPCOLL_COMPILE_ONCE(Choose choose<Collective::reduce_scatter>)
PAPCOLL_COMPILE_ONCE(Choose choose<Collective::gather>)
PAPCOLL_COMPILE_ONCE(Choose choose<Collective::scatter>)
PAPCOLL_COMPILE_ONCE(Choose choose<Collective::barrier>)

}  // namespace papcoll::inline PAPCOLL_ABI
