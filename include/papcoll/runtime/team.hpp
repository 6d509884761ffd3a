// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/arrival/arrival_monitor.hpp>
#include <papcoll/arrival/order_source.hpp>
#include <papcoll/arrival/predictions.hpp>
#include <papcoll/arrival/predictor.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/node/call_fingerprint.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/waiting/waiter.hpp>
#include <papcoll/runtime/background_exchanges.hpp>
#include <papcoll/runtime/call_records.hpp>
#include <papcoll/runtime/call_scope.hpp>
#include <papcoll/runtime/memory/registrations.hpp>
#include <papcoll/runtime/messages.hpp>
#include <papcoll/runtime/requests.hpp>
#include <papcoll/runtime/scheduled_calls.hpp>
#include <papcoll/runtime/team_state.hpp>
#include <papcoll/schedule/make_plan.hpp>
#include <papcoll/schedule/plan_run.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/topology/options.hpp>
#include <papcoll/transport/transport.hpp>

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

struct Hierarchy;
namespace detail {
struct Division;
}  // namespace detail

/// One rank's side of a team, below the type-erased interface: what Communicator and
/// ThreadTeam::Rank are made of. One thread at a time may use it. All its parts work on one
/// TeamState, which it is:
///
///     messages         calls and background exchanges by plans; meeting before what blocks in MPI
///     invalid          how peers are notified of invalid calls
///     requests         non-blocking calls
///     scheduled        blocking calls by schedules, tickets, phases of hierarchies
///     parts            what only some calls want, made by the first of them: see TeamPart
///
/// Blocking calls of arrival-driven algorithms, where nanoseconds count, are here.
class TeamCore final : public TeamState {
 public:
  /// Null hooks: they do nothing.
  [[gnu::cold]] TeamCore(TeamEnvironment environment, const Options& options,
                         TeamHooks* hooks = nullptr)
      : TeamState(std::move(environment), options, hooks) {}

  TeamMessages messages{*this};
  InvalidCalls invalid{*this, messages};
  TeamRequests requests{*this, messages, invalid};
  ScheduledCalls scheduled{*this, messages};
  /// What its blocking calls keep the numbers of blocks that differ in.
  CallBlocks blocks;
  /// How many calls ran by which algorithm.
  detail::AlgorithmCounts counts;

  // --- set when it is made

  std::string files;  ///< the selection files of all ranks, see selection_texts.hpp
  detail::Division* division = nullptr;  ///< null: it is never divided, or is part of a team
  detail::Weak<void> owner;  ///< it is part of something that has it for as long as it lives

  /// Sets whether there are more ranks than processors on the node; called when the team is made.
  void set_oversubscribed(bool yes) noexcept {
    was_oversubscribed_ = yes;
    node.set_oversubscribed(yes);
  }
  /// As it was when the team was made, for calls whose choice must stay although processors may
  /// change.
  bool was_oversubscribed() const noexcept { return was_oversubscribed_; }

  /// The buffers that this rank has registered; null: it never has.
  const detail::Shared<Registrations>& registrations() const noexcept { return registrations_; }
  void set_registrations(detail::Shared<Registrations> all) noexcept {
    registrations_ = std::move(all);
  }
  /// Sets, before the first prepared call, a watch that teams share which have the same arenas.
  void set_buffer_watch(detail::Shared<BufferWatch> watch) { buffer_watch_ = std::move(watch); }
  /// The buffers of this rank's prepared calls.
  const detail::Shared<BufferWatch>& buffer_watch() {
    if (buffer_watch_ == nullptr) buffer_watch_ = detail::make_shared<BufferWatch>();
    return buffer_watch_;
  }
  /// Returns a share for later calls, before which the communicator may go.
  detail::Shared<TeamCore> share() noexcept { return {owner.lock(), this}; }

  bool on_one_node() const noexcept { return node.is_there(); }
  /// The number that the node's control block gives the next blocking call. Only where the ranks
  /// share memory.
  std::uint32_t next_epoch() noexcept { return node.context().epoch() + 1; }

  /// Returns what the ranks have learnt of arrivals in calls of this kind, the same on all of them.
  Imbalance imbalance_of(const Call& call) const noexcept {
    const BackgroundExchanges* const exchanges = parts.find<BackgroundExchanges>();
    const Imbalance* const exchanged = exchanges != nullptr ? exchanges->watched() : nullptr;
    return exchanged != nullptr ? *exchanged : node.seen(call);
  }
  /// Returns what a predictor's calls on this team have led to, so far: what order calls run in,
  /// and why.
  const Predictions& predictions(const AnyPredictor& predictor) {
    return parts.get<BackgroundExchanges>(*this).predictions_by(predictor);
  }

