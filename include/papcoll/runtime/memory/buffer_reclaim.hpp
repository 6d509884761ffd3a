#pragma once

#include <papcoll/node/board.hpp>
#include <papcoll/node/node_site.hpp>
#include <papcoll/node/waiting/waiter.hpp>
#include <papcoll/runtime/errors/failures.hpp>
#include <papcoll/runtime/node_calls.hpp>
#include <papcoll/runtime/team_context.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// How a rank gets the buffers back that it has lent to its peers, in a call that has failed.
class BufferReclaim {
 public:
  BufferReclaim(TeamContext& basis, NodeCallTracker& node, TeamFailures& failures)
      : basis_(basis), node_(node), failures_(failures) {}

  /// The user has his buffers back with the exception, to free or to write them: returns when no
  /// peer is at work on them any more, after one of their steps. A dead peer is not waited for, and
  /// one that is stopped until the deadline; from then on the communicator is broken. Called in the
  /// handler of what the call threw.
  void take_back() noexcept {
    NodeSite& site = node_.site();
    // From here on no peer begins to work on them. What failed may be known to a team that this one
    // is a part of, and not to the ranks of this one.
    if (!site.failed()) failures_.abort_node(failures_.handled_reason());
    site.end_reading();  // an exception may have come in between
    struct Patience {
      BufferReclaim& buffers;
      bool over = false;
    } patience{*this};
    Waiter waiter = basis_.waiter;
    if (!basis_.surroundings.processes) waiter.deadline = {};
    waiter.hooks = {};
    waiter.hooks.context = &patience;
    waiter.hooks.watch = [](void* p) { static_cast<Patience*>(p)->buffers.forget_dead_readers(); };
    waiter.hooks.expired = [](void* p) { static_cast<Patience*>(p)->over = true; };
    waiter.until([&] { return patience.over || site.reader() < 0; }, Naps::brief);
    if (!patience.over) return;
    failures_.abort_node(NodeBoard::Abort::deadline);
    failures_.give_up("a peer is stopped in the midst of a call that failed");
  }

 private:
  void forget_dead_readers() noexcept {
    const TeamHooks& h = failures_.outermost_hooks();
    NodeSite& site = node_.site();
    for (int r = 0; r < basis_.size() && h.is_gone != nullptr; ++r) {
      if (site.is_reading(r) && h.is_gone(h.context, basis_.shown(r))) site.forget_reader(r);
    }
  }

  TeamContext& basis_;
  NodeCallTracker& node_;
  TeamFailures& failures_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
