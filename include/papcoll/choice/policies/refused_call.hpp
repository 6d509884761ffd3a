#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/choice/policies/requirement_text.hpp>
#include <papcoll/runtime/team.hpp>

#include <string>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Refuses a call because of a row of the table of requirements: tells the other ranks, and throws.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_call(TeamCore& core, Called called,
                                                               const Requirement& why,
                                                               RefusalDetails details) {
  if (why.bit == requirement::small_elements || why.bit == requirement::room_for_ranks) {
    details.limit = core.options().chunk_bytes;
  }
  if (why.bit != requirement::common_memory) {
    core.refuse<unsupported_call>(called, refusal(why, details));
  }
  const std::string& reason = core.surroundings().why_no_shared_memory;
  if (!reason.empty()) details.remedy = reason;
  const std::string text = refusal(why, details);
  core.tell_refusal(called.non_blocking, text);
  throw transport_unavailable(joined({"papcoll: ", text}));
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
