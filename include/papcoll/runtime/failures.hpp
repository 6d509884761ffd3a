#pragma once

#include <papcoll/config.hpp>
#include <papcoll/error.hpp>
#include <papcoll/node/board.hpp>
#include <papcoll/node/call_words.hpp>
#include <papcoll/options.hpp>
#include <papcoll/plan/run.hpp>
#include <papcoll/runtime/agreements.hpp>
#include <papcoll/runtime/basis.hpp>
#include <papcoll/runtime/comparisons.hpp>
#include <papcoll/runtime/connections.hpp>
#include <papcoll/runtime/plan_runs.hpp>
#include <papcoll/transport/transport.hpp>
#include <papcoll/waiting/waiter.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <pthread.h>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// How a team breaks, how its ranks tell each other, and what a rank that waits looks out for; with
/// all that may be in flight, which is forgotten then.
class TeamFailures : public TeamBasis {
 public:
  bool broken() const noexcept { return !broken_.empty(); }

  /// Moves all outstanding requests of the team once.
  void progress() {
    or_fail_everywhere([&] {
      connections_.progress();
      if constexpr (assertion_level >= 2) comparisons_.progress();
    });
  }

  /// As Endpoint::run_to_end(), if nothing else of this rank's could need moving.
  bool waited_in_endpoint(const PlanRun& plan_run) {
    TeamFailures* outer = this;
    while (outer->parent_ != nullptr) outer = outer->parent_;
    if (outer->hooks.busy_elsewhere == nullptr) return false;
    Endpoint* const e = outer->connections_.only();
    return e != nullptr && !outer->hooks.busy_elsewhere(outer->hooks.context) &&
           e->run_to_end(plan_run);
  }

