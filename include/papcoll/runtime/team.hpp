#pragma once

#include <papcoll/algorithms/static/dissemination.hpp>
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/arrival/exchanged_imbalance.hpp>
#include <papcoll/arrival/predictions.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/error.hpp>
#include <papcoll/options.hpp>
#include <papcoll/runtime/call_numbers.hpp>
#include <papcoll/runtime/own_sites.hpp>
#include <papcoll/runtime/requests.hpp>
#include <papcoll/runtime/tickets.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/transport/transport.hpp>
#include <papcoll/waiting/waiter.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

struct Hierarchy;

// One rank's side of a team is made of layers, each a class that knows only those before it, and of
// parts that know nothing of the team:
//
//     team/basis.hpp      who and where the ranks are, how this one waits, how many calls it made
//     team/failures.hpp   how a team breaks, and what a waiting rank looks out for
//         connections.hpp     transports and endpoints
//         executions.hpp      runs of plans
//         comparisons.hpp     what non-blocking calls begin with where they are compared
//         agreements.hpp      what is agreed on by messages that nobody waits for
//     team/messages.hpp   passing messages by plans
//         gate.hpp            meeting before what blocks in MPI
//     team/frames.hpp     entering and leaving calls on the board, and watching arrivals
//     team/refusals.hpp   calls that are invalid or do not match
//         refused_requests.hpp
//     team/requests.hpp   non-blocking calls
//     team.hpp            blocking calls, and teams within teams (hierarchy.hpp)
//         own_sites.hpp       sites of transports that bring their own
//         tickets.hpp         the order of arrival where no memory is shared
//         call_words.hpp      what calls are compared by

/// The rank's side of a team of ranks, below the seam: what Communicator and ThreadTeam::Rank are
/// made of. One thread at a time may use it.
class TeamCore final : public TeamRequests {
 public:
  TeamCore(Surroundings surroundings, std::vector<const TransportTable*> transports,
           const Options& options)
      : TeamRequests(std::move(surroundings), std::move(transports), options) {}
  ~TeamCore() = default;

  // --- teams within this one, see Hierarchy

  /// This team is one of `parent`'s, whose ranks `ranks` are this one's, in this order.
  void belong_to(TeamCore& parent, std::vector<int> ranks) {
    parent_ = &parent;
    std::vector<int> names;
    names.reserve(ranks.size());
    for (const int r : ranks) names.push_back(parent.shown(r));
    call_ranks(std::move(names));
    connections_.go_through(parent.connections_, std::move(ranks), parent.blocking_calls_);
  }

  /// Gives the team its groups: this rank's, null if it is alone there, and, on representatives,
  /// that of all of them.
  /// `helps`: it has groups of several ranks, all of which have memory in common.
  void divide(std::shared_ptr<Hierarchy> hierarchy, TeamCore* intra, TeamCore* inter,
              bool helps) noexcept {
    hierarchy_ = std::move(hierarchy);
    has_groups_ = helps && !site_ && !is_inner();
    intra_ = intra;
    inter_ = inter;
  }
  Hierarchy* hierarchy() const noexcept { return hierarchy_.get(); }
  TeamCore* parent() const noexcept { return static_cast<TeamCore*>(parent_); }
  bool is_inner() const noexcept { return parent_ != nullptr; }
  TeamCore* intra() const noexcept { return static_cast<TeamCore*>(intra_); }
  TeamCore* inter() const noexcept { return static_cast<TeamCore*>(inter_); }

  // --- what runs

  /// Several nodes, or groups, at least one of several ranks that have memory in common?
  bool has_groups() const noexcept { return has_groups_; }

  /// What the ranks have learnt of arrivals in calls of this kind, the same on all of them.
  Imbalance imbalance_of(const Call& call) const noexcept {
    const Imbalance* const exchanged = agreements_.watched();
    return exchanged != nullptr ? *exchanged : seen_on_board(call);
  }

  /// Why calls that want tickets of a transport run in predicted order, or nothing if they do not,
  /// or if there were none.
  const std::string& no_tickets() const noexcept { return tickets_.none(); }

  /// Does the team draw tickets of a transport?
  bool draws_tickets() const noexcept { return tickets_.are_drawn(); }

