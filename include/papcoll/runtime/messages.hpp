// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/static/linear.hpp>
#include <papcoll/algorithms/static/recursive_doubling.hpp>
#include <papcoll/arrival/background_allgather.hpp>
#include <papcoll/arrival/predictions.hpp>
#include <papcoll/arrival/remote_arrival_monitor.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/node/call_fingerprint.hpp>
#include <papcoll/node/waiting/waiter.hpp>
#include <papcoll/runtime/node_signals.hpp>
#include <papcoll/runtime/setup/connections.hpp>
#include <papcoll/runtime/team_context.hpp>
#include <papcoll/runtime/team_state.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/plan_run.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/transport/transport.hpp>

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// How a team passes messages: by plans on its endpoints, waited for or, for what it agrees on from
/// time to time, not.
class TeamMessages {
 public:
  explicit TeamMessages(TeamState& team) : team_(team) {}

  /// As Connections::endpoint(). A rank that fails in connecting, alone, breaks the team.
  Endpoint& endpoint(const TransportTable& t) {
    return team_.or_break([&]() -> Endpoint& { return team_.connections.endpoint(t); });
  }

  /// As Connections::endpoint_or_native(), where the team has native collectives.
  Endpoint* endpoint_or_native(const TransportTable& t) {
    if (!team_.hooks().has_native) return &endpoint(t);
    return team_.or_break([&] { return team_.connections.endpoint_or_native(t); });
  }

  /// As Endpoint::run_to_end(), which only simulated ranks have, if nothing else of this rank's
  /// could need moving.
  bool waited_in_endpoint(const PlanRun& plan_run) {
    const TeamState& outermost = team_.outermost();
    Endpoint* const e = outermost.connections.only();
    return e != nullptr && !outermost.hooks().busy_elsewhere() && e->run_to_end(plan_run);
  }

  void run_plan(const AnySchedule& schedule, Endpoint& e, bool wakes_receivers, const Call& call,
                PlayedOrder played = {}) {
    PlanRun& plan_run = team_.plan_runs.of_blocking_call();
    team_.or_abort_team([&] {
      team_.plan_runs.begin(plan_run, e, schedule, call, team_.calls.sequence(), played);
      if (waited_in_endpoint(plan_run)) return;
      team_.waiter().until(
          [&] {
            e.progress();
            return plan_run.done();
          },
          wakes_receivers ? Naps::until_rung : Naps::none);
    });
  }

  /// Throws peer_error, on all ranks and with nothing in flight, if the ranks' calls differ.
  void compare(const CallFingerprint& fingerprint, std::string_view refusal) {
    if (team_.size() == 1) return;
    if (team_.node.is_there()) return team_.node.compare();
    const TransportTable& t = team_.agrees_by();
    Endpoint* const e = endpoint_or_native(t);
    if (e == nullptr) return;
    ComparedCalls calls{fingerprint, team_.rank(), refusal};
    run_plan(AnySchedule::of<RecursiveDoubling>(), *e, t.wakes_receivers, calls.call());
    team_.calls.count_blocking();  // the call itself has a number of its own
    if (calls.differ) team_.mismatch(calls.describe());
  }

  /// Returns true if a call of this sequence number may be in flight beside those that are. Makes
  /// progress on them.
  bool has_room(Endpoint& e, std::uint32_t sequence) {
    bool blocked = team_.has_requests() && team_.plan_runs.blocks(e, sequence);
    team_.parts.each([&](TeamPart& part) { blocked |= part.blocks(e, sequence); });
    if (!blocked) return true;
    team_.progress();
    return false;
  }

  /// The exchange of what `figures` has collected, if one is under way, takes effect: at the same
  /// call on all ranks. It is waited for if it is not complete.
  template <class Figures, class Adopt> void end_exchange(Figures& figures, Adopt&& adopt) {
    if (complete(figures.allgather())) adopt();
  }
  /// The next one begins: at the same call on all ranks, where none is under way.
  template <class Figures>
  [[gnu::noinline, gnu::cold]] void begin_exchange(Figures& figures, Endpoint& e,
                                                   bool wakes_receivers) {
    // Of a request that is not the user's.
    const std::uint32_t sequence = CallCounter::sequence_of_request(team_.calls.count_requests());
    team_.waiter().until([&] { return has_room(e, sequence); }, Naps::none);
    figures.begin(e, wakes_receivers, exchange_over(wakes_receivers), team_.plan_runs.plans(),
                  sequence);
  }

  /// The last exchange of costs takes effect, and the next one begins if any rank has something to
  /// exchange, which all know.
  [[gnu::noinline, gnu::cold]] void exchange_costs(RemoteArrivalMonitor& costs) {
    CostListener* const listener = team_.node.costs;
    end_exchange(costs, [&] { costs.adopt(listener); });
    if (listener != nullptr) listener->evaluate(1);
    if (!costs.has_noted()) return;
    const TransportTable& t = team_.agrees_by();
    if (Endpoint* const e = endpoint_or_native(t)) begin_exchange(costs, *e, t.wakes_receivers);
  }

