// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/node/call_fingerprint.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/waiting/doorbells.hpp>
#include <papcoll/node/waiting/waiter.hpp>
#include <papcoll/runtime/node_calls.hpp>
#include <papcoll/runtime/parts.hpp>
#include <papcoll/runtime/plan_runs.hpp>
#include <papcoll/runtime/setup/connections.hpp>
#include <papcoll/runtime/team_context.hpp>
#include <papcoll/schedule/plan_run.hpp>
#include <papcoll/topology/options.hpp>
#include <papcoll/transport/transport.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pthread.h>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// Why a team is lost, as in NodeControlBlock::Abort, by the exception whose handler this is called
/// in.
inline std::uint32_t handled_reason(const TeamContext& team) noexcept {
  if (handled_as<deadline_exceeded>() != nullptr) return NodeControlBlock::Abort::deadline;
  if (const auto* const lost = handled_as<lost_rank>())
    return static_cast<std::uint32_t>(lost->rank) + 1;
  const auto me = static_cast<std::uint32_t>(team.user_rank(team.rank()));
  return me + (handled_as<peer_lost>() != nullptr ? NodeControlBlock::Abort::revoked
                                                  : NodeControlBlock::Abort::gave_up);
}

/// `missing`: a sentence that names the ranks that have not arrived in the present call; may be
/// empty.
[[gnu::cold]] inline std::string lost_text(std::uint32_t reason, const TeamContext& team,
                                           const std::string& missing) {
  const std::string here = std::to_string(team.user_rank(team.rank()));
  const std::string seen = joined({", seen on rank ", here});
  if (reason == NodeControlBlock::Abort::deadline) {
    return joined({"papcoll: a peer of rank ", here, " gave up at the deadline of the communicator",
                   (missing.empty() ? "" : joined({": ", missing}))});
  }
  if (somebody_gave_up(reason)) {
    return joined({"papcoll: rank ", reason - NodeControlBlock::Abort::gave_up,
                   " could not complete a call", seen, "; its exception says why"});
  }
  if (is_revoked(reason)) {
    return joined({"papcoll: rank ", reason - NodeControlBlock::Abort::revoked,
                   " has left this communicator after a death or by papcoll::revoke", seen, ": ",
                   recovery_advice});
  }
  if (!team.environment().processes) {
    return joined({"papcoll: the thread of rank ", reason - 1, " ended by an exception", seen});
  }
  return joined({"papcoll: rank ", reason - 1, " died", seen, ": ", recovery_advice});
}

}  // namespace detail

/// What all parts of a rank's side of a team work on: who and where the ranks are, the control
/// block of their node, and all that may be in flight: messages, calls by plans, comparisons of
/// calls, requests, and what parts of the team do for which no rank waits. Also how a team breaks,
/// how its ranks notify each other, and what a waiting rank watches for; in this team, the one
/// around it, and those within it.
class TeamState : public TeamContext, public WaitHooks {
 public:
  TeamState(TeamEnvironment s, const Options& options, TeamHooks* hooks)
      : TeamContext(std::move(s), options, hooks),
        node(*this),
        connections(environment()),
        plan_runs(rank(), size(), options.pipeline_depth, environment().machine) {
    waiter().hooks = this;
    moves_mpi = this->hooks().moves_mpi;
  }

  NodeCallTracker node;
  Connections connections;
  PlanRuns plan_runs;
  NonblockingCallChecks comparisons;
  TeamParts parts;
  /// On how many processors the ranks of this node could run when the team was made; 0: unknown.
  std::size_t processors_at_first = 0;

  /// Makes this a team within `parent`: its rank i is rank `ranks[i]` there.
  [[gnu::cold]] void belong_to(TeamState& parent, std::vector<int> ranks) {
    parent_ = &parent;
    moves_mpi = parent.moves_mpi;
    user_ranks.reserve(ranks.size());
    for (const int r : ranks) user_ranks.push_back(parent.user_rank(r));
    node.set_user_ranks(user_ranks);
    connections.go_through(parent.connections, std::move(ranks), parent.calls.blocking());
  }
  /// Null: it is part of none.
  TeamState* parent() const noexcept { return parent_; }
  bool is_inner() const noexcept { return parent_ != nullptr; }
  const TeamState& outermost() const noexcept { return is_inner() ? parent_->outermost() : *this; }

  /// The teams within this one: of this rank's group, null if it is alone there, and, on
  /// representatives, of them.
  void set_teams_within(TeamState* intra, TeamState* inter) noexcept {
    within_ = {intra, inter};
    node.set_parts(intra == nullptr ? nullptr : &intra->node,
                   inter == nullptr ? nullptr : &inter->node);
  }
  TeamState* within(std::size_t i) const noexcept { return within_[i]; }
  template <class F> void each_within(F&& f) {
    for (TeamState* const team : within_) {
      if (team != nullptr) f(*team);
    }
  }

