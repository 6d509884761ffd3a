#pragma once

#include <papcoll/call.hpp>
#include <papcoll/catalogue/explain_choice.hpp>
#include <papcoll/explain.hpp>
#include <papcoll/run_composite.hpp>
#include <papcoll/team.hpp>

#include <cstddef>
#include <string>

namespace papcoll::inline PAPCOLL_ABI::detail {

inline std::string memory_of(const TeamCore& team) {
  const Node* const node = team.surroundings().node;
  if (node == nullptr) {
    const std::string messages = "messages: " + team.surroundings().no_node;
    const bool has_group = team.within() != nullptr && team.within()->on_one_node();
    return messages + (has_group ? "; within a node " + memory_of(*team.within()) : "");
  }
  if (node->peers.is_common()) return "threads: all memory is everyone's";
  const std::string arena = node->peers.maps() ? "in the arena where they are, " : "";
  if (node->peers.prefers_pulls()) {
    return "buffers are read " + arena + "elsewhere by copies of the kernel";
  }
  return "buffers are read " + arena + "elsewhere chunk by chunk through shared memory" +
         (node->peers.pulls() ? ", or, if too long for that, by copies of the kernel" : "");
}

template <class>
Explanation explain_call(TeamCore& team, Collective collective, std::size_t bytes,
                         const CallTraits& traits) {
  const Call call = described_call(collective, bytes, traits);
  const Selection& given = traits.algorithm.selection();
  const bool any_transport = given.transport == nullptr && given.transport_name.empty();
  const bool by_messages = traits.non_blocking || given.predictor;
  TeamFacts facts;
  facts.transport = &transport_of(team, given);
  facts.on_one_node = team.on_one_node();
  facts.no_node = team.surroundings().no_node;
  facts.memory = memory_of(team);
  facts.situation = team.situation(call, by_messages, any_transport);
  facts.situation.suara = nullptr;  // another thread's call may be at it
  return explain_choice(facts, call, traits);
}
PAPCOLL_COMPILE_ONCE(Explanation explain_call<>(TeamCore&, Collective, std::size_t,
                                                const CallTraits&))

}  // namespace papcoll::inline PAPCOLL_ABI::detail
