#pragma once

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/call.hpp>
#include <papcoll/capability.hpp>
#include <papcoll/catalogue/algorithm.hpp>
#include <papcoll/catalogue/between_nodes.hpp>
#include <papcoll/catalogue/choice.hpp>
#include <papcoll/catalogue/choose_on_node.hpp>
#include <papcoll/catalogue/composite.hpp>
#include <papcoll/catalogue/thresholds.hpp>

#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// The choice among the algorithms that pass messages. A template, so that a program compiles only
/// the schedules of the collectives it calls.
template <Collective C>
AnySchedule choose_by_messages(const Call& call, const Situation& s) {
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
    if (bytes * static_cast<std::size_t>(s.size) <= t.bruck) return AnySchedule::of<Bruck>();
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

namespace detail {

/// Does a call on several nodes go through their representatives?
template <Collective C>
bool goes_by_nodes(const Call& call, const Situation& s) noexcept {
  if constexpr (C == Collective::reduce_scatter || C == Collective::gather ||
                C == Collective::scatter) {
    return false;
  } else {
    return s.grouped && !s.by_messages &&
           (call.bytes() <= s.thresholds->hierarchical || is_imbalanced(call, s));
  }
}

}  // namespace detail

template <Collective C>
void choose(Selection& s, const Call& call, const Situation& situation) {
  const bool reads_memory = (s.transport->offers & capability::node_memory) != 0;
  if (situation.by_messages) {
    // What reads memory wants all ranks there.
  } else if (detail::goes_by_nodes<C>(call, situation)) {
    s.composite = &detail::hierarchical_of_chosen();
    return;
  } else if (reads_memory && call.reducer.size <= situation.chunk_bytes) {
    s.arrival = detail::choose_on_node(call, situation).algorithm;
  }
  if (s.arrival == nullptr) {
    s.schedule = detail::choose_by_messages<C>(call, situation);
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

namespace detail {

/// choose<C> of the call's collective.
inline void choose_any(Selection& s, const Call& call, const Situation& situation) {
  const auto with = [&](Choose* choose) { choose(s, call, situation); };
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
  }
}

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
