#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/node/call_words.hpp>
#include <papcoll/runtime/basis.hpp>
#include <papcoll/runtime/failures.hpp>
#include <papcoll/runtime/in_flight.hpp>
#include <papcoll/runtime/node_side.hpp>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// One blocking call, from entering its frame on the node's board to leaving it; or, in a team
/// without a board, as long as messages about failures name it.
class CallScope {
 public:
  /// Always inline, so that a call costs the same however many kinds of calls a program makes.
  [[gnu::always_inline]] CallScope(TeamBasis& basis, NodeSide& node, InFlight& in_flight,
                                   TeamFailures& failures, const CallWords& words, const Call& call)
      : node_(node), failures_(failures) {
    failures.require_usable();
    if (in_flight.has_requests()) move_requests(basis, in_flight);
    basis.calls.count_blocking();
    if (node.is_there()) {
      node.begin(words, call);
    } else {
      failures.set_call(words);
    }
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  [[gnu::always_inline]] ~CallScope() {
    if (node_.is_there()) {
      node_.end();
    } else {
      failures_.set_call({0, CallWords::invalid});
    }
  }

 private:
  [[gnu::noinline, gnu::cold]] void move_requests(const TeamBasis& basis,
                                                  const InFlight& in_flight) {
    in_flight.require_own_thread(basis.rank());
    failures_.progress();
  }

  NodeSide& node_;
  TeamFailures& failures_;
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
