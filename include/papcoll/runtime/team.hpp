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
#include <papcoll/node/call_words.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/waiting/waiter.hpp>
#include <papcoll/runtime/agreements.hpp>
#include <papcoll/runtime/algorithm_counts.hpp>
#include <papcoll/runtime/call_blocks.hpp>
#include <papcoll/runtime/call_counter.hpp>
#include <papcoll/runtime/call_scope.hpp>
#include <papcoll/runtime/errors/failures.hpp>
#include <papcoll/runtime/errors/invalid_calls.hpp>
#include <papcoll/runtime/in_flight.hpp>
#include <papcoll/runtime/memory/buffer_reclaim.hpp>
#include <papcoll/runtime/memory/freed_buffer_watch.hpp>
#include <papcoll/runtime/memory/registrations.hpp>
#include <papcoll/runtime/messages.hpp>
#include <papcoll/runtime/node_calls.hpp>
#include <papcoll/runtime/own_sites.hpp>
#include <papcoll/runtime/parts.hpp>
#include <papcoll/runtime/request_runs.hpp>
#include <papcoll/runtime/requests.hpp>
#include <papcoll/runtime/scheduled_calls.hpp>
#include <papcoll/runtime/setup/selection_texts.hpp>
#include <papcoll/runtime/team_context.hpp>
#include <papcoll/runtime/tickets.hpp>
#include <papcoll/schedule/plan_cache.hpp>
#include <papcoll/schedule/plan_run.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/topology/options.hpp>
#include <papcoll/transport/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

struct Hierarchy;
namespace detail {
struct Division;
}  // namespace detail

/// The rank's side of a team of ranks, below the seam: what Communicator and ThreadTeam::Rank are
/// made of. One thread at a time may use it.
///
/// It is made of parts, each of which is given those before it that it needs:
///
///     basis            who and where the ranks are, how this one waits, how many calls it made
///     node side        the board of a node: entering and leaving calls, arrivals, what failed
///     in flight        endpoints, runs of plans, comparisons, agreements, requests
///     failures         how a team breaks, and what a waiting rank looks out for
///     messages         calls and agreements by plans; meeting before what blocks in MPI
///     invalid calls    how peers hear of them
///     requests         non-blocking calls
///     scheduled calls  blocking calls by schedules, tickets, phases of hierarchies
///     lent buffers     how a rank gets its buffers back from a call that failed
///     parts            what only some calls want, made by the first of them: see TeamPart
///
/// Blocking calls of arrival-driven algorithms, where nanoseconds count, are here.
class TeamCore final : Pinned {
 public:
  [[gnu::cold]] TeamCore(TeamEnvironment surroundings, const Options& options)
      : basis_(std::move(surroundings), options), in_flight_(basis_) {}

  int rank() const noexcept { return basis_.rank(); }
  int size() const noexcept { return basis_.size(); }
  /// A rank as messages call it: by its number in the outermost team.
  int shown(int rank) const noexcept { return basis_.shown(rank); }
  const Options& options() const noexcept { return basis_.options; }
  const TeamEnvironment& surroundings() const noexcept { return basis_.surroundings; }
  bool on_one_node() const noexcept { return node_.is_there(); }
  Waiter& waiter() noexcept { return basis_.waiter; }
  /// The number of the next call, whichever it is.
  std::uint32_t calls() const noexcept { return basis_.calls.next(); }

  void set_hooks(const TeamHooks& hooks) noexcept {
    basis_.hooks = hooks;
    failures_.find_mpi();
  }
  /// More ranks than processors on the node, when the team is made?
  void set_oversubscribed(bool yes) noexcept {
    was_oversubscribed_ = yes;
    node_.set_oversubscribed(yes);
  }
  /// The same for calls whose choice must stay, though processors may change.
  bool was_oversubscribed() const noexcept { return was_oversubscribed_; }
  /// All ranks have just met: those of a node find out how to copy for each other.
  void try_copies() noexcept { node_.try_copies(); }
  /// The selection files of all ranks, see selection_texts.hpp.
  void set_files(const std::string& files) { files_ = files; }
  const std::string& files() const noexcept { return files_; }
  /// On how many processors the ranks of this node could run when the team was made; 0: unknown.
  void set_processors_at_first(std::size_t count) noexcept { processors_at_first_ = count; }
  std::size_t processors_at_first() const noexcept { return processors_at_first_; }

  /// Adds to the transports that calls may name by a text.
  void offer_transports(std::span<const TransportTable* const> transports) noexcept {
    if (basis_.surroundings.transports.size() >= transports.size()) return;
    basis_.surroundings.transports = transports;
    for (TeamCore* part : {intra_, inter_}) {
      if (part != nullptr) part->offer_transports(transports);
    }
  }
  /// See TeamEnvironment::messages.
  void offer_messages(MakeNotifyingEndpoint make) {
    basis_.surroundings.messages = std::move(make);
  }