  /// Returns when all ranks have arrived, so that none is alone in what blocks in MPI. `look` is
  /// called while this rank waits, and may throw. A rank that cannot go on closes the gate; if all
  /// have come by then, it connects like the others before it throws.
  template <class Look> void meet_on_node(const TransportTable& t, Look&& look) {
    NodeRendezvous* const rendezvous = team_.node.rendezvous();
    if (rendezvous == nullptr) return;
    rendezvous->arrive();
    try {
      team_.waiter().until([&] {
        look();
        if (rendezvous->is_closed()) team_.check();
        return rendezvous->is_open();
      });
    } catch (const std::exception& problem) {
      team_.abort_team(problem);
      if (!rendezvous->close()) {
        try {
          static_cast<void>(t.connect(team_.environment()));
        } catch (const error&) {  // NOLINT(bugprone-empty-catch): why it came to this matters more
        }
      }
      throw;
    }
  }

 private:
  /// Completes the exchange that is under way. False: none is.
  bool complete(BackgroundAllgather& a) {
    if (!a.is_under_way()) return false;
    team_.waiter().until([&a] { return a.progress(); },
                         a.wakes_receivers() ? Naps::until_rung : Naps::none);
    return true;
  }

  /// In shared memory few pairs of ranks talk, since each pair that does takes memory for it.
  static AnySchedule exchange_over(bool wakes_receivers) {
    return wakes_receivers ? AnySchedule::of<RecursiveDoubling>()
                           : AnySchedule::of<DirectAllgather>();
  }

  TeamState& team_;
};

/// What happens to calls that are invalid on this rank or on another: the ranks that made good ones
/// must not be stranded.
class InvalidCalls {
 public:
  InvalidCalls(TeamState& team, TeamMessages& messages) : team_(team), messages_(messages) {}

  /// This rank's call is invalid: notifies the peers, which throw peer_error, and throws
  /// argument_error, or a class derived from it.
  template <class Error = argument_error>
  [[noreturn]] void refuse(CallLabel label, const std::string& text) {
    const std::string what =
        detail::joined({label.name(), " on rank ", team_.rank(), " of ", team_.size(), ": ", text});
    throw Error(detail::joined({"papcoll: ", what, notify_peers(label.non_blocking, what)}));
  }

  /// Notifies the peers that this rank's call is invalid. If all ranks make such a call at once,
  /// the team stays usable. Returns what is to be added to the exception of this rank, which may
  /// learn only here that an earlier call did not match; usually empty.
  [[gnu::cold]] std::string notify_peers(bool non_blocking, const std::string& what) {
    if (team_.broken()) return {};
    if (!non_blocking) return refuse_call(detail::bare(what));
    refuse_request(detail::bare(what));
    return {};
  }

  /// Returns the number of numbers that a non-blocking call takes: if it is compared, that has one
  /// of its own.
  std::uint32_t numbers_of_request() const noexcept {
    return assertion_level >= 2 && team_.size() > 1 ? 2 : 1;
  }

  /// Throws peer_error if a peer has refused a non-blocking call that this rank has started; the
  /// team is broken then.
  void look_for_refused_requests() {
    const int r = team_.node.find_refused_request(team_.calls.requests());
    if (r < 0) return;
    team_.mismatch(
        detail::joined({"rank ", r, " made an invalid non-blocking call; its exception says why"}));
  }

 private:
  [[gnu::cold]] std::string refuse_call(const std::string& what) {
    team_.calls.count_blocking();
    if (team_.node.is_there()) {
      std::string earlier = team_.node.refuse_call(what);
      // As in CallScope, for a call that this rank left before it could learn of the fault.
      if (!earlier.empty() && team_.node.earlier_call_passed_messages()) {
        team_.abort_team(earlier);
      }
      return earlier;
    }
    if constexpr (assertion_level >= 2) {
      CallFingerprint fingerprint;
      fingerprint.packed = CallFingerprint::invalid;
      try {
        messages_.compare(fingerprint, what);
      } catch (const peer_error&) {  // NOLINT(bugprone-empty-catch): this rank knows
      }
    } else {
      notify_by_message(what);
    }
    return {};
  }

  [[gnu::cold]] void refuse_request(const std::string& what) {
    const std::uint32_t number = team_.calls.count_requests(numbers_of_request());
    if (team_.node.is_there()) return team_.node.refuse_request(number);
    notify_by_message(what);
  }

  [[gnu::cold]] void notify_by_message(const std::string& what) {
    team_.hooks().refused(team_.calls.next() - 1, 0, what);
  }

  TeamState& team_;
  TeamMessages& messages_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
