#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/node/board.hpp>
#include <papcoll/node/call_words.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/waiting/doorbells.hpp>
#include <papcoll/node/waiting/waiter.hpp>
#include <papcoll/runtime/errors/abort_reason.hpp>
#include <papcoll/runtime/in_flight.hpp>
#include <papcoll/runtime/node_calls.hpp>
#include <papcoll/runtime/team_context.hpp>
#include <papcoll/schedule/plan_run.hpp>
#include <papcoll/transport/transport.hpp>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

/// How a team breaks, how its ranks tell each other, and what a rank that waits looks out for; in
/// this team, the one around it, and those within it.
class TeamFailures : Pinned {
 public:
  TeamFailures(TeamContext& basis, NodeCallTracker& node, InFlight& in_flight)
      : basis_(basis), node_(node), in_flight_(in_flight) {
    basis.waiter.hooks = {&TeamFailures::poke_hook,    nullptr,
                          &TeamFailures::check_hook,   &TeamFailures::watch_hook,
                          &TeamFailures::expired_hook, this};
  }

  void set_parent(TeamFailures& parent) noexcept {
    parent_ = &parent;
    find_mpi();
  }
  /// After the hooks of the outermost team were set.
  void find_mpi() noexcept {
    const bool is_there = outermost_hooks().poke_mpi != nullptr;
    basis_.waiter.hooks.poke_mpi = is_there ? &TeamFailures::poke_mpi_hook : nullptr;
  }
  void set_parts(TeamFailures* intra, TeamFailures* inter) noexcept {
    intra_ = intra;
    inter_ = inter;
  }

  // --- of calls

  /// The blocking call under way, where messages alone compare it; `what` invalid: none.
  void set_call(const CallWords& words) noexcept { called_ = words; }

  /// Stands as long as a run is waited for, which is that of a request.
  class Awaited : Pinned {
   public:
    Awaited(TeamFailures& team, const PlanRun& run) : now_(team.awaited_) { now_ = &run; }
    ~Awaited() { now_ = nullptr; }

   private:
    const PlanRun*& now_;
  };

  /// Stands as long as a call's phases run in the teams within this one.
  class InPhases : Pinned {
   public:
    explicit InPhases(TeamFailures& team) : now_(team.in_phases_) { now_ = true; }
    ~InPhases() { now_ = false; }

   private:
    bool& now_;
  };

  // --- what may be done

  bool broken() const noexcept { return !broken_.empty(); }

  void require_usable() const {
    if (!broken_.empty()) refuse_broken();
  }

  /// Moves all outstanding requests of the team once.
  void progress() {
    or_fail_everywhere([&] { in_flight_.progress(); });
  }

  template <class F>
  void or_fail_everywhere(F&& f) {
    try {
      f();
    } catch (const std::exception& problem) {
      if (in_flight_.connections.may_be_of_death()) look_for_death();
      fail_everywhere(problem);
      throw;
    }
  }

  /// Throws if the call under way has failed elsewhere, or the team is broken.
  void check() { check_hook(this); }

  /// Throws what the team knows of a rank from which nothing could be copied: the call has failed
  /// there, or it died.
  [[gnu::cold]] void explain(const failed_copy& problem) {
    check();
    if (problem.number != ESRCH) return;
    abort_node(static_cast<std::uint32_t>(basis_.shown(problem.rank)) + 1);
    lose(node_.abort_reason());
  }

  // --- breaking