  /// Returns true if the team draws tickets of a transport.
  bool draws_tickets() const noexcept {
    const Tickets* const tickets = parts.find<Tickets>();
    return tickets != nullptr && tickets->are_drawn();
  }
  /// Why calls that want tickets of a transport run in predicted order, or nothing if they do not,
  /// or if there were none.
  const std::string& why_no_tickets() const noexcept {
    static const std::string nothing;
    const Tickets* const tickets = parts.find<Tickets>();
    return tickets != nullptr ? tickets->why_none() : nothing;
  }

  bool has_open_requests() const noexcept { return plan_runs.of_requests().any_taken(); }

  // --- teams within this one, see Hierarchy

  /// `helps`: it has groups of several ranks, all of which have memory in common.
  void set_hierarchy(detail::Shared<Hierarchy> hierarchy, bool helps) noexcept {
    hierarchy_ = std::move(hierarchy);
    has_groups_ = helps && !on_one_node() && !is_inner();
  }
  /// Null if it is not divided, or hierarchy_of() was never asked.
  Hierarchy* hierarchy() const noexcept { return hierarchy_.get(); }
  TeamCore* intra() const noexcept { return static_cast<TeamCore*>(within(0)); }
  TeamCore* inter() const noexcept { return static_cast<TeamCore*>(within(1)); }
  /// Returns true if there are several nodes or groups, and at least one has several ranks that
  /// share memory.
  bool has_groups() const noexcept { return has_groups_; }

  // --- calls by schedules, see TeamRequests and ScheduledCalls

  RequestRun* start(const AnySchedule& schedule, const TransportTable& transport, const Call& call,
                    const OrderSource& source = {}) {
    counts.add(call.collective, schedule.base_name());
    return requests.start(schedule, transport, call, source);
  }
  void run_in_rank_order(const AnySchedule& schedule, const TransportTable& transport,
                         const Call& call) {
    counts.add(call.collective, schedule.base_name());
    scheduled.run_in_rank_order(schedule, transport, call);
  }
  void run(const AnySchedule& schedule, const TransportTable& transport, const Call& call,
           const OrderSource& source = {}, bool takes_tickets = false) {
    if (!source && !takes_tickets) return run_in_rank_order(schedule, transport, call);
    counts.add(call.collective, schedule.base_name());
    scheduled.run(schedule, transport, call, source, takes_tickets);
  }

  // --- blocking calls of arrival-driven algorithms

  /// Runs an arrival-driven algorithm that is compiled for NodeContext; the team must be on one
  /// node.
  void run(const ArrivalAlgorithm& algorithm, const Call& call) {
    run_on(&node.context(), fingerprint_of(call, algorithm.id), algorithm, call);
  }

  /// As run(algorithm, call), for a call whose fingerprint under the algorithm is known.
  void run(const ArrivalAlgorithm& algorithm, const CallFingerprint& fingerprint,
           const Call& call) {
    run_on(&node.context(), fingerprint, algorithm, call);
  }

  /// Runs an arrival-driven algorithm that is compiled for the transport's call context.
  void run(const ArrivalAlgorithm& algorithm, const TransportTable& transport, const Call& call) {
    if (transport.make_context == nullptr) return run(algorithm, call);
    const ContextOfCall own = parts.get<TransportContexts>(*this).of(transport, algorithm, call);
    run_on(own.context, fingerprint_of(call, own.compared_by), algorithm, call);
  }

 private:
  void run_on(void* context, const CallFingerprint& fingerprint, const ArrivalAlgorithm& algorithm,
              const Call& call) {
    const CallScope scope{*this, fingerprint, call};
    counts.add(call.collective, algorithm.name);
    if (call.count == 0 && call.collective != Collective::barrier) return node.announce_only();
    try {
      try {
        algorithm.run(context, waiter(), call);
      } catch (const failed_copy& problem) {
        throw_cause_of(problem);
        throw;
      }
    } catch (const peer_error&) {  // all of this epoch see it: the next one is not affected
      wait_for_readers(*this);
      throw;
    } catch (const std::exception& problem) {
      abort_team(problem);
      wait_for_readers(*this);
      throw;
    }
  }

  detail::Shared<Registrations> registrations_;
  detail::Shared<BufferWatch> buffer_watch_;
  detail::Shared<Hierarchy> hierarchy_;
  bool has_groups_ = false;
  bool was_oversubscribed_ = false;
};

}  // namespace papcoll::inline PAPCOLL_ABI
