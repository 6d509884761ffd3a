// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/order_source.hpp>
#include <papcoll/arrival/predictions.hpp>
#include <papcoll/arrival/remote_arrival_monitor.hpp>
#include <papcoll/arrival/remote_tickets.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/node/call_fingerprint.hpp>
#include <papcoll/node/waiting/waiter.hpp>
#include <papcoll/runtime/background_exchanges.hpp>
#include <papcoll/runtime/call_scope.hpp>
#include <papcoll/runtime/messages.hpp>
#include <papcoll/runtime/parts.hpp>
#include <papcoll/runtime/plan_runs.hpp>
#include <papcoll/runtime/team_context.hpp>
#include <papcoll/runtime/team_state.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/plan_run.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/topology/groups.hpp>
#include <papcoll/topology/options.hpp>
#include <papcoll/transport/transport.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {

/// The tickets of a team whose ranks pass messages, if its transport has any.
class Tickets final : public TeamPart {
 public:
  static constexpr PartKind kind = PartKind::tickets;

  /// Returns true until open() or refuse() has decided whether the team has tickets.
  bool are_undecided() const noexcept { return !counter_ && none_.empty(); }

  /// Returns true if the team draws tickets.
  bool are_drawn() const noexcept { return counter_ != nullptr; }

  /// Why there are none, so that calls which want them run in predicted order; empty if there are,
  /// or if no call has asked.
  const std::string& why_none() const noexcept { return none_; }

  void refuse(const TransportTable& t) {
    none_ = detail::joined({t.name, " has no tickets for this kind of team"});
  }

  /// Creates them, if they can be had. May wait for all ranks, depending on the transport.
  void open(const TransportTable& t, const TeamEnvironment& environment, const Options& options) {
    try {
      counter_ = detail::make_owned<RemoteTicketCounter>(
          t.open_atomics(environment, RemoteTicketCounter::words(environment.size),
                         options.tickets),
          environment.rank, environment.size, options.first_epoch);
    } catch (const transport_unavailable& why) {
      none_ = detail::joined(
          {t.name, " gives no tickets, so calls run in predicted order: ", why.what()});
    }
  }

  RemoteTicketCounter& counter() noexcept { return *counter_; }

  void close(bool broken) noexcept override {
    if (counter_) counter_->close(broken);
    counter_.reset();
  }

 private:
  detail::Owned<RemoteTicketCounter> counter_;
  std::string none_;
};

/// A chain in which a rank's position is how many others come after it: data flow towards position
/// 0, the last to come. Of the others, a rank needs to know the two beside it, and the root of a
/// reduce where the result comes together: see plan_one_block().
class TicketedChain {
 public:
  TicketedChain(RemoteTicketCounter& counter, PlanRuns& plan_runs, PlanRun& plan_run, Endpoint& e,
                const AnySchedule& schedule, const Call& call, std::uint32_t sequence, int rank,
                int size)
      : counter_(counter),
        plan_runs_(plan_runs),
        plan_run_(plan_run),
        endpoint_(e),
        schedule_(schedule),
        call_(call),
        sequence_(sequence),
        far_(size - 1),
        rooted_(is_rooted(call.collective)),
        is_root_(rooted_ && call.root == rank) {
    counter_.begin(rooted_ ? call.root : -1);
  }

  /// Moves the call; true: it is done.
  bool step() {
    if (counter_.step()) {
      if (position_ < 0) begin();
      if (counter_.before() >= 0) plan_run_.know(position_ + 1, counter_.before());
      if (counter_.after() >= 0) plan_run_.know(position_ - 1, counter_.after());
      if (counter_.last() >= 0 && position_ != 0) plan_run_.know(0, counter_.last());
    }
    endpoint_.progress();
    return position_ >= 0 && plan_run_.done() && counter_.done();
  }

  /// Ends the call once step() has returned true.
  void end() noexcept { counter_.end(!rooted_ || is_root_ || position_ == 0); }

 private:
  void begin() {
    position_ = far_ - counter_.ticket();
    const int root = is_root_ ? position_ : position_ == 0 ? far_ : 0;
    plan_runs_.begin_at(plan_run_, endpoint_, schedule_, call_, sequence_, position_, root);
    if (rooted_ && !is_root_ && position_ == 0) plan_run_.know(far_, call_.root);
  }

