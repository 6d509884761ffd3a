// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/static/recursive_doubling.hpp>
#include <papcoll/arrival/order_source.hpp>
#include <papcoll/arrival/predictions.hpp>
#include <papcoll/arrival/remote_arrival_monitor.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/node/call_fingerprint.hpp>
#include <papcoll/node/waiting/waiter.hpp>
#include <papcoll/runtime/background_exchanges.hpp>
#include <papcoll/runtime/messages.hpp>
#include <papcoll/runtime/plan_runs.hpp>
#include <papcoll/runtime/team_context.hpp>
#include <papcoll/runtime/team_state.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/plan_run.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/transport/memory_transports.hpp>
#include <papcoll/transport/transport.hpp>

#include <chrono>
#include <cstdint>
#include <new>
#include <string>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

/// The non-blocking calls of a team: any call of the team moves them all.
class TeamRequests {
 public:
  TeamRequests(TeamState& team, TeamMessages& messages, InvalidCalls& invalid)
      : team_(team), messages_(messages), invalid_calls_(invalid) {}

  /// Null: there is nothing to wait for. Local, but for the first request that needs MPI messages,
  /// and for one that comes thousands of requests after one that is still under way, or has not
  /// begun on all ranks.
  RequestRun* start(const AnySchedule& schedule, const TransportTable& transport, const Call& call,
                    const OrderSource& source = {}) {
    require_usable();
    try {
      return start_usable(schedule, transport, call, source);
    } catch (const std::bad_alloc& problem) {  // on this rank alone
      team_.abort_team(problem);
      throw;
    }
  }

  /// Waits for a request.
  void wait(const PlanRun& plan_run) {
    require_usable();
    if (plan_run.done()) return;
    team_.awaited = &plan_run;
    const detail::OnExit over{[this] { team_.awaited = nullptr; }};
    team_.or_abort_team([&] {
      if constexpr (assertion_level < 2) {
        if (messages_.waited_in_endpoint(plan_run)) return;
      }
      wait_until_done(plan_run);
    });
  }

  /// Makes progress once, as a wait does repeatedly. Returns true if the request is complete.
  bool test(const PlanRun& plan_run) {
    require_usable();
    team_.progress();
    if (plan_run.done()) return true;
    team_.or_abort_team([&] {
      invalid_calls_.look_for_refused_requests();
      team_.check();
      team_.hooks().progress();
      if (const auto now = Waiter::Clock::now(); now >= next_watch_) {
        next_watch_ = now + team_.waiter().times.watch_every;
        team_.hooks().watch();
      }
    });
    return plan_run.done();
  }

  /// The request is done with. Throws peer_error if the ranks' calls were compared and differ.
  void finish(RequestRun& plan_run) {
    if (plan_run.timed != 0) note_cost(plan_run);
    forget(plan_run);
    if (!team_.has_requests()) return;
    team_.end_request();
    if constexpr (assertion_level >= 2) {
      const std::string difference = team_.comparisons.end(plan_run);
      if (!difference.empty()) team_.mismatch(difference);
    }
  }

  /// As finish(), after the team broke.
  void forget(RequestRun& plan_run) noexcept {
    plan_run.timed = 0;
    runs().give_back(plan_run);
  }

 private:
  static std::uint32_t sequence(std::uint32_t request) noexcept {
    return CallCounter::sequence_of_request(request);
  }

  RequestRuns& runs() noexcept { return team_.plan_runs.of_requests(); }

  RequestRun* start_usable(const AnySchedule& schedule, const TransportTable& transport,
                           const Call& call, const OrderSource& source) {
    PlayedOrder played{nullptr, source.along()};
    if (const AnyPredictor& predictor = source.predictor()) {
      played.predictions = &team_.parts.get<BackgroundExchanges>(team_).predictions_by(predictor);
    }
    if constexpr (assertion_level >= 2) {
      if (team_.size() > 1) return start_compared(schedule, transport, call, played);
    }
    const bool times = call.trial.kind != 0 && count_learned(call.trial);
    const std::uint32_t number = team_.calls.count_requests();
    const std::uint32_t timed = times ? costs().begin(call.trial) : 0;
    if (is_empty(call)) return nullptr;
    const std::chrono::nanoseconds started =
        times ? team_.hooks().now() : std::chrono::nanoseconds{};
    Endpoint& e = endpoint_for_request(transport);
    wait_for_room(e, number);
    team_.begin_request();
    RequestRun& run = begin(e, schedule, call, number, played, Launch::at_once);
    run.timed = timed;
    run.started = started;
    return &run;
  }

