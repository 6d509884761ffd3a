#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/node/call_words.hpp>
#include <papcoll/runtime/errors/failures.hpp>
#include <papcoll/runtime/in_flight.hpp>
#include <papcoll/runtime/node_calls.hpp>
#include <papcoll/runtime/team_context.hpp>

#include <atomic>

namespace papcoll::inline PAPCOLL_ABI {

/// As long as it lives, this thread is the only one in a blocking call of the team: a second one
/// throws.
class OnlyCall : Pinned {
 public:
  explicit OnlyCall(TeamContext& basis) : in_call_(basis.in_call) {
    basis.require_no_call();
    in_call_.store(true, std::memory_order_relaxed);
  }
  ~OnlyCall() { in_call_.store(false, std::memory_order_relaxed); }

 private:
  std::atomic<bool>& in_call_;
};

/// One blocking call, from entering its frame on the node's board to leaving it; or, in a team
/// without a board, as long as messages about failures name it.
class CallScope : Pinned {
 public:
  /// Always inline, so that a call costs the same however many kinds of calls a program makes.
  [[gnu::always_inline]] CallScope(TeamContext& basis, NodeCallTracker& node, InFlight& in_flight,
                                   TeamFailures& failures, const CallWords& words, const Call& call)
      : only_call_(basis), node_(node), failures_(failures) {
    failures.require_usable();
    if (in_flight.has_requests()) move_requests(basis, in_flight);
    basis.calls.count_blocking();
    if (node.is_there()) {
      if (!node.begin(words, call)) fail_for_earlier_call();
    } else {
      failures.set_call(words);
    }
  }
  [[gnu::always_inline]] ~CallScope() {
    if (node_.is_there()) {
      node_.end();
    } else {
      failures_.set_call({0, CallWords::invalid});
    }
  }

 private:
  [[gnu::noinline, gnu::cold]] void move_requests(const TeamContext& basis,
                                                  const InFlight& in_flight) {
    in_flight.require_own_thread(basis.rank());
    failures_.progress();
  }

  /// A call that this rank has long left did not match. If it passed messages there, one may be
  /// left that nobody has taken, and a much later call must not take it.
  [[noreturn, gnu::noinline, gnu::cold]] void fail_for_earlier_call() {
    const bool passed_messages = node_.last_in_frame_passed_messages();
    try {
      node_.fail_for_earlier_call();
    } catch (const peer_error& problem) {
      if (passed_messages) failures_.fail_everywhere(problem);
      throw;
    }
  }

  OnlyCall only_call_;  // first: undone also where the rest of the constructor throws
  NodeCallTracker& node_;
  TeamFailures& failures_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