  RemoteTicketCounter& counter_;
  PlanRuns& plan_runs_;
  PlanRun& plan_run_;
  Endpoint& endpoint_;
  const AnySchedule& schedule_;
  const Call& call_;
  std::uint32_t sequence_;
  int far_;
  bool rooted_;
  bool is_root_;
  int position_ = -1;  ///< not known yet
};

/// Runs a call of that number on an endpoint whose type it knows.
using RunAtEndpoint = void(Endpoint&, std::uint32_t sequence, Waiter&, const Call&);

/// The blocking calls of a team that run by schedules: in the order of the ranks, in a predicted
/// order, or by tickets; and those whose phases are calls of the teams within it.
class ScheduledCalls {
 public:
  ScheduledCalls(TeamState& team, TeamMessages& messages) : team_(team), messages_(messages) {}

  /// Runs a static schedule in the order of the ranks.
  void run_in_rank_order(const AnySchedule& schedule, const TransportTable& transport,
                         const Call& call) {
    const CallFingerprint fingerprint = fingerprints_.of(call, schedule, transport);
    const CallScope scope{team_, fingerprint, call};
    if (Endpoint* const e = endpoint_for(transport, fingerprint, call)) {
      messages_.run_plan(schedule, *e, transport.wakes_receivers, call);
    }
  }

  /// Runs a static schedule in the order of a source.
  /// `takes_tickets`: rather in the order of arrival, if the transport has tickets; it is a chain.
  void run(const AnySchedule& schedule, const TransportTable& transport, const Call& call,
           const OrderSource& source, bool takes_tickets) {
    const AnyPredictor& predictor = source.predictor();
    Predictions* const expected =
        predictor ? &team_.parts.get<BackgroundExchanges>(team_).predictions_by(predictor)
                  : nullptr;
    const auto arrival = predictor ? Waiter::Clock::now() : Waiter::Clock::time_point{};
    const PlayedOrder played{expected, source.along()};
    const CallFingerprint fingerprint =
        fingerprints_.of(call, schedule, transport, played, takes_tickets);
    const CallScope scope{team_, fingerprint, call};
    Endpoint* const e = endpoint_for(transport, fingerprint, call);
    if (e == nullptr) return;
    if (takes_tickets && has_tickets(transport)) {
      return run_by_ticket(schedule, *e, call);
    }
    if (expected != nullptr) {
      expected->arrived(arrival);
      if (expected->count_call() && team_.size() > 1) {
        PlanRuns& runs = team_.plan_runs;
        team_.or_abort_team([&] {
          messages_.end_exchange(
              *expected, [&] { expected->adopt(runs.plans(), runs.machine_orders().ranks()); });
          messages_.begin_exchange(*expected, *e, transport.wakes_receivers);
        });
      }
    }
    messages_.run_plan(schedule, *e, transport.wakes_receivers, call, played);
    if (expected != nullptr) expected->left(call.collective, arrival);
  }

  /// Runs a call by what the transport's endpoint offers beyond steps of plans. `id` tells the
  /// algorithm from others; `run` moves the call to its end.
  void run_at_endpoint(std::uint32_t id, const TransportTable& transport, const Call& call,
                       RunAtEndpoint& run) {
    const CallFingerprint fingerprint = fingerprint_of_long(call, id);
    const CallScope scope{team_, fingerprint, call};
    Endpoint* const e = endpoint_for(transport, fingerprint, call);
    if (e == nullptr) return;
    team_.or_abort_team([&] { run(*e, team_.calls.sequence(), team_.waiter(), call); });
  }

  /// Runs a call whose `phases` are calls of the teams within this one. `connect` calls connected()
  /// for each transport they use, and returns true if all are there.
  template <class Connect, class Phases>
  void run_divided(std::uint32_t id, const Call& call, Connect&& connect, Phases&& phases) {
    const CallFingerprint fingerprint = fingerprint_of_long(call, id);
    const CallScope scope{team_, fingerprint, call};
    if (!begins(fingerprint, call)) return;
    if (!connect()) return team_.hooks().native(call);
    team_.node.note_messages();
    team_.in_phases = true;
    const detail::OnExit over{[this] { team_.in_phases = false; }};
    try {
      phases();
    } catch (const std::exception& problem) {
      team_.abort_team(problem);
      throw;
    }
  }