  TeamParts& parts() noexcept { return in_flight_.parts; }
  const TeamParts& parts() const noexcept { return in_flight_.parts; }

  /// The buffers that this rank has registered; null: it never has.
  const detail::Shared<Registrations>& registrations() const noexcept { return registrations_; }
  void set_registrations(detail::Shared<Registrations> all) noexcept {
    registrations_ = std::move(all);
  }
  /// The buffers of this rank's prepared calls.
  /// Before the first prepared call: one that teams share which have the same arenas.
  void set_buffer_watch(detail::Shared<BufferWatch> watch) { buffer_watch_ = std::move(watch); }
  const detail::Shared<BufferWatch>& buffer_watch() {
    if (buffer_watch_ == nullptr) buffer_watch_ = detail::make_shared<BufferWatch>();
    return buffer_watch_;
  }
  /// This team is part of something, which has it for as long as it lives.
  void set_owner(detail::Weak<void> owner) noexcept { owner_ = std::move(owner); }
  /// For whoever wants to call later, when the communicator may have gone.
  detail::Shared<TeamCore> share() noexcept { return {owner_.lock(), this}; }
  /// Throws argument_error while a call is under way.
  void require_no_call() const { basis_.require_no_call(); }
  /// What its blocking calls keep the numbers of blocks that differ in.
  CallBlocks& blocks() noexcept { return blocks_; }

  // --- transports, see Connections

  void require(const TransportTable& t) const { in_flight_.connections.require(t); }
  const std::string& substitution() const noexcept { return in_flight_.connections.substitution(); }
  const std::string& why_no_ipc() const noexcept { return in_flight_.connections.why_no_ipc(); }

  // --- what the ranks know of each other's arrivals

  /// Who hears what calls cost, where the ranks share memory: set in the same call on all ranks.
  void set_cost_listener(CostListener* costs) noexcept { node_.set_cost_listener(costs); }
  /// What signals and copies between the ranks cost. Only where they share memory.
  const PeerCosts& peer_costs() const noexcept { return node_.peer_costs(); }
  /// What it was found to be before: from the same call on on all ranks.
  void begin_with(const PeerCosts& costs) noexcept { node_.begin_with(costs); }
  /// On how many processors the ranks may run, where they share memory; 0: unknown.
  std::size_t processors() const noexcept { return node_.processors(); }
  /// The number on the node's board of the next blocking call. Only where the ranks share memory.
  std::uint32_t next_epoch() noexcept { return node_.site().epoch() + 1; }

  /// Changes whenever what the ranks of a node know of arrivals, costs and processors has changed.
  /// Only where they share memory.
  std::uint32_t generation() const noexcept { return node_.generation(); }
  /// What the ranks have learnt of arrivals in calls of this kind, the same on all of them.
  Imbalance imbalance_of(const Call& call) const noexcept {
    const Agreements* const agreements = parts().find<Agreements>();
    const Imbalance* const exchanged = agreements != nullptr ? agreements->watched() : nullptr;
    return exchanged != nullptr ? *exchanged : node_.seen(call);
  }
  /// What a predictor's calls on this team have led to, so far: what order calls run in, and why.
  const Predictions& predictions(const AnyPredictor& predictor) {
    return parts().get<Agreements>(basis_).predictions_by(predictor);
  }
  PlanCache& plans() noexcept { return in_flight_.plan_runs.plans(); }
  /// The orders of calls under OnTopology, and the machine.
  MachineOrders& machine_orders() noexcept { return in_flight_.plan_runs.machine_orders(); }

  /// Does the team draw tickets of a transport?
  bool draws_tickets() const noexcept {
    const Tickets* const tickets = parts().find<Tickets>();
    return tickets != nullptr && tickets->are_drawn();
  }
  /// Why calls that want tickets of a transport run in predicted order, or nothing if they do not,
  /// or if there were none.
  const std::string& no_tickets() const noexcept {
    static const std::string nothing;
    const Tickets* const tickets = parts().find<Tickets>();
    return tickets != nullptr ? tickets->none() : nothing;
  }

  /// The team ends: its parts keep what they have for another one, if it ends in order.
  [[gnu::cold]] void keep_parts() noexcept {
    for (TeamCore* part : {intra_, inter_}) {
      if (part != nullptr) part->keep_parts();
    }
    if (!broken()) parts().keep();
  }
  /// The last chance of its parts to use MPI and the node's memory.
  [[gnu::cold]] void close_parts() noexcept {
    for (TeamCore* part : {intra_, inter_}) {
      if (part != nullptr) part->close_parts();
    }
    parts().close(broken());
  }

