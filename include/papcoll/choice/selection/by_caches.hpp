#pragma once

#include <papcoll/algorithms/arrival/leader_fan.hpp>
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/choice/policies/hierarchical_spec.hpp>
#include <papcoll/choice/selection/learner.hpp>
#include <papcoll/choice/selection/node_load.hpp>
#include <papcoll/choice/selection/on_node.hpp>
#include <papcoll/choice/selection/selection_inputs.hpp>
#include <papcoll/node/peer_probe.hpp>

#include <span>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Hierarchical by the groups of the caches of one node, with leaders by arrival within them.
inline const HierarchicalSpec& hierarchical_of_caches() {
  static const HierarchicalSpec hierarchical = [] {
    HierarchicalSpec c;
    c.intra.arrival = &arrival_algorithm<DynamicLeader, LeaderFan>;
    c.by_caches = true;
    c.id = hierarchical_id(c) + 1;
    return c;
  }();
  return hierarchical;
}

constexpr bool may_go_by_caches(Collective c) noexcept {
  return c == Collective::allreduce || c == Collective::barrier || c == Collective::reduce;
}

/// The nanoseconds that a call takes by the model if a leader of each group combines what its group
/// contributes, the leaders combine among them by the best candidate, and each notifies its group.
/// Signals and lines from within a cache are assumed to cost a quarter. Phases wait for each other,
/// so a call of several chunks costs as much for each.
inline double prior_by_caches(std::span<const NodeCandidate> all, const Call& call,
                              const SelectionInputs& s) noexcept {
  Call chunk = call;
  if (call.bytes() > s.near_chunk_bytes) chunk.count = s.near_chunk_bytes / call.reducer.size;
  const auto bytes = static_cast<double>(chunk.bytes());
  const double chunks = bytes == 0 ? 1 : static_cast<double>(call.bytes()) / bytes;
  PeerCosts near = *s.costs;
  near.signal_ns /= 4;
  near.line_ns /= 4;
  const double members = static_cast<double>(s.size) / s.cache_groups;
  const NodeLoad group{near, bytes, members, is_in_arena(call, s), goes_by_arrivals(call, s)};
  SelectionInputs among = s;
  among.size = s.cache_groups;
  among.cache_groups = 0;
  among.imbalance.in_arena = false;
  const Shortlist leaders = shortlist(all, chunk, among);
  const double written_again = group.write(bytes);  // what the leaders have combined
  return chunks * (near.call_ns + written_again + group.nanoseconds(by_leader(group), members) +
                   prior_of(all[leaders.ids[0]], chunk, among));
}

/// Returns true if a call on one node is to go by the groups of ranks that share a cache, instead
/// of by one of these candidates.
inline bool goes_by_caches(std::span<const NodeCandidate> all, const Shortlist& list,
                           const Call& call, const SelectionInputs& s) noexcept {
  return s.cache_groups > 1 && !s.oversubscribed && call.by_arrivals() &&
         call.reducer.size <= s.near_chunk_bytes &&
         prior_by_caches(all, call, s) < prior_of(all[list.ids[0]], call, s);
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