  /// Runs a call that names no algorithm, in a team whose ranks share no control block: all of them
  /// count such calls alike, and exchange how long some of them took: those whose trial is timed,
  /// and those whose algorithm follows arrivals; no rank leaves the latter before all have arrived.
  /// `nodes`: which ranks are on one; null: each is on its own.
  template <class F>
  void run_counted(const Groups* nodes, const Call& call, const CallTrial& trial,
                   bool follows_arrivals, F&& run) {
    const bool times = follows_arrivals || trial.is_timed(team_.calls.next(), false);
    const std::chrono::nanoseconds arrival =
        times ? team_.hooks().now() : std::chrono::nanoseconds{};
    run();
    const SingleCallGuard guard{team_};
    team_.or_abort_team([&] {
      RemoteArrivalMonitor& watch = team_.parts.get<BackgroundExchanges>(team_).watch(nodes);
      if (times) watch.note(call, trial, follows_arrivals, team_.hooks().now() - arrival);
      if (watch.count()) messages_.exchange_costs(watch);
    });
  }

  /// Connects a transport for the teams within, in a call of all ranks. False: MPI had no
  /// communicator left for it.
  bool connected(const TransportTable& t) {
    return team_.connections.ready(t) != nullptr || connect(t) != nullptr;
  }

 private:
  /// Announces this rank in a call that it has entered. Returns false if there is nothing to do in
  /// it.
  bool begins(const CallFingerprint& fingerprint, const Call& call) {
    team_.node.announce_only();
    if constexpr (assertion_level >= 2) messages_.compare(fingerprint, {});
    return !is_empty(call);
  }

  /// The endpoint that the call goes by; null: it has nothing to do, or has run by MPI's own means.
  Endpoint* endpoint_for(const TransportTable& t, const CallFingerprint& fingerprint,
                         const Call& call) {
    if (!begins(fingerprint, call)) return nullptr;
    Endpoint* e = team_.connections.ready(t);
    if (e == nullptr) e = connect(t);
    if (e == nullptr) {
      team_.hooks().native(call);
    } else {
      team_.node.note_messages();
    }
    return e;
  }

  [[gnu::noinline, gnu::cold]] Endpoint* connect(const TransportTable& t) {
    meet_before(t);
    return messages_.endpoint_or_native(t);
  }

  /// In a call of all ranks: if connecting the transport blocks in MPI, the ranks wait for each
  /// other first.
  void meet_before(const TransportTable& t) {
    if (!team_.node.is_there() || !team_.connections.connecting_blocks(t)) return;
    team_.node.compare();
    messages_.meet_on_node(t, [] {});
  }

  /// Returns true if the team has tickets. All ranks ask in the same call; the first such call
  /// creates them.
  bool has_tickets(const TransportTable& t) {
    Tickets& tickets = team_.parts.get<Tickets>();
    if (team_.size() > 1 && tickets.are_undecided()) open_tickets(tickets, t);
    return tickets.are_drawn();
  }

  [[gnu::noinline, gnu::cold]] void open_tickets(Tickets& tickets, const TransportTable& t) {
    if (t.open_atomics == nullptr || team_.is_inner()) return tickets.refuse(t);
    team_.or_abort_team([&] { tickets.open(t, team_.environment(), team_.options()); });
  }

  void run_by_ticket(const AnySchedule& schedule, Endpoint& e, const Call& call) {
    PlanRuns& runs = team_.plan_runs;
    PlanRun& plan_run = runs.of_blocking_call();
    team_.or_abort_team([&] {
      TicketedChain chain{team_.parts.get<Tickets>().counter(),
                          runs,
                          plan_run,
                          e,
                          schedule,
                          call,
                          team_.calls.sequence(),
                          team_.rank(),
                          team_.size()};
      team_.waiter().until([&] { return chain.step(); }, Naps::none);
      chain.end();
    });
  }

  TeamState& team_;
  TeamMessages& messages_;
  PlanFingerprints fingerprints_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