  /// A call runs by an algorithm that is not this class's to name.
  void count_call(Collective c, std::string_view algorithm) noexcept { counts_.add(c, algorithm); }
  /// By which algorithms its calls ran.
  const detail::AlgorithmCounts& algorithm_counts() const noexcept { return counts_; }

  // --- failures, see TeamFailures

  bool broken() const noexcept { return failures_.broken(); }
  bool holds_on() const noexcept { return failures_.holds_on(); }
  bool tells_of_death() const noexcept { return failures_.tells_of_death(); }
  void progress() { failures_.progress(); }
  bool settle() noexcept { return failures_.settle(); }
  bool has_open_requests() const noexcept { return in_flight_.plan_runs.of_requests().any_taken(); }
  /// The team ends, in order, with nothing in flight.
  void end() noexcept { in_flight_.connections.end(); }
  void give_up(const std::string& why) noexcept { failures_.give_up(why); }
  void abort_node(std::uint32_t reason) noexcept { failures_.abort_node(reason); }
  void require_usable() const { failures_.require_usable(); }
  template <class F>
  void or_fail_everywhere(F&& f) {
    failures_.or_fail_everywhere(f);
  }
  void fail_everywhere(const std::string& why,
                       PeerFailureNotice what = PeerFailureNotice::gave_up) noexcept {
    failures_.fail_everywhere(why, what);
  }
  void fail_everywhere(const std::exception& why) noexcept { failures_.fail_everywhere(why); }

  // --- invalid calls, see there

  template <class Error = argument_error>
  [[noreturn]] void refuse(Called called, const std::string& text) {
    invalid_calls_.refuse<Error>(called, text);
  }
  std::string tell_refusal(bool non_blocking, const std::string& what) {
    return invalid_calls_.tell(non_blocking, what);
  }

  // --- teams within this one, see Hierarchy

  /// This team is one of `parent`'s, whose ranks `ranks` are this one's, in this order.
  [[gnu::cold]] void belong_to(TeamCore& parent, std::vector<int> ranks) {
    parent_ = &parent;
    failures_.set_parent(parent.failures_);
    basis_.names.reserve(ranks.size());
    for (const int r : ranks) basis_.names.push_back(parent.basis_.shown(r));
    node_.call_ranks(basis_.names);
    in_flight_.connections.go_through(parent.in_flight_.connections, std::move(ranks),
                                      parent.basis_.calls.blocking());
  }

  /// Null: it is never divided, or is part of a team.
  void set_division(detail::Division* division) noexcept { division_ = division; }
  detail::Division* division() const noexcept { return division_; }
  /// `helps`: it has groups of several ranks, all of which have memory in common.
  void set_hierarchy(detail::Shared<Hierarchy> hierarchy, bool helps) noexcept {
    hierarchy_ = std::move(hierarchy);
    has_groups_ = helps && !on_one_node() && !is_inner();
  }
  /// Its teams: of this rank's group, null if it is alone there, and, on representatives, of them.
  void set_parts(TeamCore* intra, TeamCore* inter) noexcept {
    intra_ = intra;
    inter_ = inter;
    failures_.set_parts(intra == nullptr ? nullptr : &intra->failures_,
                        inter == nullptr ? nullptr : &inter->failures_);
    node_.set_parts(intra == nullptr ? nullptr : &intra->node_,
                    inter == nullptr ? nullptr : &inter->node_);
  }
  /// Null if it is not divided, or hierarchy_of() was never asked.
  Hierarchy* hierarchy() const noexcept { return hierarchy_.get(); }
  TeamCore* parent() const noexcept { return parent_; }
  bool is_inner() const noexcept { return parent_ != nullptr; }
  TeamCore* intra() const noexcept { return intra_; }
  TeamCore* inter() const noexcept { return inter_; }
  /// Several nodes, or groups, at least one of several ranks that have memory in common?
  bool has_groups() const noexcept { return has_groups_; }

  /// The plan by which a call runs in the order of the ranks.
  PlanOf plan_of(const AnySchedule& schedule, const Call& call) {
    return in_flight_.plan_runs.plan_of(schedule, call);
  }

  // --- non-blocking calls, see TeamRequests

  RequestRun* start(const AnySchedule& schedule, const TransportTable& transport, const Call& call,
                    const OrderSource& source = {}) {
    counts_.add(call.collective, schedule.base_name());
    return requests_.start(schedule, transport, call, source);
  }
  void wait(const PlanRun& plan_run) { requests_.wait(plan_run); }
  bool test(const PlanRun& plan_run) { return requests_.test(plan_run); }
  void finish(RequestRun& plan_run) { requests_.finish(plan_run); }
  void forget(RequestRun& plan_run) noexcept { requests_.forget(plan_run); }