  /// The tickets' last chance to use MPI.
  void close_tickets() noexcept { tickets_.close(broken()); }

  // --- blocking calls

  /// Runs an arrival-driven algorithm that is compiled for NodeSite; the team must be on one node.
  void run(const ArrivalAlgorithm& algorithm, const Call& call) {
    run_on({&*site_, algorithm.id}, algorithm, call);
  }

  /// Runs an arrival-driven algorithm that is compiled for the transport's site.
  void run(const ArrivalAlgorithm& algorithm, const TransportTable& transport, const Call& call) {
    const bool own = transport.make_site != nullptr;
    run_on(own ? own_site(transport, algorithm, call) : SiteOfCall{&*site_, algorithm.id},
           algorithm, call);
  }

  /// Runs a static schedule in the order of the ranks.
  void run_in_rank_order(const AnySchedule& schedule, const TransportTable& transport,
                         const Call& call) {
    const CallWords words = words_of_plan(call, schedule, transport, nullptr);
    const Epoch epoch{*this, words, call};
    if (site_) announce_only();
    if constexpr (assertion_level >= 2) compare(words, {});
    if (is_empty(call)) return;
    meet_before(transport);
    Endpoint* const e = endpoint_or_native(transport);
    if (e == nullptr) return hooks.native(hooks.context, call);
    run_plan(schedule, *e, transport.rings, call);
  }

  /// Runs a static schedule; with a predictor, in the order that it predicts.
  /// `by_ticket`: rather in the order of arrival, if the transport has tickets; it is a chain.
  void run(const AnySchedule& schedule, const TransportTable& transport, const Call& call,
           const AnyPredictor& predictor = {}, bool by_ticket = false) {
    Predictions* const expected = predictor ? &agreements_.predictions_by(predictor) : nullptr;
    const auto arrival = predictor ? Waiter::Clock::now() : Waiter::Clock::time_point{};
    const CallWords words = words_of_plan(call, schedule, transport, expected, by_ticket);
    const Epoch epoch{*this, words, call};
    if (site_) announce_only();
    if constexpr (assertion_level >= 2) compare(words, {});
    if (is_empty(call)) return;
    meet_before(transport);
    Endpoint* const e = endpoint_or_native(transport);
    if (e == nullptr) return hooks.native(hooks.context, call);
    if (by_ticket && has_tickets(transport, *e)) {
      return run_by_ticket(schedule, *e, call);
    }
    if (expected != nullptr) {
      expected->arrived(arrival);
      if (expected->count_call() && size() > 1) {
        renew(*expected, *e, transport.rings, [&] { expected->adopt(plans()); });
      }
    }
    run_plan(schedule, *e, transport.rings, call, expected);
    if (expected != nullptr) expected->left(call.collective, arrival);
  }

  /// Runs a call whose `phases` are calls of the teams within this one. `connect` calls connected()
  /// for each transport they use, and says if all are there.
  template <class Connect, class Phases>
  void run_divided(std::uint32_t id, const Call& call, Connect&& connect, Phases&& phases) {
    const CallWords words = words_of_long(call, id);
    const Epoch epoch{*this, words, call};
    if (site_) announce_only();
    if constexpr (assertion_level >= 2) compare(words, {});
    if (is_empty(call)) return;
    if (!connect()) return hooks.native(hooks.context, call);
    struct InPhases {
      bool& now;
      explicit InPhases(bool& flag) : now(flag) { now = true; }
      InPhases(const InPhases&) = delete;
      InPhases& operator=(const InPhases&) = delete;
      ~InPhases() { now = false; }
    } const guard{in_phases_};
    try {
      phases();
    } catch (const deadline_exceeded& problem) {
      abort_node(NodeBoard::Abort::deadline);
      give_up(problem.what());
      throw;
    } catch (const std::exception& problem) {
      fail_everywhere(problem);
      throw;
    }
  }

