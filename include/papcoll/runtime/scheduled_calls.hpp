#pragma once

#include <papcoll/arrival/order_source.hpp>
#include <papcoll/arrival/predictions.hpp>
#include <papcoll/arrival/remote_arrival_monitor.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/node/board.hpp>
#include <papcoll/node/call_words.hpp>
#include <papcoll/node/waiting/waiter.hpp>
#include <papcoll/runtime/agreements.hpp>
#include <papcoll/runtime/call_counter.hpp>
#include <papcoll/runtime/call_scope.hpp>
#include <papcoll/runtime/errors/failures.hpp>
#include <papcoll/runtime/in_flight.hpp>
#include <papcoll/runtime/messages.hpp>
#include <papcoll/runtime/node_calls.hpp>
#include <papcoll/runtime/team_context.hpp>
#include <papcoll/runtime/tickets.hpp>
#include <papcoll/schedule/plan_run.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/topology/groups.hpp>
#include <papcoll/transport/transport.hpp>

#include <chrono>
#include <cstdint>
#include <exception>

namespace papcoll::inline PAPCOLL_ABI {

/// Runs a call of that number on an endpoint whose type it knows.
using RunAtEndpoint = void(Endpoint&, std::uint32_t sequence, Waiter&, const Call&);

/// The blocking calls of a team that run by schedules: in the order of the ranks, in a predicted
/// order, or by tickets; and those whose phases are calls of the teams within it.
class ScheduledCalls {
 public:
  ScheduledCalls(TeamContext& basis, NodeCallTracker& node, InFlight& in_flight,
                 TeamFailures& failures, TeamMessages& messages)
      : basis_(basis),
        node_(node),
        in_flight_(in_flight),
        failures_(failures),
        messages_(messages) {}

  /// Runs a static schedule in the order of the ranks.
  void run_in_rank_order(const AnySchedule& schedule, const TransportTable& transport,
                         const Call& call) {
    const CallWords words = words_.of(call, schedule, transport);
    const CallScope scope{basis_, node_, in_flight_, failures_, words, call};
    if (Endpoint* const e = endpoint_for(transport, words, call)) {
      messages_.run_plan(schedule, *e, transport.rings, call);
    }
  }

  /// Runs a static schedule in the order of a source.
  /// `by_ticket`: rather in the order of arrival, if the transport has tickets; it is a chain.
  /// `is_inner`: the team is a part of another.
  void run(const AnySchedule& schedule, const TransportTable& transport, const Call& call,
           const OrderSource& source, bool by_ticket, bool is_inner) {
    const AnyPredictor& predictor = source.predictor();
    Predictions* const expected =
        predictor ? &in_flight_.parts.get<Agreements>(basis_).predictions_by(predictor) : nullptr;
    const auto arrival = predictor ? Waiter::Clock::now() : Waiter::Clock::time_point{};
    const PlayedOrder played{expected, source.along()};
    const CallWords words = words_.of(call, schedule, transport, played, by_ticket);
    const CallScope scope{basis_, node_, in_flight_, failures_, words, call};
    Endpoint* const e = endpoint_for(transport, words, call);
    if (e == nullptr) return;
    if (by_ticket && has_tickets(transport, is_inner)) {
      return run_by_ticket(schedule, *e, call);
    }
    if (expected != nullptr) {
      expected->arrived(arrival);
      if (expected->count_call() && basis_.size() > 1) {
        PlanRuns& runs = in_flight_.plan_runs;
        failures_.or_fail_everywhere([&] {
          messages_.end_exchange(
              *expected, [&] { expected->adopt(runs.plans(), runs.machine_orders().ranks()); });
          messages_.begin_exchange(*expected, *e, transport.rings);
        });
      }
    }
    messages_.run_plan(schedule, *e, transport.rings, call, played);
    if (expected != nullptr) expected->left(call.collective, arrival);
  }

  /// Runs a call by what the transport's endpoint offers beyond steps of plans. `id` tells the
  /// algorithm from others; `run` moves the call to its end.
  void run_at_endpoint(std::uint32_t id, const TransportTable& transport, const Call& call,
                       RunAtEndpoint& run) {
    const CallWords words = words_of_long(call, id);
    const CallScope scope{basis_, node_, in_flight_, failures_, words, call};
    Endpoint* const e = endpoint_for(transport, words, call);
    if (e == nullptr) return;
    failures_.or_fail_everywhere([&] { run(*e, basis_.calls.sequence(), basis_.waiter, call); });
  }

