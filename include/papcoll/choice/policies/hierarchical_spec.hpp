// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/hierarchical/hierarchical.hpp>
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/arrival/predictor.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/choice/policies/algorithm_spec.hpp>
#include <papcoll/choice/policies/requirements.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/transport/transport.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Runs a hierarchical call of collective C: see choice/selection/run_hierarchical.hpp.
template <Collective C>
void run_hierarchical(TeamCore& team, const HierarchicalSpec& hierarchical, const Call& call);

/// Returns what a hierarchical algorithm requires of a call, whatever its parts are.
constexpr AlgorithmNeeds hierarchical_needs(Collective c) noexcept {
  AlgorithmNeeds needs;
  needs.bits = requirement::blocking_call;
  // Representatives pass blocks on for others, whose lengths they must know.
  if (c == Collective::gather || c == Collective::scatter) needs.bits |= requirement::own_parts;
  return needs;
}

/// Returns a number that identifies a hierarchical algorithm, however it was named.
inline std::uint32_t hierarchical_id(const HierarchicalSpec& c) {
  std::uint32_t h = 2166136261U;
  for (const AlgorithmSpec* s : {&c.intra, &c.inter}) {
    std::string text;
    if (s->arrival != nullptr) text += s->arrival->name;
    if (s->schedule) text += s->schedule.name();
    if (s->order) text += joined({"+", s->order.name()});
    text += "+";
    text += s->transport != nullptr ? s->transport->name : s->transport_name;
    for (const char one : text) h = (h ^ static_cast<unsigned char>(one)) * 16777619U;
    if (s->hierarchical != nullptr) h = (h ^ s->hierarchical->id) * 16777619U;
  }
  return h;
}

/// Hierarchical with a schedule among the nodes; what is left out is chosen for each call.
[[gnu::cold]] inline HierarchicalSpec hierarchical_with(AnySchedule inter = {}) {
  HierarchicalSpec c;
  c.inter.schedule = std::move(inter);
  c.id = hierarchical_id(c);
  return c;
}

/// Hierarchical whose parts are chosen for each call.
inline const HierarchicalSpec& hierarchical_of_chosen() {
  static const HierarchicalSpec hierarchical = hierarchical_with();
  return hierarchical;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