  /// Runs a call whose algorithm depends on arrivals, in a team on several nodes, and watches them.
  /// Nobody leaves it before all have come.
  template <class F>
  void run_watched(F&& run) {
    const auto arrival = Waiter::Clock::now();
    run();
    const auto in_call = Waiter::Clock::now() - arrival;
    ExchangedImbalance& watch = agreements_.watch();
    if (!watch.left(in_call)) return;
    const TransportTable& t = default_transport();
    Endpoint* const e = endpoint_or_native(t);
    if (e != nullptr) renew(watch, *e, t.rings, [&] { watch.adopt(); });
  }

  /// Connects a transport for the teams within, in a call of all ranks. False: MPI had no
  /// communicator left for it.
  bool connected(const TransportTable& t) {
    meet_before(t);
    return endpoint_or_native(t) != nullptr;
  }

 private:
  /// What an arrival-driven call runs on.
  struct SiteOfCall {
    void* site;                 ///< of the kind that the call's algorithm is compiled for
    std::uint32_t compared_by;  ///< 16 bits that stand for the algorithm on that site
  };

  void run_on(SiteOfCall on, const ArrivalAlgorithm& algorithm, const Call& call) {
    const Epoch epoch{*this, words_of(call, on.compared_by), call};
    if (call.count == 0 && call.collective != Collective::barrier) return announce_only();
    try {
      try {
        algorithm.run(on.site, waiter_, call);
      } catch (const failed_copy& problem) {
        explain(problem);
        throw;
      }
    } catch (const peer_error& problem) {  // all of this epoch see it: the next one is not affected
      stop_readers(problem);
      take_buffers_back();
      throw;
    } catch (const std::exception& problem) {
      fail_everywhere(problem);
      stop_readers(problem);
      take_buffers_back();
      throw;
    }
  }

  [[gnu::noinline]] SiteOfCall own_site(const TransportTable& transport,
                                        const ArrivalAlgorithm& algorithm, const Call& call) {
    OwnSites::Of& own = own_sites_.of(transport);
    if (own.site == nullptr) make_site(own, call);
    return {own.site.get(), short_id(own.id_of(algorithm.id))};
  }

  /// Makes this rank's site of a transport that brings its own, in a call of all ranks: a frame of
  /// its own shows that all of them want it, so that none is alone in what makes it.
  [[gnu::noinline, gnu::cold]] void make_site(OwnSites::Of& own, const Call& call) {
    const Epoch epoch{*this, words_of_long(call, own.id_of_making()), call};
    announce_only();
    compare_on_board();
    try {
      own.site = own.transport->make_site(surroundings_, *site_);
    } catch (const transport_unavailable&) {
      throw;  // on all ranks
    } catch (const std::exception& problem) {
      fail_everywhere(problem);
      throw;
    }
  }

  /// In a call of all ranks: if connecting the transport blocks in MPI, they meet first.
  void meet_before(const TransportTable& t) {
    if (!site_ || !connections_.connecting_blocks(t)) return;
    compare_on_board();
    meet_on_node(t, [] {});
  }

  /// Are there tickets? Asked by all ranks in the same call, of which the first makes them.
  bool has_tickets(const TransportTable& t, Endpoint& e) {
    if (size() > 1 && tickets_.are_open()) open_tickets(t, e);
    return tickets_.are_drawn();
  }

  [[gnu::noinline, gnu::cold]] void open_tickets(const TransportTable& t, Endpoint& e) {
    if (t.open_words == nullptr || is_inner()) return tickets_.refuse(t);
    // What follows blocks in MPI until all ranks are there.
    std::byte token{};
    run_plan(AnySchedule::of<Dissemination>(), e, t.rings, detail::barrier_call(&token));
    ++blocking_calls_;  // the call itself has a number of its own
    or_fail_everywhere([&] { tickets_.open(t, surroundings_, options_); });
  }

  void run_by_ticket(const AnySchedule& schedule, Endpoint& e, const Call& call) {
    PlanRun& plan_run = plan_runs_.idle();
    or_fail_everywhere([&] {
      TicketedChain chain{tickets_.board(),    plan_runs_, plan_run, e, schedule, call,
                          2 * blocking_calls_, rank(),     size()};
      waiter_.until([&] { return chain.step(); }, Naps::none);
      chain.end();
    });
  }

  OwnSites own_sites_;
  Tickets tickets_;
  std::shared_ptr<Hierarchy> hierarchy_;
  bool has_groups_ = false;
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