  // --- blocking calls by schedules, see ScheduledCalls

  void run_in_rank_order(const AnySchedule& schedule, const TransportTable& transport,
                         const Call& call) {
    counts_.add(call.collective, schedule.base_name());
    scheduled_.run_in_rank_order(schedule, transport, call);
  }
  void run(const AnySchedule& schedule, const TransportTable& transport, const Call& call,
           const OrderSource& source = {}, bool by_ticket = false) {
    counts_.add(call.collective, schedule.base_name());
    if (!source && !by_ticket) return scheduled_.run_in_rank_order(schedule, transport, call);
    scheduled_.run(schedule, transport, call, source, by_ticket, is_inner());
  }
  template <class Connect, class Phases>
  void run_divided(std::uint32_t id, const Call& call, Connect&& connect, Phases&& phases) {
    scheduled_.run_divided(id, call, connect, phases);
  }
  void run_at_endpoint(std::uint32_t id, const TransportTable& transport, const Call& call,
                       RunAtEndpoint& run) {
    scheduled_.run_at_endpoint(id, transport, call, run);
  }
  template <class F>
  void run_counted(const Groups* nodes, const Call& call, const CallTrial& trial, bool is_watched,
                   F&& run) {
    scheduled_.run_counted(nodes, call, trial, is_watched, run);
  }
  bool connected(const TransportTable& t) { return scheduled_.connected(t); }

  // --- blocking calls of arrival-driven algorithms

  /// Runs an arrival-driven algorithm that is compiled for NodeSite; the team must be on one node.
  void run(const ArrivalAlgorithm& algorithm, const Call& call) {
    run_on(&node_.site(), words_of(call, algorithm.id), algorithm, call);
  }

  /// The same of a call whose words_of(), by the algorithm, are known.
  void run(const ArrivalAlgorithm& algorithm, const CallWords& words, const Call& call) {
    run_on(&node_.site(), words, algorithm, call);
  }

  /// Runs an arrival-driven algorithm that is compiled for the transport's site.
  void run(const ArrivalAlgorithm& algorithm, const TransportTable& transport, const Call& call) {
    if (transport.make_site == nullptr) return run(algorithm, call);
    OwnSites& sites = parts().get<OwnSites>(basis_, node_, in_flight_, failures_);
    const SiteOfCall own = sites.of(transport, algorithm, call);
    run_on(own.site, words_of(call, own.compared_by), algorithm, call);
  }

 private:
  void run_on(void* site, const CallWords& words, const ArrivalAlgorithm& algorithm,
              const Call& call) {
    const CallScope scope{basis_, node_, in_flight_, failures_, words, call};
    counts_.add(call.collective, algorithm.name);
    if (call.count == 0 && call.collective != Collective::barrier) return node_.announce_only();
    try {
      try {
        algorithm.run(site, basis_.waiter, call);
      } catch (const failed_copy& problem) {
        failures_.explain(problem);
        throw;
      }
    } catch (const peer_error&) {  // all of this epoch see it: the next one is not affected
      lent_buffers_.take_back();
      throw;
    } catch (const std::exception& problem) {
      failures_.fail_everywhere(problem);
      lent_buffers_.take_back();
      throw;
    }
  }

  TeamContext basis_;
  NodeCallTracker node_{basis_};
  InFlight in_flight_;
  TeamFailures failures_{basis_, node_, in_flight_};
  TeamMessages messages_{basis_, node_, in_flight_, failures_};
  InvalidCalls invalid_calls_{basis_, node_, failures_, messages_};
  TeamRequests requests_{basis_, in_flight_, failures_, messages_, invalid_calls_};
  ScheduledCalls scheduled_{basis_, node_, in_flight_, failures_, messages_};
  BufferReclaim lent_buffers_{basis_, node_, failures_};
  CallBlocks blocks_;
  detail::AlgorithmCounts counts_;
  std::string files_;
  std::size_t processors_at_first_ = 0;
  detail::Shared<Registrations> registrations_;
  detail::Shared<BufferWatch> buffer_watch_;
  detail::Weak<void> owner_;
  TeamCore* parent_ = nullptr;  ///< the team that this one is a part of
  TeamCore* intra_ = nullptr;   ///< the hierarchy's
  TeamCore* inter_ = nullptr;
  detail::Shared<Hierarchy> hierarchy_;
  detail::Division* division_ = nullptr;
  bool has_groups_ = false;
  bool was_oversubscribed_ = false;
};

}  // namespace papcoll::inline PAPCOLL_ABI