  RemoteArrivalMonitor& costs() { return team_.parts.get<BackgroundExchanges>(team_).requests(); }

  /// Called before a start for which a learner was asked. Returns true if it is timed.
  bool count_learned(const CallTrial& trial) {
    const bool times = trial.is_timed(team_.calls.next(), false);
    if (costs().count()) team_.or_abort_team([this] { messages_.exchange_costs(costs()); });
    return times;
  }

  [[gnu::noinline]] void note_cost(RequestRun& run) {
    costs().end(std::exchange(run.timed, 0), team_.hooks().now() - run.started);
  }

  void require_usable() const {
    team_.require_usable();
    team_.require_no_call();
    team_.require_own_thread();
  }

  void wait_until_done(const PlanRun& plan_run) {
    // A look goes through all peers, and a pass without one sees a message sooner.
    constexpr std::uint32_t passes_a_look = 32;
    std::uint32_t passes = 0;
    team_.waiter().until(
        [&] {
          team_.progress();
          if (plan_run.done()) return true;
          if (++passes % passes_a_look == 0) invalid_calls_.look_for_refused_requests();
          return plan_run.done();
        },
        Naps::none);
  }

  void wait_for_room(Endpoint& e, std::uint32_t request) {
    team_.or_abort_team([&] {
      team_.waiter().until([&] { return messages_.has_room(e, sequence(request)); }, Naps::none);
    });
  }

  RequestRun& begin(Endpoint& e, const AnySchedule& schedule, const Call& call,
                    std::uint32_t number, const PlayedOrder& played, Launch launch) {
    RequestRun& plan_run = runs().take();
    team_.or_abort_team([&] {
      team_.plan_runs.begin(plan_run, e, schedule, call, sequence(number), played, launch);
    });
    runs().begun(plan_run);
    return plan_run;
  }

  /// Starts what compares the ranks' calls, and the call itself behind it.
  RequestRun* start_compared(const AnySchedule& schedule, const TransportTable& transport,
                             const Call& call, const PlayedOrder& played) {
    const CallFingerprint fingerprint = fingerprints_.of(call, schedule, transport, played);
    // Whatever becomes of it: peers count both, that of the comparison and that of the call.
    const std::uint32_t own = team_.calls.count_requests(2);
    const std::uint32_t number = own - 1;
    Endpoint& nearest = endpoint_for_request(default_transport(team_.environment()));
    wait_for_room(nearest, number);
    team_.begin_request();
    RequestRun& run = runs().take();
    Comparison& c = team_.comparisons.begin(fingerprint, team_.rank(), run);
    team_.or_abort_team([&] {
      team_.plan_runs.begin(run, nearest, AnySchedule::of<RecursiveDoubling>(), c.calls.call(),
                            sequence(number));
    });
    runs().begun(run);
    if (is_empty(call)) {
      c.hold(run);
      return &run;
    }
    // Where connecting blocks in MPI, no rank may be left alone in it.
    if (team_.connections.connecting_blocks(transport)) await(c);
    Endpoint* e = nullptr;
    try {
      e = &endpoint_for_request(transport);
    } catch (const transport_unavailable&) {
      if (team_.broken()) throw;
      await(c);
      finish_comparison(c);
      throw;
    }
    wait_for_room(*e, own);
    c.hold(begin(*e, schedule, call, own, played, Launch::on_go));
    return c.held;
  }

  /// Throws peer_error if the calls differ.
  void await(Comparison& c) {
    team_.or_abort_team([&] { wait_until_done(*c.run); });
    if (c.calls.differ) finish_comparison(c);
  }

  void finish_comparison(Comparison& c) {
    c.hold(*c.run);
    finish(*c.run);
  }

  Endpoint& endpoint_for_request(const TransportTable& t) {
    if (team_.connections.connecting_blocks(t)) {
      messages_.meet_on_node(
          t, [this] { invalid_calls_.look_for_refused_requests(); });  // who refused does not come
    }
    return messages_.endpoint(t);
  }

  TeamState& team_;
  TeamMessages& messages_;
  InvalidCalls& invalid_calls_;
  PlanFingerprints fingerprints_;
  Waiter::Clock::time_point next_watch_{};
};

}  // namespace papcoll::inline PAPCOLL_ABI
