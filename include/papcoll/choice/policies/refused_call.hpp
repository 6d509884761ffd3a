// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/choice/policies/requirements.hpp>
#include <papcoll/runtime/team.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Refuses a call because of a row of the table of requirements: notifies the other ranks, and
/// throws.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_call(TeamCore& core, CallLabel label,
                                                               const Requirement& why,
                                                               RefusalDetails details) {
  if (why.bit != requirement::common_memory) {
    core.invalid.refuse<unsupported_call>(label, refusal(why, details));
  }
  const std::string& reason = core.environment().why_no_shared_memory;
  if (!reason.empty()) details.remedy = reason;
  const std::string text = refusal(why, details);
  core.invalid.notify_peers(label.non_blocking, text);
  throw transport_unavailable(joined({"papcoll: ", text}));
}

/// Refuses a call whose contract is stated if an algorithm, which needs that in it, cannot run it.
template <class Algorithm>
void require_able(TeamCore& core, CallLabel label, const Algorithm& algorithm,
                  const AlgorithmNeeds& needs, const Call& call, const TeamOffers& offers = {},
                  std::string_view transport = {}) {
  const CallFacts facts = facts_of(call, label.non_blocking);
  const Requirement* const why = why_not(needs, facts, offers);
  if (why == nullptr) return;
  RefusalDetails details = details_of(*why, needs, facts, offers);
  if constexpr (requires { algorithm.name(); }) {
    details.algorithm = algorithm.name();
  } else {
    details.algorithm = algorithm.name;
  }
  details.transport = transport;
  add_served_algorithms(details, *why, call.collective,
                        [&](Collective c) { return algorithm.serves(c); });
  refuse_call(core, label, *why, std::move(details));
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