  /// Runs a call whose `phases` are calls of the teams within this one. `connect` calls connected()
  /// for each transport they use, and says if all are there.
  template <class Connect, class Phases>
  void run_divided(std::uint32_t id, const Call& call, Connect&& connect, Phases&& phases) {
    const CallWords words = words_of_long(call, id);
    const CallScope scope{basis_, node_, in_flight_, failures_, words, call};
    if (!begins(words, call)) return;
    if (!connect()) return basis_.hooks.native(basis_.hooks.context, call);
    node_.note_messages();
    const TeamFailures::InPhases guard{failures_};
    try {
      phases();
    } catch (const deadline_exceeded& problem) {
      failures_.abort_node(NodeBoard::Abort::deadline);
      failures_.give_up(problem.what());
      throw;
    } catch (const std::exception& problem) {
      failures_.fail_everywhere(problem);
      throw;
    }
  }

  /// Runs a call that names no algorithm, in a team whose ranks share no board: all of them count
  /// such calls alike, and tell each other how long they were in some: those whose trial is timed,
  /// and those that are watched, since their algorithm depends on arrivals; nobody leaves these
  /// before all have come. `nodes`: which ranks are on one; null: each is on its own.
  template <class F>
  void run_counted(const Groups* nodes, const Call& call, const CallTrial& trial, bool is_watched,
                   F&& run) {
    const bool times = is_watched || trial.is_timed(basis_.calls.next(), false);
    const std::chrono::nanoseconds arrival = times ? basis_.now() : std::chrono::nanoseconds{};
    run();
    const OnlyCall only_call{basis_};
    failures_.or_fail_everywhere([&] {
      RemoteArrivalMonitor& watch = in_flight_.parts.get<Agreements>(basis_).watch(nodes);
      if (times) watch.note(call, trial, is_watched, basis_.now() - arrival);
      if (watch.count()) messages_.tell_costs(watch);
    });
  }

  /// Connects a transport for the teams within, in a call of all ranks. False: MPI had no
  /// communicator left for it.
  bool connected(const TransportTable& t) {
    return in_flight_.connections.ready(t) != nullptr || connect(t) != nullptr;
  }

 private:
  /// In a call that has been entered: this rank comes to it. False: there is nothing to do in it.
  bool begins(const CallWords& words, const Call& call) {
    node_.announce_only();
    if constexpr (assertion_level >= 2) messages_.compare(words, {});
    return !is_empty(call);
  }

  /// The endpoint that the call goes by; null: it has nothing to do, or has run by MPI's own means.
  Endpoint* endpoint_for(const TransportTable& t, const CallWords& words, const Call& call) {
    if (!begins(words, call)) return nullptr;
    Endpoint* e = in_flight_.connections.ready(t);
    if (e == nullptr) e = connect(t);
    if (e == nullptr) {
      basis_.hooks.native(basis_.hooks.context, call);
    } else {
      node_.note_messages();
    }
    return e;
  }

  [[gnu::noinline, gnu::cold]] Endpoint* connect(const TransportTable& t) {
    meet_before(t);
    return messages_.endpoint_or_native(t);
  }

  /// In a call of all ranks: if connecting the transport blocks in MPI, they meet first.
  void meet_before(const TransportTable& t) {
    if (!node_.is_there() || !in_flight_.connections.connecting_blocks(t)) return;
    node_.compare();
    messages_.meet_on_node(t, [] {});
  }

  /// Are there tickets? Asked by all ranks in the same call, of which the first makes them.
  bool has_tickets(const TransportTable& t, bool is_inner) {
    Tickets& tickets = in_flight_.parts.get<Tickets>();
    if (basis_.size() > 1 && tickets.are_open()) open_tickets(tickets, t, is_inner);
    return tickets.are_drawn();
  }

  [[gnu::noinline, gnu::cold]] void open_tickets(Tickets& tickets, const TransportTable& t,
                                                 bool is_inner) {
    if (t.open_atomics == nullptr || is_inner) return tickets.refuse(t);
    failures_.or_fail_everywhere([&] { tickets.open(t, basis_.surroundings, basis_.options); });
  }

  void run_by_ticket(const AnySchedule& schedule, Endpoint& e, const Call& call) {
    PlanRuns& runs = in_flight_.plan_runs;
    PlanRun& plan_run = runs.of_blocking_call();
    failures_.or_fail_everywhere([&] {
      TicketedChain chain{in_flight_.parts.get<Tickets>().board(),
                          runs,
                          plan_run,
                          e,
                          schedule,
                          call,
                          basis_.calls.sequence(),
                          basis_.rank(),
                          basis_.size()};
      basis_.waiter.until([&] { return chain.step(); }, Naps::none);
      chain.end();
    });
  }

  TeamContext& basis_;
  NodeCallTracker& node_;
  InFlight& in_flight_;
  TeamFailures& failures_;
  TeamMessages& messages_;
  PlanFingerprints words_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
