#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/node/call_words.hpp>
#include <papcoll/runtime/errors/failures.hpp>
#include <papcoll/runtime/messages.hpp>
#include <papcoll/runtime/node_calls.hpp>
#include <papcoll/runtime/team_context.hpp>
#include <papcoll/transport/transport.hpp>

#include <cstdint>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {

/// What happens to calls that are invalid on this rank or on another: the ranks that made good ones
/// must not be stranded.
class InvalidCalls {
 public:
  InvalidCalls(TeamContext& basis, NodeCallTracker& node, TeamFailures& failures,
               TeamMessages& messages)
      : basis_(basis), node_(node), failures_(failures), messages_(messages) {}

  /// This rank's call is invalid: tells the peers, who throw peer_error, and throws argument_error,
  /// or a kind of it.
  template <class Error = argument_error>
  [[noreturn]] void refuse(Called called, const std::string& text) {
    const std::string what = detail::joined(
        {called.name(), " on rank ", basis_.rank(), " of ", basis_.size(), ": ", text});
    throw Error(detail::joined({"papcoll: ", what, tell(called.non_blocking, what)}));
  }

  /// Tells the peers that this rank's call is invalid. If all ranks make such a call at once, the
  /// team stays as it was. Returns what is to be added to the exception of this rank, which may
  /// hear only here that an earlier call did not match; or nothing.
  [[gnu::cold]] std::string tell(bool non_blocking, const std::string& what) {
    if (failures_.broken()) return {};
    if (!non_blocking) return refuse_call(detail::bare(what));
    refuse_request(detail::bare(what));
    return {};
  }

  /// How many numbers a non-blocking call takes: if it is compared, that has one of its own.
  std::uint32_t numbers_of_request() const noexcept {
    return assertion_level >= 2 && basis_.size() > 1 ? 2 : 1;
  }

  /// Has a peer refused a non-blocking call that this rank has started? Throws peer_error; the team
  /// is broken then.
  void look_for_refused_requests() {
    const int r = node_.find_refused_request(basis_.calls.requests());
    if (r < 0) return;
    basis_.mismatch(
        detail::joined({"rank ", r, " made an invalid non-blocking call; its exception says why"}));
  }

 private:
  [[gnu::cold]] std::string refuse_call(const std::string& what) {
    basis_.calls.count_blocking();
    if (node_.is_there()) {
      std::string earlier = node_.refuse_call(what);
      // As in CallScope, for a call that this rank left before it could hear.
      if (!earlier.empty() && node_.last_in_frame_passed_messages()) {
        failures_.fail_everywhere(earlier);
      }
      return earlier;
    }
    if constexpr (assertion_level >= 2) {
      CallWords words;
      words.what = CallWords::invalid;
      try {
        messages_.compare(words, what);
      } catch (const peer_error&) {  // NOLINT(bugprone-empty-catch): this rank knows
      }
    } else {
      tell_by_message(what);
    }
    return {};
  }

  [[gnu::cold]] void refuse_request(const std::string& what) {
    const std::uint32_t number = basis_.calls.count_requests(numbers_of_request());
    if (node_.is_there()) return node_.refuse_request(number);
    tell_by_message(what);
  }

  [[gnu::cold]] void tell_by_message(const std::string& what) {
    const TeamHooks& hooks = basis_.hooks;
    if (hooks.refused) {
      hooks.refused(hooks.context, basis_.calls.next() - 1, PeerFailureNotice::invalid_call, what);
    }
  }

  TeamContext& basis_;
  NodeCallTracker& node_;
  TeamFailures& failures_;
  TeamMessages& messages_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
