#pragma once

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/call.hpp>
#include <papcoll/capability.hpp>
#include <papcoll/catalogue/algorithm.hpp>
#include <papcoll/catalogue/arrival_algorithms.hpp>

#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI {

/// Where one algorithm gives way to the next, in bytes of the call. All of them are the same on
/// every rank: a choice must be.
struct Thresholds {
  // On one node (2 pinned ranks and 8 ranks on 2 cores, doubles, see benchmarks/README.md).
  std::size_t exchange_two_ranks = 4096;
  std::size_t exchange_more_ranks = 1024;
  // By messages (2 and 4 ranks over MPI's shared memory).
  std::size_t recursive_doubling = 8192;
  std::size_t tree = 65536;  ///< reduce and bcast: binomial below, scattered above
  std::size_t bruck = 4096;  ///< allgather, all contributions together
};

namespace detail {

/// The choice among the algorithms that read their peers' memory; none for a call that they cannot
/// serve.
inline const ArrivalAlgorithm* choose_on_node(const Call& call, int size, const Thresholds& t) {
  switch (call.collective) {
    case Collective::allreduce:
      return call.bytes() <= (size <= 2 ? t.exchange_two_ranks : t.exchange_more_ranks)
                 ? &exchange
                 : &multi_leader;
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

/// The choice among the algorithms that pass messages.
inline AnySchedule choose_by_messages(const Call& call, int size, const Thresholds& t) {
  const std::size_t bytes = call.bytes();
  const bool commutative = call.reducer.commutative;
  switch (call.collective) {
    case Collective::allreduce:
      if (bytes <= t.recursive_doubling) return AnySchedule::of<RecursiveDoubling>();
      return AnySchedule::of<Rabenseifner>();
    case Collective::reduce:
      if (bytes <= t.tree || !commutative) return AnySchedule::of<Binomial>();
      return AnySchedule::of<ReduceScatterGather>();
    case Collective::bcast:
      if (bytes <= t.tree) return AnySchedule::of<Binomial>();
      return AnySchedule::of<ScatterAllgather>();
    case Collective::allgather:
      if (bytes * static_cast<std::size_t>(size) <= t.bruck) return AnySchedule::of<Bruck>();
      return AnySchedule::of<Ring>();
    case Collective::reduce_scatter:
      return commutative ? AnySchedule::of<Pairwise>() : AnySchedule::of<Linear>();
    case Collective::gather:
    case Collective::scatter:
      return AnySchedule::of<Binomial>();
    case Collective::barrier:
      return AnySchedule::of<Dissemination>();
  }
  return {};
}

}  // namespace detail

/// Completes a selection that names no algorithm: by bytes, ranks, collective and operator, which
/// are the same on all ranks. `non_blocking` calls stay on the plan floor.
inline void choose(Selection& s, const Call& call, int size, std::size_t chunk_bytes,
                   bool non_blocking, const Thresholds& t = {}) {
  const bool reads_memory = (s.transport->offers & capability::node_memory) != 0;
  if (reads_memory && !non_blocking && call.reducer.size <= chunk_bytes) {
    s.arrival = detail::choose_on_node(call, size, t);
  }
  if (s.arrival == nullptr) s.schedule = detail::choose_by_messages(call, size, t);
}

}  // namespace papcoll::inline PAPCOLL_ABI