  /// This rank cannot go on, and its peers cannot go on without it. `what`: gave_up, or a rank that
  /// died.
  void fail_everywhere(const std::string& why, PeerNotice what = PeerNotice::gave_up) noexcept {
    if (!broken_.empty()) return;
    abort_node(what >= PeerNotice::lost
                   ? static_cast<std::uint32_t>(what) + 1
                   : NodeBoard::Abort::gave_up + static_cast<std::uint32_t>(shown(rank())));
    if (!site_ && hooks.refused) {
      try {
        hooks.refused(hooks.context, calls(), what, detail::bare(why));
      } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): peers have their deadline
      }
    }
    give_up(why);
  }
  void fail_everywhere(const std::exception& problem) noexcept {
    const auto* const lost = dynamic_cast<const detail::lost_rank*>(&problem);
    fail_everywhere(problem.what(),
                    lost != nullptr ? static_cast<PeerNotice>(lost->rank) : PeerNotice::gave_up);
  }

  /// The team is of no use any more: calls in flight are forgotten, later calls throw.
  void give_up(const std::string& why) noexcept {
    if (!broken_.empty()) return;
    broken_ = why;
    if (site_ && surroundings_.processes) site_->keep_what_is_lent();  // threads are joined first
    for (TeamFailures* team : {intra_, inter_}) {
      if (team != nullptr) team->give_up(why);
    }
    holds_on_ |= connections_.abandon();
    comparisons_.abandon(holds_on_);
    plan_runs_.abandon(holds_on_);
    agreements_.abandon(holds_on_);
    if (outstanding_ != 0 && hooks.outstanding) hooks.outstanding(hooks.context, false);
    outstanding_ = 0;
  }

  /// May something still read the memory of calls that were in flight when the team broke?
  bool holds_on() const noexcept { return holds_on_; }

  /// Lets what nobody waits for come to its end, since the ranks part here. True: nothing is left.
  bool settle() noexcept {
    bool in_time = true;
    for (TeamFailures* team : {intra_, inter_}) {
      if (team != nullptr && !team->settle()) in_time = false;
    }
    return agreements_.settle() && in_time;
  }

  /// Marks the shared memory as broken and wakes everyone; `reason` as in NodeBoard::Abort, with a
  /// rank of the outermost team.
  void abort_node(std::uint32_t reason) noexcept {
    if (site_) {
      std::uint32_t first = 0;
      const bool is_first = site_->board().abort().reason.compare_exchange_strong(
          first, reason, std::memory_order_seq_cst);
      if (!is_first) reason = first;
      bells_->ring_all();
    }
    for (TeamFailures* team : {intra_, inter_}) {
      if (team != nullptr) team->abort_node(reason);
    }
  }

  /// Can it say in time that a peer died? Among ranks that share no memory, only while those of a
  /// group that do are in a call together.
  bool tells_of_death() const noexcept { return site_.has_value() || in_phases_; }

 protected:
  TeamFailures(Surroundings surroundings, std::vector<const TransportTable*> transports,
               const Options& options)
      : TeamBasis(std::move(surroundings), options),
        connections_(surroundings_, std::move(transports)),
        plan_runs_(rank(), size(), options.window),
        agreements_(rank(), size(), on_one_node(), options.agreement_period) {
    waiter_.hooks = {&TeamFailures::poke_hook, &TeamFailures::check_hook, &TeamFailures::watch_hook,
                     &TeamFailures::expired_hook, this};
  }
  ~TeamFailures() = default;

  /// What has failed, as in NodeBoard::Abort: what any team around this one was told, or what the
  /// exception says.
  std::uint32_t reason_of(const std::exception& problem) const noexcept {
    for (const TeamFailures* team = this; team != nullptr; team = team->parent_) {
      if (const std::uint32_t reason = team->abort_reason(); reason != 0) return reason;
    }
    if (const auto* const lost = dynamic_cast<const detail::lost_rank*>(&problem)) {
      return static_cast<std::uint32_t>(lost->rank) + 1;
    }
    if (dynamic_cast<const deadline_exceeded*>(&problem) != nullptr)
      return NodeBoard::Abort::deadline;
    return NodeBoard::Abort::gave_up + static_cast<std::uint32_t>(shown(rank()));
  }

  template <class F>
  void or_fail_everywhere(F&& f) {
    try {
      f();
    } catch (const std::exception& problem) {
      fail_everywhere(problem);
      throw;
    }
  }

  /// Throws what the team knows of a rank from which nothing could be copied: the call has failed
  /// there, or it died.
  void explain(const failed_copy& problem) {
    check_hook(this);
    if (problem.number != ESRCH) return;
    abort_node(static_cast<std::uint32_t>(shown(problem.rank)) + 1);
    lose(abort_reason());
  }

  [[noreturn]] void mismatch(const std::string& what) const {
    throw peer_error("papcoll: seen on rank " + std::to_string(shown(rank())) + ": " + what);
  }

  void require_usable() const {
    if (!broken_.empty()) refuse_broken();
  }
  [[noreturn, gnu::noinline, gnu::cold]] void refuse_broken() const {
    throw broken_communicator("papcoll: this communicator is of no use any more on rank " +
                              std::to_string(shown(rank())) + ": " + detail::bare(broken_));
  }

  /// Requests are moved by all waits of the thread that started them, so by no other thread.
  void require_own_thread() const {
    if (outstanding_ == 0 || pthread_equal(thread_, pthread_self()) != 0) return;
    throw argument_error("papcoll: rank " + std::to_string(rank()) +
                         " has requests under way that another thread started: a communicator with "
                         "requests stays with one thread until they are complete");
  }

  const TeamFailures& outermost() const noexcept {
    return parent_ == nullptr ? *this : parent_->outermost();
  }

  /// Throws if the call under way has failed elsewhere, or the team is broken.
  void check() { check_hook(this); }

  Connections connections_;
  PlanRuns plan_runs_;
  Comparisons comparisons_;
  Agreements agreements_;
  std::size_t outstanding_ = 0;     ///< requests
  pthread_t thread_{};              ///< of the outstanding requests
  TeamFailures* parent_ = nullptr;  ///< the team that this one is a part of
  TeamFailures* intra_ = nullptr;   ///< the division's
  TeamFailures* inter_ = nullptr;
  CallWords called_{0, CallWords::invalid};  ///< the blocking call under way, if there is no board
  const PlanRun* awaited_ = nullptr;         ///< of the request that is waited for
  bool in_epoch_ = false;
  bool in_phases_ = false;

 private:
  // --- what a long wait does besides waiting

  static TeamFailures& self(void* p) noexcept { return *static_cast<TeamFailures*>(p); }

  static void poke_hook(void* p) {
    TeamFailures& team = self(p);
    if (team.outstanding_ != 0) team.progress();
    if (team.hooks.progress) team.hooks.progress(team.hooks.context);
    if (team.parent_ != nullptr) poke_hook(team.parent_);
  }

  static void check_hook(void* p) {
    TeamFailures& team = self(p);
    if (team.site_ && team.in_epoch_) {
      team.site_->compare_calls();
      if (team.site_->failed()) team.mismatch(team.site_->failure_text());
    }
    if (const std::uint32_t reason = team.abort_reason(); reason != 0) team.lose(reason);
    // Where not all ranks share memory, those that do tell each other in that of their group; the
    // others are still to be told.
    if (team.in_phases_ && team.intra_ != nullptr && !team.site_) {
      const std::uint32_t reason = team.intra_->abort_reason();
      if (reason != 0) throw_lost(reason, team.lost_text(reason));
    }
    if (team.parent_ != nullptr) check_hook(team.parent_);
  }

  static void watch_hook(void* p) {
    TeamFailures& team = self(p);
    if (team.hooks.watch) team.hooks.watch(team.hooks.context);
    if (team.parent_ != nullptr) watch_hook(team.parent_);
  }

  /// What this rank waits for, as far as it knows: a sentence part after a colon.
  [[gnu::cold, gnu::noinline]] std::string waits_for() const {
    constexpr const char* somebody = ": a peer is stopped, lost or never made the call";
    if (site_ && site_->under_way()) {
      const std::string who = site_->missing(options_.first_epoch);
      if (!who.empty()) return ": " + who;
      return ": all ranks have come to " + site_->describe_call(options_.first_epoch) +
             ", and one is stopped or held up in it";
    }
    if (awaited_ != nullptr) return ", in a non-blocking " + awaited_->describe_call() + somebody;
    if (called_.what != CallWords::invalid) return ", in " + called_.describe() + somebody;
    return somebody;
  }

  static void expired_hook(void* p) {
    TeamFailures& team = self(p);
    const std::string why = "papcoll: rank " + std::to_string(team.shown(team.rank())) +
                            " waited longer than " +
                            std::to_string(team.options_.deadline.count() / 1000000) +
                            " ms, the deadline of its communicator" + team.waits_for();
    team.abort_node(NodeBoard::Abort::deadline);
    team.give_up(why);
    throw deadline_exceeded(why);
  }

  // --- why a team is lost

  /// As in NodeBoard::Abort; 0 where no memory is shared. In one order with what readers show of
  /// themselves: see ExposedBuffers::reader().
  std::uint32_t abort_reason() const noexcept {
    return site_ ? site_->board().abort().reason.load(std::memory_order_seq_cst) : 0;
  }

  [[noreturn]] void lose(std::uint32_t reason) {
    const std::string why = lost_text(reason);
    give_up(why);
    throw_lost(reason, why);
  }

  static bool somebody_gave_up(std::uint32_t reason) noexcept {
    return reason != NodeBoard::Abort::deadline && (reason & NodeBoard::Abort::gave_up) != 0;
  }

  std::string lost_text(std::uint32_t reason) const {
    const std::string here = std::to_string(shown(rank()));
    const std::string seen = ", seen on rank " + here;
    if (reason == NodeBoard::Abort::deadline) {
      const std::string who =
          site_ && site_->under_way() ? site_->missing(options_.first_epoch) : "";
      return "papcoll: a peer of rank " + here + " gave up at the deadline of the communicator" +
             (who.empty() ? "" : ": " + who);
    }
    if (somebody_gave_up(reason)) {
      return "papcoll: rank " + std::to_string(reason - NodeBoard::Abort::gave_up) +
             " could not complete a call" + seen + "; its exception says why";
    }
    if (!surroundings_.processes) {
      return "papcoll: the thread of rank " + std::to_string(reason - 1) +
             " ended by an exception" + seen;
    }
    return "papcoll: rank " + std::to_string(reason - 1) + " died" + seen +
           ": make a new communicator among the ranks that are left";
  }

  [[noreturn]] static void throw_lost(std::uint32_t reason, const std::string& why) {
    if (reason == NodeBoard::Abort::deadline) throw deadline_exceeded(why);
    if (somebody_gave_up(reason)) throw peer_error(why);
    throw detail::lost_rank(why, static_cast<int>(reason) - 1);
  }

  bool holds_on_ = false;
  std::string broken_;  ///< why, once it is
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
