#pragma once

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/capability.hpp>
#include <papcoll/policies/algorithm.hpp>
#include <papcoll/policies/hierarchical.hpp>
#include <papcoll/select/between_nodes.hpp>
#include <papcoll/select/choice.hpp>
#include <papcoll/select/on_node.hpp>
#include <papcoll/select/thresholds.hpp>

#include <cstddef>

namespace papcoll {
inline namespace PAPCOLL_ABI {

namespace detail {

/// The choice among the algorithms that pass messages. A template, so that a program compiles only
/// the schedules of the collectives it calls.
template <Collective C>
AnySchedule choose_by_messages(const Call& call, const SelectionInputs& s) {
  const std::size_t bytes = call.bytes();
  const Thresholds& t = *s.thresholds;
  if constexpr (C == Collective::allreduce) {
    if (bytes <= t.recursive_doubling) return AnySchedule::of<RecursiveDoubling>();
    if (AnySchedule best = choose_between_nodes<C>(call, s)) return best;
    return AnySchedule::of<Rabenseifner>();
  } else if constexpr (C == Collective::reduce) {
    if (bytes <= t.tree) return AnySchedule::of<Binomial>();
    if (AnySchedule best = choose_between_nodes<C>(call, s)) return best;
    return AnySchedule::of<ReduceScatterGather>();
  } else if constexpr (C == Collective::bcast) {
    if (bytes <= t.tree) return AnySchedule::of<Binomial>();
    if (AnySchedule best = choose_between_nodes<C>(call, s)) return best;
    return AnySchedule::of<ScatterAllgather>();
  } else if constexpr (C == Collective::allgather) {
    if (call.counts != nullptr) return AnySchedule::of<Ring>();
    if (bytes * static_cast<std::size_t>(s.size) <= t.bruck) return AnySchedule::of<Bruck>();
    return AnySchedule::of<Ring>();
  } else if constexpr (C == Collective::reduce_scatter) {
    return call.reducer.commutative ? AnySchedule::of<Pairwise>() : AnySchedule::of<Linear>();
  } else if constexpr (C == Collective::alltoall) {
    if (bytes <= t.alltoall_bruck) return AnySchedule::of<Bruck>();
    return AnySchedule::of<Pairwise>();
  } else if constexpr (C == Collective::scan) {
    return AnySchedule::of<RecursiveDoubling>();
  } else if constexpr (C == Collective::barrier) {
    return AnySchedule::of<Dissemination>();
  } else {
    return AnySchedule::of<Binomial>();
  }
}

}  // namespace detail

namespace detail {

/// Does a call on several nodes go through their representatives?
template <Collective C>
bool goes_by_nodes(const Call& call, const SelectionInputs& s) noexcept {
  if constexpr (C == Collective::reduce_scatter || C == Collective::gather ||
                C == Collective::scatter || !hierarchical_serves(C)) {
    return false;
  } else {
    return s.grouped && !s.by_messages &&
           (call.bytes() <= s.thresholds->hierarchical || is_imbalanced(call, s));
  }
}

}  // namespace detail

template <Collective C>
void choose(AlgorithmSpec& s, const Call& call, const SelectionInputs& inputs) {
  const bool reads_memory = (s.transport->offers & capability::node_memory) != 0;
  if (inputs.by_messages) {
    // What reads memory wants all ranks there.
  } else if (detail::goes_by_nodes<C>(call, inputs)) {
    s.hierarchical = &detail::hierarchical_of_chosen();
    return;
  } else if (reads_memory && call.reducer.size <= inputs.chunk_bytes) {
    s.arrival = detail::choose_on_node(call, inputs).algorithm;
  }
  if (s.arrival == nullptr) {
    s.schedule = detail::choose_by_messages<C>(call, inputs);
  }
}

PAPCOLL_COMPILE_ONCE(Choose choose<Collective::allreduce>)
PAPCOLL_COMPILE_ONCE(Choose choose<Collective::reduce>)
PAPCOLL_COMPILE_ONCE(Choose choose<Collective::bcast>)
PAPCOLL_COMPILE_ONCE(Choose choose<Collective::allgather>)
PAPCOLL_COMPILE_ONCE(Choose choose<Collective::reduce_scatter>)
PAPCOLL_COMPILE_ONCE(Choose choose<Collective::gather>)
PAPCOLL_COMPILE_ONCE(Choose choose<Collective::scatter>)
PAPCOLL_COMPILE_ONCE(Choose choose<Collective::barrier>)
PAPCOLL_COMPILE_ONCE(Choose choose<Collective::alltoall>)
PAPCOLL_COMPILE_ONCE(Choose choose<Collective::scan>)

namespace detail {

/// choose<C> of the call's collective.
inline void choose_any(AlgorithmSpec& s, const Call& call, const SelectionInputs& inputs) {
  const auto with = [&](Choose* choose) { choose(s, call, inputs); };
  switch (call.collective) {
    case Collective::allreduce:
      return with(&choose<Collective::allreduce>);
    case Collective::reduce:
      return with(&choose<Collective::reduce>);
    case Collective::bcast:
      return with(&choose<Collective::bcast>);
    case Collective::allgather:
      return with(&choose<Collective::allgather>);
    case Collective::reduce_scatter:
      return with(&choose<Collective::reduce_scatter>);
    case Collective::gather:
      return with(&choose<Collective::gather>);
    case Collective::scatter:
      return with(&choose<Collective::scatter>);
    case Collective::barrier:
      return with(&choose<Collective::barrier>);
    case Collective::alltoall:
      return with(&choose<Collective::alltoall>);
    case Collective::scan:
      return with(&choose<Collective::scan>);
  }
}

}  // namespace detail

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