  /// Adds to the transports that calls may name by a text.
  void offer_transports(std::span<const TransportTable* const> transports) noexcept {
    if (environment_.transports.size() >= transports.size()) return;
    environment_.transports = transports;
    each_within([&](TeamState& team) { team.offer_transports(transports); });
  }
  /// See TeamEnvironment::messages.
  void offer_messages(MakeNotifyingEndpoint make) { environment_.messages = std::move(make); }

  /// The team ends: its parts keep what they have for another one, if it ends in order.
  [[gnu::cold]] void keep_parts() noexcept {
    each_within([](TeamState& team) { team.keep_parts(); });
    if (!broken()) parts.each([](TeamPart& part) { part.keep(); });
  }
  /// The last chance of its parts to use MPI and the node's memory.
  [[gnu::cold]] void close_parts() noexcept {
    each_within([](TeamState& team) { team.close_parts(); });
    parts.each([this](TeamPart& part) { part.close(broken()); });
  }

  // --- requests

  bool has_requests() const noexcept { return requests_ != 0; }
  void begin_request() {
    if (requests_++ != 0) return;
    thread_ = pthread_self();
    hooks().outstanding(true);
  }
  void end_request() {
    if (--requests_ == 0) hooks().outstanding(false);
  }
  /// Requests are moved by all waits of the thread that started them, so by no other thread.
  void require_own_thread() const {
    if (!has_requests() || pthread_equal(thread_, pthread_self()) != 0) return;
    throw argument_error(
        detail::joined({"papcoll: rank ", rank(),
                        " has requests under way that another thread started: a communicator with "
                        "requests stays with one thread until they are complete"}));
  }

  // --- of calls

  /// The blocking call under way, where messages alone compare it; `what` invalid: none.
  void set_call(const CallFingerprint& fingerprint) noexcept { called_ = fingerprint; }
  /// The run that is waited for, which is that of a request; null: none.
  const PlanRun* awaited = nullptr;
  /// A call's phases run in the teams within this one.
  bool in_phases = false;

  // --- what may be done

  bool broken() const noexcept { return !broken_.empty(); }

  void require_usable() const {
    if (!broken_.empty()) refuse_broken();
  }

  /// Moves all outstanding requests of the team once.
  void progress() {
    or_abort_team([&] {
      connections.progress();
      if constexpr (assertion_level >= 2) comparisons.progress(plan_runs.of_requests());
    });
  }

  template <class F> void or_abort_team(F&& f) {
    try {
      f();
    } catch (const std::exception& problem) {
      if (connections.may_mean_peer_death()) look_for_death();
      abort_team(problem);
      throw;
    }
  }

  /// Calls f, which throws transport_unavailable on all ranks; what one rank alone throws breaks
  /// the team.
  template <class F> decltype(auto) or_break(F&& f) {
    try {
      return f();
    } catch (const transport_unavailable&) {
      throw;
    } catch (const std::exception& problem) {
      abort_team(problem);
      throw;
    }
  }

  /// Throws what the team knows of a rank from which nothing could be copied: the call has failed
  /// there, or it died.
  [[gnu::cold]] void throw_cause_of(const failed_copy& problem) {
    check();
    if (problem.number != ESRCH) return;
    abort_node(static_cast<std::uint32_t>(user_rank(problem.rank)) + 1);
    break_and_throw(node.abort_reason());
  }

  // --- breaking

