#pragma once

#include <papcoll/algorithms/static/linear.hpp>
#include <papcoll/algorithms/static/recursive_doubling.hpp>
#include <papcoll/arrival/background_allgather.hpp>
#include <papcoll/arrival/predictions.hpp>
#include <papcoll/arrival/remote_arrival_monitor.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/node/call_words.hpp>
#include <papcoll/node/waiting/waiter.hpp>
#include <papcoll/runtime/call_counter.hpp>
#include <papcoll/runtime/errors/failures.hpp>
#include <papcoll/runtime/in_flight.hpp>
#include <papcoll/runtime/node_calls.hpp>
#include <papcoll/runtime/setup/connections.hpp>
#include <papcoll/runtime/setup/node_rendezvous.hpp>
#include <papcoll/runtime/team_context.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/plan_run.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/transport/transport.hpp>

#include <cstdint>
#include <exception>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// How a team passes messages: by plans on its endpoints, waited for or, for what it agrees on from
/// time to time, not.
class TeamMessages {
 public:
  TeamMessages(TeamContext& basis, NodeCallTracker& node, InFlight& in_flight,
               TeamFailures& failures)
      : basis_(basis), node_(node), in_flight_(in_flight), failures_(failures) {}

  /// As Connections::endpoint(). A rank that fails in connecting, alone, breaks the team.
  Endpoint& endpoint(const TransportTable& t) {
    return *or_break([&] { return &in_flight_.connections.endpoint(t); });
  }

  /// As Connections::endpoint_or_native(), where the team has native collectives.
  Endpoint* endpoint_or_native(const TransportTable& t) {
    if (basis_.hooks.native == nullptr) return &endpoint(t);
    return or_break([&] { return in_flight_.connections.endpoint_or_native(t); });
  }

  /// As Endpoint::run_to_end(), which only simulated ranks have, if nothing else of this rank's
  /// could need moving.
  bool waited_in_endpoint(const PlanRun& plan_run) {
    const TeamHooks& hooks = failures_.outermost_hooks();
    if (hooks.busy_elsewhere == nullptr) return false;
    Endpoint* const e = failures_.outermost_endpoint();
    return e != nullptr && !hooks.busy_elsewhere(hooks.context) && e->run_to_end(plan_run);
  }

  void run_plan(const AnySchedule& schedule, Endpoint& e, bool rings, const Call& call,
                PlayedOrder played = {}) {
    PlanRun& plan_run = in_flight_.plan_runs.of_blocking_call();
    failures_.or_fail_everywhere([&] {
      in_flight_.plan_runs.begin(plan_run, e, schedule, call, basis_.calls.sequence(), played);
      if (waited_in_endpoint(plan_run)) return;
      basis_.waiter.until(
          [&] {
            e.progress();
            return plan_run.done();
          },
          rings ? Naps::until_rung : Naps::none);
    });
  }

  /// Throws peer_error, on all ranks and with nothing in flight, if the ranks' calls differ.
  void compare(const CallWords& words, std::string_view refusal) {
    if (basis_.size() == 1) return;
    if (node_.is_there()) return node_.compare();
    const TransportTable& t = basis_.agrees_by();
    Endpoint* const e = endpoint_or_native(t);
    if (e == nullptr) return;
    ComparedCalls calls{words, basis_.rank(), refusal};
    run_plan(AnySchedule::of<RecursiveDoubling>(), *e, t.rings, calls.call());
    basis_.calls.count_blocking();  // the call itself has a number of its own
    if (calls.differ) basis_.mismatch(calls.describe());
  }

  /// May a call of this sequence number be in flight beside those that are? Moves them.
  bool has_room(Endpoint& e, std::uint32_t sequence) {
    if (!in_flight_.parts.blocks(e, sequence) &&
        (!in_flight_.has_requests() || !in_flight_.plan_runs.blocks(e, sequence))) {
      return true;
    }
    failures_.progress();
    return false;
  }

  /// The exchange of what `figures` has collected, if one is under way, takes effect: at the same
  /// call on all ranks. It is waited for if it is not complete.
  template <class Figures, class Adopt>
  void end_exchange(Figures& figures, Adopt&& adopt) {
    if (complete(figures.agreement())) adopt();
  }
  /// The next one begins: at the same call on all ranks, where none is under way.
  template <class Figures>
  [[gnu::noinline, gnu::cold]] void begin_exchange(Figures& figures, Endpoint& e, bool rings) {
    // Of a request that nobody holds.
    const std::uint32_t sequence = CallCounter::sequence_of_request(basis_.calls.count_requests());
    basis_.waiter.until([&] { return has_room(e, sequence); }, Naps::none);
    figures.begin(e, rings, exchange_over(rings), in_flight_.plan_runs.plans(), sequence);
  }

  /// What the last exchange of costs has told is in force from here on, and the next one begins, if
  /// there is something to tell: all ranks know.
  [[gnu::noinline, gnu::cold]] void tell_costs(RemoteArrivalMonitor& costs) {
    CostListener* const listener = node_.cost_listener();
    end_exchange(costs, [&] { costs.adopt(listener); });
    if (listener != nullptr) listener->settle(1);
    if (!costs.has_noted()) return;
    const TransportTable& t = basis_.agrees_by();
    if (Endpoint* const e = endpoint_or_native(t)) begin_exchange(costs, *e, t.rings);
  }

  /// Returns when all ranks have come, so that none is alone in what blocks in MPI. `look` is
  /// called while this rank waits, and may throw. A rank that cannot go on closes the gate; if all
  /// have come by then, it connects like the others before it throws.
  template <class Look>
  void meet_on_node(const TransportTable& t, Look&& look) {
    NodeRendezvous* const rendezvous = node_.rendezvous();
    if (rendezvous == nullptr) return;
    rendezvous->arrive();
    try {
      basis_.waiter.until([&] {
        look();
        if (rendezvous->is_closed()) failures_.check();
        return rendezvous->is_open();
      });
    } catch (const std::exception& problem) {
      failures_.fail_everywhere(problem);
      if (!rendezvous->close()) {
        try {
          static_cast<void>(t.connect(basis_.surroundings));
        } catch (const error&) {  // NOLINT(bugprone-empty-catch): why it came to this matters more
        }
      }
      throw;
    }
  }

 private:
  template <class Connect>
  Endpoint* or_break(Connect&& connect) {
    try {
      return connect();
    } catch (const transport_unavailable&) {  // on all ranks
      throw;
    } catch (const std::exception& problem) {
      failures_.fail_everywhere(problem);
      throw;
    }
  }

  /// Completes the exchange that is under way. False: none is.
  bool complete(BackgroundAllgather& a) {
    if (!a.is_under_way()) return false;
    basis_.waiter.until([&a] { return a.progress(); }, a.rings() ? Naps::until_rung : Naps::none);
    return true;
  }

  /// In shared memory few pairs of ranks talk, since each pair that does takes memory for it.
  static AnySchedule exchange_over(bool rings) {
    return rings ? AnySchedule::of<RecursiveDoubling>() : AnySchedule::of<DirectAllgather>();
  }

  TeamContext& basis_;
  NodeCallTracker& node_;
  InFlight& in_flight_;
  TeamFailures& failures_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