  /// This rank cannot go on, and its peers cannot go on without it. `what`: gave_up, revoked, or a
  /// rank that died.
  [[gnu::cold]] void fail_everywhere(const std::string& why,
                                     PeerFailureNotice what = PeerFailureNotice::gave_up) noexcept {
    if (!broken_.empty()) return;
    abort_node(detail::reason_of(what, basis_));
    if (!node_.is_there() && basis_.hooks.refused) {
      try {
        basis_.hooks.refused(basis_.hooks.context, basis_.calls.next(), what, detail::bare(why));
      } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): peers have their deadline
      }
    }
    give_up(why);
  }
  /// The same in the handler of `problem`.
  [[gnu::cold]] void fail_everywhere(const std::exception& problem) noexcept {
    fail_everywhere(problem.what(), detail::handled_notice());
  }

  /// The team is of no use any more: calls in flight are forgotten, later calls throw.
  [[gnu::cold]] void give_up(const std::string& why) noexcept {
    if (!broken_.empty()) return;
    broken_ = why;
    if (basis_.surroundings.processes) node_.keep_what_is_lent();  // threads are joined first
    for (TeamFailures* team : {intra_, inter_}) {
      if (team != nullptr) team->give_up(why);
    }
    const bool had_requests = in_flight_.has_requests();
    holds_on_ = in_flight_.abandon();
    if (had_requests && basis_.hooks.outstanding) {
      basis_.hooks.outstanding(basis_.hooks.context, false);
    }
  }

  /// May something still read the memory of calls that were in flight when the team broke?
  bool holds_on() const noexcept { return holds_on_; }

  /// Completes the exchanges that nobody waits for, since the ranks part here. True: none is left.
  [[gnu::cold]] bool settle() noexcept {
    bool in_time = true;
    for (TeamFailures* team : {intra_, inter_}) {
      if (team != nullptr && !team->settle()) in_time = false;
    }
    return in_flight_.parts.settle() && in_time;
  }

  /// Marks the shared memory as broken and wakes everyone; `reason` as in NodeBoard::Abort, with a
  /// rank of the outermost team.
  [[gnu::cold]] void abort_node(std::uint32_t reason) noexcept {
    reason = node_.abort(reason);
    for (TeamFailures* team : {intra_, inter_}) {
      if (team != nullptr) team->abort_node(reason);
    }
  }

  /// Can it say in time that a peer died? Among ranks that share no memory, only while those of a
  /// group that do are in a call together.
  bool tells_of_death() const noexcept { return node_.is_there() || in_phases_; }

  /// What has failed, as in NodeBoard::Abort: what any team around this one was told, or what the
  /// exception says whose handler this is called in.
  [[gnu::cold]] std::uint32_t handled_reason() const noexcept {
    for (const TeamFailures* team = this; team != nullptr; team = team->parent_) {
      if (const std::uint32_t reason = team->node_.abort_reason(); reason != 0) return reason;
    }
    return detail::handled_reason(basis_);
  }

  // --- of the outermost team

  const TeamHooks& outermost_hooks() const noexcept { return outermost().basis_.hooks; }
  /// The only endpoint that has been used; null if there are others, or none.
  Endpoint* outermost_endpoint() const noexcept {
    return outermost().in_flight_.connections.only();
  }

 private:
  const TeamFailures& outermost() const noexcept {
    return parent_ == nullptr ? *this : parent_->outermost();
  }

  [[noreturn, gnu::noinline, gnu::cold]] void refuse_broken() const {
    throw broken_communicator(
        detail::joined({"papcoll: this communicator is of no use any more on rank ",
                        basis_.shown(basis_.rank()), ": ", detail::bare(broken_)}));
  }

  /// Something of a peer was not there: throws peer_lost if one has died. A process that dies gives
  /// back what it had just before its death can be seen.
  [[gnu::cold, gnu::noinline]] void look_for_death() {
    if (!basis_.surroundings.processes) return;
    constexpr int looks = 50;
    for (int look = 0; look < looks && broken_.empty(); ++look) {
      try {
        watch_hook(this);
        check_hook(this);
      } catch (const peer_lost& lost) {
        fail_everywhere(lost);
        throw;
      } catch (const std::exception&) {
        return;  // what was thrown tells more
      }
      detail::sleep_for(std::chrono::milliseconds{1});
    }
  }

  // --- what a long wait does besides waiting

  static TeamFailures& self(void* p) noexcept { return *static_cast<TeamFailures*>(p); }

  static void poke_hook(void* p) {
    TeamFailures& team = self(p);
    if (team.in_flight_.has_requests()) team.progress();
    const TeamHooks& hooks = team.basis_.hooks;
    if (hooks.progress) hooks.progress(hooks.context);
    if (team.parent_ != nullptr) poke_hook(team.parent_);
  }

  static void poke_mpi_hook(void* p) {
    const TeamHooks& hooks = self(p).outermost_hooks();
    hooks.poke_mpi(hooks.context);
  }

  static void check_hook(void* p) {
    TeamFailures& team = self(p);
    team.node_.check();
    if (const std::uint32_t reason = team.node_.abort_reason(); reason != 0) team.lose(reason);
    // Where not all ranks share memory, those that do tell each other in that of their group; the
    // others are still to be told.
    if (team.in_phases_ && team.intra_ != nullptr && !team.node_.is_there()) {
      const std::uint32_t reason = team.intra_->node_.abort_reason();
      if (reason != 0) detail::throw_lost(reason, team.lost_text(reason));
    }
    if (team.parent_ != nullptr) check_hook(team.parent_);
  }

  static void watch_hook(void* p) {
    TeamFailures& team = self(p);
    const TeamHooks& hooks = team.basis_.hooks;
    if (hooks.watch) hooks.watch(hooks.context);
    if (team.parent_ != nullptr) watch_hook(team.parent_);
  }

  [[gnu::cold]] static void expired_hook(void* p) {
    TeamFailures& team = self(p);
    const TeamContext& basis = team.basis_;
    const std::string why =
        detail::joined({"papcoll: rank ", basis.shown(basis.rank()), " waited longer than ",
                        basis.options.deadline.count() / 1000000,
                        " ms, the deadline of its communicator", team.waits_for()});
    team.abort_node(NodeBoard::Abort::deadline);
    team.give_up(why);
    throw deadline_exceeded(why);
  }

  /// What this rank waits for, as far as it knows: a sentence part after a colon.
  [[gnu::cold, gnu::noinline]] std::string waits_for() const {
    constexpr const char* somebody = ": a peer is stopped, lost or never made the call";
    if (const std::string what = node_.waits_for(); !what.empty())
      return detail::joined({": ", what});
    if (awaited_ != nullptr)
      return detail::joined({", in a non-blocking ", awaited_->describe_call(), somebody});
    if (called_.what != CallWords::invalid)
      return detail::joined({", in ", called_.describe(), somebody});
    return somebody;
  }

  [[gnu::cold]] std::string lost_text(std::uint32_t reason) const {
    return detail::lost_text(reason, basis_, node_.missing());
  }

  [[noreturn]] void lose(std::uint32_t reason) {
    const std::string why = lost_text(reason);
    give_up(why);
    detail::throw_lost(reason, why);
  }

  TeamContext& basis_;
  NodeCallTracker& node_;
  InFlight& in_flight_;
  TeamFailures* parent_ = nullptr;  ///< of the team that this one is a part of
  TeamFailures* intra_ = nullptr;   ///< of the teams within this one
  TeamFailures* inter_ = nullptr;
  CallWords called_{0, CallWords::invalid};
  const PlanRun* awaited_ = nullptr;
  bool in_phases_ = false;
  bool holds_on_ = false;
  std::string broken_;  ///< why, once it is
};

}  // namespace papcoll::inline PAPCOLL_ABI