  /// This rank cannot go on, and its peers cannot go on without it. `reason` as in
  /// NodeControlBlock::Abort. Ranks that share no memory with it keep their own deadlines.
  [[gnu::cold]] void abort_team(const std::string& why, std::uint32_t reason) noexcept {
    if (!broken_.empty()) return;
    abort_node(reason);
    if (!node.is_there() && reason != NodeControlBlock::Abort::deadline) {
      try {
        hooks().refused(calls.next(), reason, detail::bare(why));
      } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): peers have their deadline
      }
    }
    mark_broken(why);
  }
  [[gnu::cold]] void abort_team(const std::string& why) noexcept {
    abort_team(why,
               NodeControlBlock::Abort::gave_up + static_cast<std::uint32_t>(user_rank(rank())));
  }
  /// As abort_team(why), in the handler of `problem`.
  [[gnu::cold]] void abort_team(const std::exception& problem) noexcept {
    abort_team(problem.what(), detail::handled_reason(*this));
  }
  /// Breaks the team on this rank: calls in flight are abandoned, later calls throw.
  [[gnu::cold]] void mark_broken(const std::string& why) noexcept {
    if (!broken_.empty()) return;
    broken_ = why;
    if (environment().processes) node.leak_pools_in_use();  // threads are joined first
    each_within([&](TeamState& team) { team.mark_broken(why); });
    may_still_access_buffers_ = connections.abandon();
    comparisons.abandon(may_still_access_buffers_);
    plan_runs.abandon(may_still_access_buffers_);
    parts.each([this](TeamPart& part) { part.abandon(may_still_access_buffers_); });
    if (std::exchange(requests_, 0) != 0) hooks().outstanding(false);
  }

  /// Returns true if the memory of calls that were in flight when the team broke may still be
  /// accessed.
  bool may_still_access_buffers() const noexcept { return may_still_access_buffers_; }

  /// Completes the exchanges for which no rank waits, since the ranks part here. Returns true if
  /// none is left.
  [[gnu::cold]] bool drain_exchanges() noexcept {
    bool in_time = true;
    each_within([&](TeamState& team) { in_time &= team.drain_exchanges(); });
    parts.each([&](TeamPart& part) { in_time &= part.drain_exchanges(); });
    return in_time;
  }

  /// Marks the shared memory as broken and wakes everyone; `reason` as in NodeControlBlock::Abort,
  /// with a rank of the outermost team.
  [[gnu::cold]] void abort_node(std::uint32_t reason) noexcept {
    reason = node.abort(reason);
    each_within([reason](TeamState& team) { team.abort_node(reason); });
  }

  /// Returns true if the team can notice a peer's death in time. Among ranks without shared memory
  /// only while those of a group that share memory are in a call together.
  bool detects_peer_death() const noexcept { return node.is_there() || in_phases; }

  /// Returns what has failed, as in NodeControlBlock::Abort: what the control block of a team
  /// around this one has, or what the exception says in whose handler it is called.
  [[gnu::cold]] std::uint32_t handled_reason() const noexcept {
    for (const TeamState* team = this; team != nullptr; team = team->parent_) {
      if (const std::uint32_t reason = team->node.abort_reason(); reason != 0) return reason;
    }
    return detail::handled_reason(*this);
  }

  // --- what a long wait does besides waiting

  void make_progress(bool mpi_alone) override {
    if (mpi_alone) return outermost().hooks().poke_mpi();
    if (has_requests()) progress();
    hooks().progress();
    if (parent_ != nullptr) parent_->make_progress(false);
  }

  /// Throws if the call under way has failed elsewhere, or the team is broken.
  void check() override {
    node.check();
    if (const std::uint32_t reason = node.abort_reason(); reason != 0) break_and_throw(reason);
    // If not all ranks share memory, those that do are notified in that of their group; the others
    // have yet to be notified.
    if (const TeamState* const intra = within_[0];
        in_phases && intra != nullptr && !node.is_there()) {
      const std::uint32_t reason = intra->node.abort_reason();
      if (reason != 0) detail::throw_lost(reason, lost_text(reason));
    }
    if (parent_ != nullptr) parent_->check();
  }

  void watch() override {
    hooks().watch();
    if (parent_ != nullptr) parent_->watch();
  }

  [[gnu::cold]] void deadline_passed() override {
    const std::string why =
        detail::joined({"papcoll: rank ", user_rank(rank()), " waited longer than ",
                        options().deadline.count() / 1000000,
                        " ms, the deadline of its communicator", waits_for()});
    abort_team(why, NodeControlBlock::Abort::deadline);
    throw deadline_exceeded(why);
  }

 private:
  [[noreturn, gnu::noinline, gnu::cold]] void refuse_broken() const {
    throw broken_communicator(
        detail::joined({"papcoll: this communicator is of no use any more on rank ",
                        user_rank(rank()), ": ", detail::bare(broken_)}));
  }

  /// Called after an endpoint error that a peer's death may have caused. Looks for a dead peer for
  /// about 50 ms and throws peer_lost if it finds one. Waits because the kernel releases a
  /// process's resources before its death can be observed.
  [[gnu::cold, gnu::noinline]] void look_for_death() {
    if (!environment().processes) return;
    constexpr int looks = 50;
    for (int look = 0; look < looks && broken_.empty(); ++look) {
      try {
        watch();
        check();
      } catch (const peer_lost& lost) {
        abort_team(lost);
        throw;
      } catch (const std::exception&) {
        return;  // what was thrown tells more
      }
      detail::sleep_for(std::chrono::milliseconds{1});
    }
  }

  /// Returns a text on what this rank waits for, as far as it knows: a sentence part after a colon.
  [[gnu::cold, gnu::noinline]] std::string waits_for() const {
    constexpr const char* somebody = ": a peer is stopped, lost or never made the call";
    if (const std::string what = node.waits_for(); !what.empty())
      return detail::joined({": ", what});
    if (awaited != nullptr)
      return detail::joined({", in a non-blocking ", awaited->describe_call(), somebody});
    if (called_.packed != CallFingerprint::invalid)
      return detail::joined({", in ", called_.describe(), somebody});
    return somebody;
  }

  [[gnu::cold]] std::string lost_text(std::uint32_t reason) const {
    return detail::lost_text(reason, *this, node.missing());
  }

  [[noreturn]] void break_and_throw(std::uint32_t reason) {
    const std::string why = lost_text(reason);
    mark_broken(why);
    detail::throw_lost(reason, why);
  }

  std::size_t requests_ = 0;  ///< that are not complete
  pthread_t thread_{};        ///< that started them
  CallFingerprint called_{0, CallFingerprint::invalid};
  bool may_still_access_buffers_ = false;
  std::string broken_;                  ///< why, once it is
  TeamState* parent_ = nullptr;         ///< the team that this one is a part of
  std::array<TeamState*, 2> within_{};  ///< of this rank's group, and of representatives
};

}  // namespace papcoll::inline PAPCOLL_ABI
