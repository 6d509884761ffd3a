#pragma once

#include <papcoll/algorithms/static/dissemination.hpp>
#include <papcoll/algorithms/static/each_to_each.hpp>
#include <papcoll/algorithms/static/recursive_doubling.hpp>
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/arrival/board_site.hpp>
#include <papcoll/arrival/exchanged_imbalance.hpp>
#include <papcoll/arrival/imbalance.hpp>
#include <papcoll/arrival/predictions.hpp>
#include <papcoll/arrival/ticket_board.hpp>
#include <papcoll/call.hpp>
#include <papcoll/catalogue/compare_calls.hpp>
#include <papcoll/catalogue/thresholds.hpp>
#include <papcoll/error.hpp>
#include <papcoll/options.hpp>
#include <papcoll/plan/engine.hpp>
#include <papcoll/plan/plan_cache.hpp>
#include <papcoll/transport/group_endpoint.hpp>
#include <papcoll/transport/transport.hpp>
#include <papcoll/waiting/waiter.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pthread.h>

namespace papcoll::inline PAPCOLL_ABI {

struct Division;

/// The rank's side of a team of ranks, below the seam: what Communicator and ThreadTeam::Rank are
/// made of. One thread at a time may use it.
class TeamCore {
 public:
  /// What differs between teams of processes and of threads. Any function may be null.
  struct Hooks {
    void (*progress)(void*) = nullptr;  ///< moves MPI and this rank's requests on other teams
    void (*watch)(void*) = nullptr;     ///< throws peer_lost if a peer is dead
    /// Tells peers that share no memory with this rank of its call number n, or of itself.
    void (*refused)(void*, std::uint32_t n, Told what, const std::string& text) = nullptr;
    /// Runs a blocking call by MPI's own collectives, where no endpoint could be had.
    void (*native)(void*, const Call&) = nullptr;
    /// The first request of this rank on this team begins, or the last one ends.
    void (*outstanding)(void*, bool any) = nullptr;
    /// Has the process of a rank ended?
    bool (*is_gone)(void*, int rank) = nullptr;
    void* context = nullptr;
  };

  TeamCore(Surroundings surroundings, std::vector<const TransportTable*> transports,
           const Options& options)
      : surroundings_(std::move(surroundings)),
        transports_(std::move(transports)),
        options_(options),
        blocking_calls_(options.first_epoch),
        requests_(options.first_epoch) {
    waiter_.rank = surroundings_.rank;
    waiter_.deadline = std::chrono::duration_cast<Waiter::Clock::duration>(options.deadline);
    if (const Node* node = surroundings_.node) {
      bells_.emplace(node->bells, node->size);
      site_.emplace(Board{node->board, node->size, options.chunk_bytes}, *bells_, node->rank,
                    options.first_epoch, node);
      imbalance_.emplace(site_->board(), node->rank);
      waiter_.bells = &*bells_;
      refusals_heard_.resize(static_cast<std::size_t>(node->size));
    }
    for (const TransportTable* t : transports_) {
      if (default_transport_ == nullptr && t->unavailable(surroundings_).empty()) {
        default_transport_ = t;
      }
    }
    waiter_.hooks = {&TeamCore::poke_hook, &TeamCore::check_hook, &TeamCore::watch_hook,
                     &TeamCore::expired_hook, this};
  }
  TeamCore(const TeamCore&) = delete;
  TeamCore& operator=(const TeamCore&) = delete;
  ~TeamCore() = default;

  int rank() const noexcept { return surroundings_.rank; }
  int size() const noexcept { return surroundings_.size; }
  const Options& options() const noexcept { return options_; }
  const Surroundings& surroundings() const noexcept { return surroundings_; }
  bool on_one_node() const noexcept { return site_.has_value(); }
  bool broken() const noexcept { return !broken_.empty(); }
  PlanCache& plans() noexcept { return plans_; }
  /// What this rank allocates node-shared memory from, once arena_of() has made it.
  std::shared_ptr<void>& arena() noexcept { return arena_; }

  // --- teams within this one, see Division

  /// This team is one of `parent`'s, whose ranks `ranks` are this one's, in this order.
  void belong_to(TeamCore& parent, std::vector<int> ranks) {
    parent_ = &parent;
    ranks_ = std::move(ranks);
    std::vector<int> names;
    for (const int r : ranks_) names.push_back(parent.shown(r));
    if (site_) site_->call_ranks(names);
    names_ = std::move(names);
  }

  /// Gives the team its groups: this rank's, null if it is alone there, and, on representatives,
  /// that of all of them.
  /// `helps`: it has groups of several ranks, all of which have memory in common.
  void divide(std::shared_ptr<Division> division, TeamCore* within, TeamCore* between,
              bool helps) noexcept {
    division_ = std::move(division);
    has_groups_ = helps && !site_ && !is_inner();
    within_ = within;
    between_ = between;
  }
  Division* division() const noexcept { return division_.get(); }
  bool is_inner() const noexcept { return parent_ != nullptr; }
  TeamCore* within() const noexcept { return within_; }
  TeamCore* between() const noexcept { return between_; }

  Hooks hooks{};
  void set_thresholds(const Thresholds& thresholds) noexcept { thresholds_ = thresholds; }
  const Thresholds& thresholds() const noexcept { return thresholds_; }

  /// What decides how the next call runs if no algorithm is named. `by_messages`: it can only pass
  /// them. `any_transport`: none is named either.
  Situation situation(const Call& call, bool by_messages, bool any_transport) const noexcept {
    Situation s;
    s.size = size();
    s.oversubscribed = waiter_.oversubscribed;
    s.grouped = any_transport && has_groups_;
    s.by_messages = by_messages;
    s.chunk_bytes = options_.chunk_bytes;
    if (imbalance_) s.imbalance = imbalance_->of(kind_of(call));
    if (exchanged_ != nullptr) s.imbalance = exchanged_->view();
    s.thresholds = &thresholds_;
    return s;
  }

  void set_oversubscribed(bool yes) noexcept { waiter_.oversubscribed = yes; }
  Waiter& waiter() noexcept { return waiter_; }

  const std::vector<const TransportTable*>& transports() const noexcept { return transports_; }

  /// The first of this kind of team's transports that can serve this team.
  const TransportTable& default_transport() const noexcept { return *default_transport_; }

  /// The transport of that name among those this kind of team has.
  const TransportTable& transport(std::string_view name) const {
    for (const TransportTable* t : transports_) {
      if (t->name == name) return *t;
    }
    throw transport_unavailable(
        "papcoll: " + std::string(name) + " does not serve this kind of team" + " (rank " +
        std::to_string(rank()) + "): take " + std::string(transports_.front()->name));
  }

  /// Throws transport_unavailable if the transport cannot serve this team.
  void require(const TransportTable& t) const {
    if (std::string why = t.unavailable(surroundings_); !why.empty()) {
      throw transport_unavailable("papcoll: " + std::string(t.name) + " is not available on rank " +
                                  std::to_string(rank()) + ": " + why);
    }
  }

  /// This rank's endpoint; made, by all ranks, at the first call that needs it. If messages of MPI
  /// are behind it, that call waits for all ranks, even if it is a non-blocking one.
  Endpoint& endpoint(const TransportTable& t) {
    for (auto& e : endpoints_) {
      if (e.table == &t || e.table->name == t.name) return *e.endpoint;
    }
    require(t);
    if (parent_ != nullptr && (t.offers & capability::node_memory) == 0) {
      endpoints_.push_back({&t, std::make_unique<GroupEndpoint>(parent_->endpoint(t), ranks_,
                                                                parent_->blocking_calls_)});
    } else {
      endpoints_.push_back({&t, t.connect(surroundings_)});
    }
    return *endpoints_.back().endpoint;
  }

  /// Why calls over MPI's messages run by MPI's own collectives, or nothing if they do not.
  const std::string& substitution() const noexcept { return substitution_; }

  // --- blocking calls

  /// Runs an algorithm of the arrival floor; the team must be on one node.
  void run(const ArrivalAlgorithm& algorithm, const Call& call) {
    const Epoch epoch{*this, words_of(call, algorithm.id), call};
    if (call.count == 0 && call.collective != Collective::barrier) return announce_only();
    try {
      try {
        algorithm.run(*site_, waiter_, call);
      } catch (const failed_copy& problem) {
        explain(problem);
        throw;
      }
    } catch (
        const peer_error&) {  // seen by all who are in this epoch: the next one is not affected
      take_buffers_back();
      throw;
    } catch (const std::exception& problem) {
      fail_everywhere(problem);
      take_buffers_back();
      throw;
    }
  }

  /// Runs a schedule of the plan floor; with a predictor, in the order that it predicts.
  /// `by_ticket`: rather in the order of arrival, if the transport has tickets; it is a chain.
  void run(const AnySchedule& schedule, const TransportTable& transport, const Call& call,
           const AnyPredictor& predictor = {}, bool by_ticket = false) {
    Predictions* const predictions = predictor ? &predictions_by(predictor) : nullptr;
    const auto arrival = predictor ? Waiter::Clock::now() : Waiter::Clock::time_point{};
    const std::uint32_t id =
        plan_id(schedule, transport) + order_id(predictions) + (by_ticket ? 1 : 0);
    const CallWords words = words_of(call, static_cast<std::uint8_t>(id % 251), id);
    const Epoch epoch{*this, words, call};
    if (site_) announce_only();
    if constexpr (assertion_level >= 2) compare(words, {});
    if (is_empty(call)) return;
    if (site_ && connecting_blocks(transport)) {
      compare_on_board();
      pass_gate(transport, [] {});
    }
    Endpoint* const e = endpoint_or_native(transport);
    if (e == nullptr) return hooks.native(hooks.context, call);
    if (by_ticket && has_tickets(transport, *e)) {
      return run_by_ticket(schedule, *e, call);
    }
    if (predictions != nullptr) {
      predictions->arrived(arrival);
      count_call(*predictions, *e, transport.rings);
    }
    run_plan(schedule, *e, transport.rings, call, predictions);
    if (predictions != nullptr) predictions->left(call.collective, arrival);
  }

  /// Why calls that want tickets of a transport run in predicted order, or nothing if they do not,
  /// or if there were none.
  const std::string& no_tickets() const noexcept { return no_tickets_; }

  /// Does the team draw tickets of a transport?
  bool draws_tickets() const noexcept { return tickets_.has_value(); }

  /// The tickets' last chance to use MPI.
  void close_tickets() noexcept {
    if (tickets_) tickets_->close(broken());
    tickets_.reset();
  }

  /// What a predictor's calls on this team have led to, so far: what order calls run in, and why.
  const Predictions& predictions(const AnyPredictor& predictor) {
    return predictions_by(predictor);
  }

  /// Runs a call whose `phases` are calls of the teams within this one. `connect` calls connected()
  /// for each transport they use, and says if all are there.
  template <class Connect, class Phases>
  void run_divided(std::uint32_t id, const Call& call, Connect&& connect, Phases&& phases) {
    const CallWords words = words_of(call, static_cast<std::uint8_t>(id % 251), id);
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
      abort_node(Board::Abort::deadline);
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
    if (exchanged_ == nullptr) {
      const auto period = Turns::period_of(size(), options_.agreement_period);
      exchanged_ = std::make_unique<ExchangedImbalance>(rank(), size(), period);
    }
    if (!exchanged_->left(in_call)) return;
    const TransportTable& t = default_transport();
    Endpoint* const e = endpoint_or_native(t);
    if (e == nullptr) return;
    or_fail_everywhere([&] {
      if (complete(exchanged_->agreement())) exchanged_->adopt();
      exchanged_->begin(*e, t.rings, exchange_over(t.rings), plans_, next_exchange(*e));
    });
  }

  /// Can it say in time that a peer died? Among ranks that share no memory, only while those of a
  /// group that do are in a call together.
  bool tells_of_death() const noexcept { return site_.has_value() || in_phases_; }

  /// Connects a transport for the teams within, in a call of all ranks. False: MPI had no
  /// communicator left for it.
  bool connected(const TransportTable& t) {
    if (site_ && connecting_blocks(t)) {
      compare_on_board();
      pass_gate(t, [] {});
    }
    return endpoint_or_native(t) != nullptr;
  }

  // --- non-blocking calls: any call of the team moves them all

  /// Null: there is nothing to wait for. Local, but for the first request that needs MPI messages,
  /// and for one that comes thousands of requests after one that is still under way.
  Execution* start(const AnySchedule& schedule, const TransportTable& transport, const Call& call,
                   const AnyPredictor& predictor = {}) {
    require_usable();
    require_own_thread();
    ++requests_;
    if (is_empty(call)) return nullptr;
    Endpoint& e = endpoint_for_request(transport);
    or_fail_everywhere(
        [&] { waiter_.until([&] { return has_room(e, 2 * requests_ + 1); }, Naps::none); });
    Execution& execution = idle_execution();
    execution.claimed = true;
    if (outstanding_++ == 0) {
      thread_ = pthread_self();
      if (hooks.outstanding) hooks.outstanding(hooks.context, true);
    }
    const Predictions* const predictions = predictor ? &predictions_by(predictor) : nullptr;
    or_fail_everywhere(
        [&] { begin(execution, e, schedule, call, 2 * requests_ + 1, predictions); });
    return &execution;
  }

  /// Moves all outstanding requests of the team once.
  void progress() {
    or_fail_everywhere([&] {
      for (auto& e : endpoints_) e.endpoint->progress();
    });
  }

  /// Waits for a request.
  void wait(const Execution& execution) {
    require_usable();
    require_own_thread();
    or_fail_everywhere([&] {
      waiter_.until(
          [&] {
            progress();
            if (!execution.done()) look_for_refused_requests();
            return execution.done();
          },
          Naps::none);
    });
  }

  /// Does once what a wait does again and again; is the request complete?
  bool test(const Execution& execution) {
    require_usable();
    require_own_thread();
    progress();
    if (execution.done()) return true;
    or_fail_everywhere([&] {
      look_for_refused_requests();
      check_hook(this);
      if (hooks.progress) hooks.progress(hooks.context);
      if (const auto now = Waiter::Clock::now(); hooks.watch && now >= next_watch_) {
        next_watch_ = now + waiter_.times.watch_every;
        hooks.watch(hooks.context);
      }
    });
    return execution.done();
  }

  /// The request is done with.
  void finish(Execution& execution) noexcept {
    execution.claimed = false;
    if (outstanding_ == 0) return;
    if (--outstanding_ == 0 && hooks.outstanding) hooks.outstanding(hooks.context, false);
  }

  /// The number of the next call, whichever it is.
  std::uint32_t calls() const noexcept { return blocking_calls_ + requests_; }

  // --- failures

  /// This rank's call is invalid: tells the peers, who throw peer_error, and throws argument_error.
  [[noreturn]] void refuse(Collective collective, bool non_blocking, const std::string& text) {
    const std::string what = std::string(name_of(collective)) + " on rank " +
                             std::to_string(rank()) + " of " + std::to_string(size()) + ": " + text;
    tell_refusal(non_blocking, what);
    throw argument_error("papcoll: " + what);
  }

  /// Tells the peers that this rank's call is invalid. If all ranks make such a call at once, the
  /// team stays as it was.
  void tell_refusal(bool non_blocking, const std::string& what) {
    if (!broken_.empty()) return;
    if (non_blocking) {
      refuse_request(what);
    } else {
      refuse_call(what);
    }
  }

  /// This rank cannot go on, and its peers cannot go on without it. `what`: gave_up, or a rank that
  /// died.
  void fail_everywhere(const std::string& why, Told what = Told::gave_up) noexcept {
    if (!broken_.empty()) return;
    abort_node(what >= Told::lost
                   ? static_cast<std::uint32_t>(what) + 1
                   : Board::Abort::gave_up + static_cast<std::uint32_t>(shown(rank())));
    if (!site_ && hooks.refused) {
      try {
        hooks.refused(hooks.context, calls(), what, why);
      } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): peers have their deadline
      }
    }
    give_up(why);
  }
  void fail_everywhere(const std::exception& problem) noexcept {
    const auto* const lost = dynamic_cast<const detail::lost_rank*>(&problem);
    fail_everywhere(problem.what(),
                    lost != nullptr ? static_cast<Told>(lost->rank) : Told::gave_up);
  }

  /// The team is of no use any more: calls in flight are forgotten, later calls throw.
  void give_up(const std::string& why) noexcept {
    if (!broken_.empty()) return;
    broken_ = why;
    if (site_ && surroundings_.processes) site_->keep_what_is_lent();  // threads are joined first
    for (TeamCore* team : {within_, between_}) {
      if (team != nullptr) team->give_up(why);
    }
    for (auto& e : endpoints_) {
      e.endpoint->abandon();
      holds_on_ |= e.endpoint->holds_on();
    }
    for (auto& e : executions_) e->abandon(holds_on_);
    each_agreement([this](Agreement& a) { a.abandon(holds_on_); });
    if (outstanding_ != 0 && hooks.outstanding) hooks.outstanding(hooks.context, false);
    outstanding_ = 0;
  }

  /// May something still read the memory of calls that were in flight when the team broke?
  bool holds_on() const noexcept { return holds_on_; }

  /// Lets exchanges of figures by MPI messages come to their end, since the ranks part here: all of
  /// them are on their way, unless a rank is many calls behind. True if none is left.
  bool settle() noexcept {
    const auto patience = Waiter::Clock::now() + std::chrono::milliseconds{100};
    try {
      bool in_time = true;
      each_agreement([&](Agreement& a) {
        while (in_time && a.is_in_flight() && !a.rings() && !a.progress()) {
          in_time = Waiter::Clock::now() <= patience;
          sched_yield();
        }
      });
      return in_time;
    } catch (const std::exception&) {
      return false;
    }
  }

  /// Marks the shared memory as broken and wakes everyone; `reason` as in Board::Abort, with a rank
  /// of the outermost team.
  void abort_node(std::uint32_t reason) noexcept {
    if (site_) {
      std::uint32_t first = 0;
      const bool is_first = site_->board().abort().reason.compare_exchange_strong(
          first, reason, std::memory_order_seq_cst);
      if (!is_first) reason = first;
      bells_->ring_all();
    }
    for (TeamCore* team : {within_, between_}) {
      if (team != nullptr) team->abort_node(reason);
    }
  }

 private:
  struct Connected {
    const TransportTable* table;
    std::unique_ptr<Endpoint> endpoint;
  };

  /// One blocking call from entering its frame to leaving it.
  class Epoch {
   public:
    Epoch(TeamCore& core, const CallWords& words, const Call& call) : core_(core) {
      core.require_usable();
      if (core.outstanding_ != 0) {
        core.require_own_thread();
        core.progress();
      }
      ++core.blocking_calls_;
      if (!core.site_) return;
      core.site_->begin(words, call.reducer);
      core.enter_frame(&call);
      core.in_epoch_ = true;
      if (!core.site_->last_in_frame_matched()) {
        core.announce_only();
        core.waiter_.until([&] { return core.site_->failed(); });  // another may say so first
        const std::string text = core.site_->failure_text();
        end();
        core.mismatch(text);
      }
    }
    Epoch(const Epoch&) = delete;
    Epoch& operator=(const Epoch&) = delete;
    ~Epoch() {
      if (core_.site_) end();
    }

   private:
    void end() noexcept {
      core_.site_->leave();
      core_.in_epoch_ = false;
    }

    TeamCore& core_;
  };

  /// Enters the frame of the call that has just begun, and watches arrivals; `call` is null where
  /// there is none.
  void enter_frame(const Call* call) {
    const std::uint32_t epoch = site_->epoch();
    const WatchedClass kind = call != nullptr ? kind_of(*call) : WatchedClass{};
    const bool notes = ImbalanceWatch::notes(epoch, kind);
    const auto arrival = notes ? Waiter::Clock::now() : Waiter::Clock::time_point{};
    if (!site_->enter()) waiter_.until([&] { return site_->enter(); }, Naps::brief);
    if (notes) {
      imbalance_->note(epoch, static_cast<std::uint64_t>(arrival.time_since_epoch().count()), kind,
                       call != nullptr && is_in_arena(*call));
    }
    if (ImbalanceWatch::looks(epoch)) imbalance_->look(epoch);
  }

  static WatchedClass kind_of(const Call& call) noexcept {
    return WatchedClass::of(call.collective, call.bytes());
  }

  bool is_in_arena(const Call& call) const noexcept {
    const PeerMemory& peers = site_->peers();
    const auto seen = [&](const std::byte* p) {
      return p == nullptr || peers.place(p, call.bytes()).mapped != 0;
    };
    return seen(call.in) && seen(call.out);
  }

  /// The endpoint; null if MPI had no communicator left for it and its own collectives must do. All
  /// ranks get the same.
  Endpoint* endpoint_or_native(const TransportTable& t) {
    if (hooks.native == nullptr || (t.offers & capability::node_memory) != 0) return &endpoint(t);
    if (!substitution_.empty()) return nullptr;
    try {
      return &endpoint(t);
    } catch (const transport_unavailable& why) {
      substitution_ = why.what();
      return nullptr;
    }
  }

  /// May a call of this sequence number be in flight beside those that are? Moves them.
  bool has_room(Endpoint& e, std::uint32_t sequence) {
    const auto is_too_old = [&](const auto& x) {
      return x->claimed && !x->done() && sequence - x->sequence() >= e.sequences_at_once();
    };
    bool agreements_are_recent = true;
    each_agreement([&](const Agreement& a) {
      if (a.is_in_flight() && sequence - a.sequence() >= e.sequences_at_once()) {
        agreements_are_recent = false;
      }
    });
    if (agreements_are_recent &&
        (outstanding_ == 0 || std::none_of(executions_.begin(), executions_.end(), is_too_old))) {
      return true;
    }
    progress();
    return false;
  }

  // --- predicted arrivals

  Predictions& predictions_by(const AnyPredictor& predictor) {
    for (auto& p : predictions_) {
      if (p->predictor() == predictor) return *p;
    }
    return new_predictions(predictor);
  }

  [[gnu::noinline, gnu::cold]] Predictions& new_predictions(const AnyPredictor& predictor) {
    predictions_.push_back(
        std::make_unique<Predictions>(predictor, rank(), size(), on_one_node(),
                                      Turns::period_of(size(), options_.agreement_period)));
    return *predictions_.back();
  }

  /// Counts a call that follows predictions, on all ranks alike; every so often they are renewed.
  void count_call(Predictions& p, Endpoint& e, bool rings) {
    if (p.count_call() && size() > 1) renew(p, e, rings);
  }

  /// Completes the exchange that is under way. False: none is.
  bool complete(Agreement& a) {
    if (!a.is_under_way()) return false;
    waiter_.until([&a] { return a.progress(); }, a.rings() ? Naps::until_rung : Naps::none);
    return true;
  }

  /// The number of an exchange that is to begin: that of a request that nobody holds.
  std::uint32_t next_exchange(Endpoint& e) {
    const std::uint32_t sequence = 2 * ++requests_ + 1;
    waiter_.until([&] { return has_room(e, sequence); }, Naps::none);
    return sequence;
  }

  /// In shared memory few pairs of ranks talk, since each pair that does takes memory for it.
  static AnySchedule exchange_over(bool rings) {
    return rings ? AnySchedule::of<RecursiveDoubling>() : AnySchedule::of<EachToEach>();
  }

  /// Calls f for all exchanges of figures that there may be.
  template <class F>
  void each_agreement(F&& f) {
    for (auto& p : predictions_) f(p->agreement());
    if (exchanged_ != nullptr) f(exchanged_->agreement());
  }

  [[gnu::noinline, gnu::cold]] void renew(Predictions& p, Endpoint& e, bool rings) {
    or_fail_everywhere([&] {
      if (complete(p.agreement())) p.adopt(plans_);
      p.begin(e, rings, exchange_over(rings), plans_, next_exchange(e));
    });
  }

  /// Tells orders that were agreed on apart, from each other and from those that need no agreement.
  static std::uint32_t order_id(const Predictions* p) noexcept {
    return p == nullptr ? 0 : 0x9e3779b9U * (p->generation() + 1);
  }

  /// Does connecting the transport block in MPI until all ranks are there? Then they meet first: a
  /// rank that waits in papcoll does what late ranks still need of it.
  bool connecting_blocks(const TransportTable& t) const noexcept {
    const auto is_it = [&t](const Connected& e) { return e.table->name == t.name; };
    return parent_ == nullptr && (t.offers & capability::node_memory) == 0 &&
           substitution_.empty() && std::none_of(endpoints_.begin(), endpoints_.end(), is_it);
  }

  Endpoint& endpoint_for_request(const TransportTable& t) {
    if (connecting_blocks(t)) {
      pass_gate(t, [this] { look_for_refused_requests(); });  // who refused does not come
    }
    return endpoint(t);
  }

  /// Returns when all ranks have come, so that none is alone in what blocks in MPI. `look` is
  /// called while this rank waits, and may throw. A rank that cannot go on closes the gate; if all
  /// have come by then, it connects like the others before it throws.
  template <class Look>
  void pass_gate(const TransportTable& t, Look&& look) {
    if (!site_) return;
    gate_ += static_cast<std::uint32_t>(size());
    auto& gate = site_->board().abort().gate;
    if (gate.fetch_add(1, std::memory_order_acq_rel) + 1 == gate_) bells_->ring_all();
    try {
      waiter_.until([&] {
        look();
        const std::uint32_t came = gate.load(std::memory_order_acquire);
        if ((came & Board::Abort::closed) != 0) check_hook(this);
        return (came & Board::Abort::closed) == 0 && came >= gate_;
      });
    } catch (const std::exception& problem) {
      fail_everywhere(problem);
      std::uint32_t came = gate.load(std::memory_order_acquire);
      while (came < gate_) {  // what is closed is above
        if (gate.compare_exchange_weak(came, came | Board::Abort::closed,
                                       std::memory_order_acq_rel)) {
          came |= Board::Abort::closed;
        }
      }
      if ((came & Board::Abort::closed) == 0) static_cast<void>(t.connect(surroundings_));
      throw;
    }
  }

  void announce_only() noexcept { site_->announce(nullptr, 0, 0); }

  /// The user has his buffers back with the exception that passes here, to free or to write them:
  /// returns when no peer is at work on them any more. All who are know by then that the call has
  /// failed, so this takes as long as one of their steps. A dead peer is not waited for, and one
  /// that is stopped until the deadline; from then on the communicator is broken.
  void take_buffers_back() noexcept {
    site_->end_reading();  // an exception may have come in between
    struct Patience {
      TeamCore& core;
      bool over = false;
    } patience{*this};
    Waiter waiter = waiter_;
    if (!surroundings_.processes) waiter.deadline = {};
    waiter.hooks = {};
    waiter.hooks.context = &patience;
    waiter.hooks.watch = [](void* p) { static_cast<Patience*>(p)->core.forget_dead_readers(); };
    waiter.hooks.expired = [](void* p) { static_cast<Patience*>(p)->over = true; };
    waiter.until([&] { return patience.over || site_->reader() < 0; }, Naps::brief);
    if (!patience.over) return;
    abort_node(Board::Abort::deadline);
    give_up("a peer is stopped in the midst of a call that failed");
  }

  void forget_dead_readers() noexcept {
    const TeamCore* outermost = this;
    while (outermost->parent_ != nullptr) outermost = outermost->parent_;
    const Hooks& h = outermost->hooks;
    for (int r = 0; r < size() && h.is_gone != nullptr; ++r) {
      if (site_->is_reading(r) && h.is_gone(h.context, shown(r))) site_->forget_reader(r);
    }
  }

  static bool is_empty(const Call& c) noexcept {
    return c.count == 0 && c.counts == nullptr && c.collective != Collective::barrier;
  }

  static CallWords words_of(const Call& call, std::uint8_t algorithm,
                            std::uint32_t details = 0) noexcept {
    return {call.count, static_cast<std::uint64_t>(call.collective) |
                            static_cast<std::uint64_t>(algorithm) << 4 |
                            static_cast<std::uint64_t>(call.root) << 12 |
                            static_cast<std::uint64_t>(call.types ^ details) << 32};
  }

  /// Tells a schedule with its parameters on its transport apart from others.
  std::uint32_t plan_id(const AnySchedule& schedule, const TransportTable& transport) {
    if (named_transport_ != &transport || !(named_schedule_ == schedule)) {
      named_schedule_ = schedule;
      named_transport_ = &transport;
      named_id_ = 0;
      for (const char c : schedule.name() + "+" + std::string(transport.name)) {
        named_id_ = named_id_ * 31 + static_cast<unsigned char>(c);
      }
    }
    return named_id_;
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

  void run_plan(const AnySchedule& schedule, Endpoint& e, bool rings, const Call& call,
                const Predictions* predictions = nullptr) {
    Execution& execution = idle_execution();
    or_fail_everywhere([&] {
      begin(execution, e, schedule, call, 2 * blocking_calls_, predictions);
      waiter_.until(
          [&] {
            e.progress();
            return execution.done();
          },
          rings ? Naps::until_rung : Naps::none);
    });
  }

  // --- tickets

  /// Are there any? Asked by all ranks in the same call, of which the first makes them.
  bool has_tickets(const TransportTable& t, Endpoint& e) {
    if (size() > 1 && !tickets_ && no_tickets_.empty()) open_tickets(t, e);
    return tickets_.has_value();
  }

  [[gnu::noinline, gnu::cold]] void open_tickets(const TransportTable& t, Endpoint& e) {
    if (t.open_words == nullptr || parent_ != nullptr) {
      no_tickets_ = std::string(t.name) + " has no tickets for this kind of team";
      return;
    }
    // What follows blocks in MPI until all ranks are there.
    std::byte token{};
    run_plan(AnySchedule::of<Dissemination>(), e, t.rings, detail::barrier_call(&token));
    ++blocking_calls_;  // the call itself has a number of its own
    or_fail_everywhere([&] {
      try {
        tickets_.emplace(t.open_words(surroundings_, TicketBoard::words(size()), options_.tickets),
                         rank(), size(), options_.first_epoch);
      } catch (const transport_unavailable& why) {
        no_tickets_ = std::string(t.name) +
                      " gives no tickets, so calls run in predicted order: " + why.what();
      }
    });
  }

  /// Runs a chain in which a rank's position is how many others come after it: data flow towards
  /// position 0, the last to come. Of the others, a rank needs to know the two beside it, and the
  /// root of a reduce where the result comes together: see plan_one_block().
  void run_by_ticket(const AnySchedule& schedule, Endpoint& e, const Call& call) {
    const bool rooted = is_rooted(call.collective);
    const bool is_root = rooted && call.root == rank();
    const int far = size() - 1;
    Execution& execution = idle_execution();
    TicketBoard& board = *tickets_;
    or_fail_everywhere([&] {
      board.begin(rooted ? call.root : -1);
      int position = -1;
      waiter_.until(
          [&] {
            if (board.step()) {
              if (position < 0) {
                position = far - board.ticket();
                const int root = is_root ? position : position == 0 ? far : 0;
                begin_at(execution, e, schedule, call, position, root);
                if (rooted && !is_root && position == 0) execution.know(far, call.root);
              }
              if (board.before() >= 0) execution.know(position + 1, board.before());
              if (board.after() >= 0) execution.know(position - 1, board.after());
              if (board.last() >= 0 && position != 0) execution.know(0, board.last());
            }
            e.progress();
            return position >= 0 && execution.done() && board.done();
          },
          Naps::none);
      board.end(!rooted || is_root || position == 0);
    });
  }

  /// Begins a call whose positions are not ranks: of the others it is not known yet which they are.
  void begin_at(Execution& execution, Endpoint& e, const AnySchedule& schedule, const Call& call,
                int position, int root) {
    const Shape shape{call.collective,
                      size(),
                      position,
                      root,
                      call.count,
                      {},
                      call.reducer.size,
                      call.in_place(),
                      call.reducer.commutative};
    execution.start_before_known(e, plans_.get(schedule, shape, Order::identity(size())), size(),
                                 call, 2 * blocking_calls_, options_.window);
  }

  // --- calls that are invalid or do not match

  /// Throws peer_error, on all ranks and with nothing in flight, if the ranks' calls differ.
  void compare(const CallWords& words, std::string_view refusal) {
    if (size() == 1) return;
    if (site_) return compare_on_board();
    Endpoint* const e = endpoint_or_native(default_transport());
    if (e == nullptr) return;
    ComparedCalls calls{words, rank(), refusal};
    run_plan(AnySchedule::of<RecursiveDoubling>(), *e, default_transport().rings, calls.call());
    ++blocking_calls_;  // the call itself has a number of its own
    if (calls.differ) mismatch(calls.describe());
  }

  void compare_on_board() {
    waiter_.until([&] {
      for (int r = 0; r < size(); ++r) {
        if (!site_->arrived(r, 0)) return false;
      }
      return true;
    });
    site_->all_arrived();
    for (int r = 0; r < size(); ++r) {
      if (site_->matches(r)) continue;
      site_->compare_calls();
      waiter_.until([&] { return site_->failed(); });
      mismatch(site_->failure_text());
    }
  }

  [[noreturn]] void mismatch(const std::string& what) const {
    throw peer_error("papcoll: seen on rank " + std::to_string(shown(rank())) + ": " + what);
  }

  void refuse_call(const std::string& what) {
    CallWords words;
    words.what = CallWords::invalid;
    ++blocking_calls_;
    if (site_) {
      const Reducer none;
      site_->begin(words, none);
      enter_frame(nullptr);
      site_->fail_with("another rank's call is invalid: " + what);
      announce_only();
      site_->leave();
    } else if constexpr (assertion_level >= 2) {
      try {
        compare(words, what);
      } catch (const peer_error&) {  // NOLINT(bugprone-empty-catch): this rank knows
      }
    } else if (hooks.refused) {
      hooks.refused(hooks.context, calls() - 1, Told::invalid_call, what);
    }
  }

  void refuse_request(const std::string& what) {
    ++requests_;
    if (site_) {
      refused_here_.push_back(requests_);
      auto& left = site_->board().left(rank());
      const auto count = static_cast<std::uint32_t>(refused_here_.size());
      left.refused[(count - 1) % Board::refusals].store(requests_, std::memory_order_release);
      left.refused_count.store(count, std::memory_order_release);
    } else if (hooks.refused) {
      hooks.refused(hooks.context, calls() - 1, Told::invalid_call, what);
    }
  }

  /// Has a peer refused a non-blocking call that this rank has started? The team is broken if one
  /// has refused so many that their numbers are lost.
  void look_for_refused_requests() {
    if (!site_) return;
    const std::string advice = " made an invalid non-blocking call; its exception says why";
    for (int r = 0; r < size(); ++r) {
      auto& left = site_->board().left(r);
      std::uint32_t& heard = refusals_heard_[static_cast<std::size_t>(r)];
      const std::uint32_t count = left.refused_count.load(std::memory_order_acquire);
      for (; heard != count && r != rank(); ++heard) {
        refused_elsewhere_.push_back(
            {r, left.refused[heard % Board::refusals].load(std::memory_order_acquire)});
        // Its number may have been overwritten while it was read.
        if (left.refused_count.load(std::memory_order_acquire) - heard > Board::refusals - 1) {
          mismatch("rank " + std::to_string(r) + advice);
        }
      }
    }
    std::erase_if(refused_elsewhere_, [this](const Refused& it) {
      return std::find(refused_here_.begin(), refused_here_.end(), it.number) !=
             refused_here_.end();
    });
    for (const Refused& it : refused_elsewhere_) {
      if (epoch_reached(requests_, it.number)) mismatch("rank " + std::to_string(it.rank) + advice);
    }
  }

  void require_usable() const {
    if (broken_.empty()) return;
    throw broken_communicator("papcoll: this communicator is of no use any more on rank " +
                              std::to_string(shown(rank())) + ": " + broken_);
  }

  /// Requests are moved by all waits of the thread that started them, so by no other thread.
  void require_own_thread() const {
    if (outstanding_ == 0 || pthread_equal(thread_, pthread_self()) != 0) return;
    throw argument_error("papcoll: rank " + std::to_string(rank()) +
                         " has requests under way that another thread started: a communicator with "
                         "requests stays with one thread until they are complete");
  }

  Execution& idle_execution() {
    for (auto& e : executions_) {
      if (e->done() && !e->claimed) return *e;
    }
    executions_.push_back(std::make_unique<Execution>());
    return *executions_.back();
  }

  void begin(Execution& execution, Endpoint& e, const AnySchedule& schedule, Call call,
             std::uint32_t sequence, const Predictions* predictions) {
    // To a schedule, a barrier is an allreduce of one element, the token `out` points to.
    if (call.collective == Collective::barrier) call.count = 1;
    const Shape shape{call.collective,
                      size(),
                      rank(),
                      call.root,
                      call.count,
                      call.counts ? std::vector<std::size_t>(call.counts, call.counts + size())
                                  : std::vector<std::size_t>{},
                      call.reducer.size,
                      call.in_place(),
                      call.reducer.commutative};
    const bool predicted =
        predictions != nullptr && !(call.rank_order && is_reduction(call.collective));
    const Order order = predicted ? predictions->forecast().order(shape) : static_order(shape);
    execution.start(e, plans_.get(schedule, shape, order), order, call, sequence, options_.window);
  }

  // --- what a long wait does besides waiting

  static TeamCore& self(void* p) noexcept { return *static_cast<TeamCore*>(p); }

  static void poke_hook(void* p) {
    TeamCore& core = self(p);
    if (core.outstanding_ != 0) core.progress();
    if (core.hooks.progress) core.hooks.progress(core.hooks.context);
    if (core.parent_ != nullptr) poke_hook(core.parent_);
  }

  static void check_hook(void* p) {
    TeamCore& core = self(p);
    if (core.site_ && core.in_epoch_) {
      core.site_->compare_calls();
      if (core.site_->failed()) core.mismatch(core.site_->failure_text());
    }
    if (const std::uint32_t reason = core.abort_reason(); reason != 0) core.lose(reason);
    // Where not all ranks share memory, those that do tell each other in that of their group; the
    // others are still to be told.
    if (core.in_phases_ && core.within_ != nullptr && !core.site_) {
      const std::uint32_t reason = core.within_->abort_reason();
      if (reason != 0) core.throw_lost(reason, core.lost_text(reason));
    }
    if (core.parent_ != nullptr) check_hook(core.parent_);
  }

  /// As in Board::Abort; 0 where no memory is shared.
  std::uint32_t abort_reason() const noexcept {
    return site_ ? site_->board().abort().reason.load(std::memory_order_acquire) : 0;
  }

  static void watch_hook(void* p) {
    TeamCore& core = self(p);
    if (core.hooks.watch) core.hooks.watch(core.hooks.context);
    if (core.parent_ != nullptr) watch_hook(core.parent_);
  }

  static void expired_hook(void* p) {
    TeamCore& core = self(p);
    core.abort_node(Board::Abort::deadline);
    const std::string why = "papcoll: rank " + std::to_string(core.shown(core.rank())) +
                            " waited longer than " +
                            std::to_string(core.options_.deadline.count() / 1000000) +
                            " ms, the deadline of its communicator: a peer is stopped, lost or " +
                            "never made the call";
    core.give_up(why);
    throw deadline_exceeded(why);
  }

  /// Throws what the team knows of a rank from which nothing could be copied: the call has failed
  /// there, or it died.
  void explain(const failed_copy& problem) {
    check_hook(this);
    if (problem.number != ESRCH) return;
    abort_node(static_cast<std::uint32_t>(shown(problem.rank)) + 1);
    lose(abort_reason());
  }

  [[noreturn]] void lose(std::uint32_t reason) {
    const std::string why = lost_text(reason);
    give_up(why);
    throw_lost(reason, why);
  }

  static bool somebody_gave_up(std::uint32_t reason) noexcept {
    return reason != Board::Abort::deadline && (reason & Board::Abort::gave_up) != 0;
  }

  std::string lost_text(std::uint32_t reason) const {
    const std::string here = std::to_string(shown(rank()));
    const std::string seen = ", seen on rank " + here;
    if (reason == Board::Abort::deadline) {
      return "papcoll: a peer of rank " + here + " gave up at the deadline of the communicator";
    }
    if (somebody_gave_up(reason)) {
      return "papcoll: rank " + std::to_string(reason - Board::Abort::gave_up) +
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
    if (reason == Board::Abort::deadline) throw deadline_exceeded(why);
    if (somebody_gave_up(reason)) throw peer_error(why);
    throw detail::lost_rank(why, static_cast<int>(reason) - 1);
  }

  /// The outermost team's number of a rank, for messages.
  int shown(int r) const noexcept {
    return names_.empty() ? r : names_[static_cast<std::size_t>(r)];
  }

  Surroundings surroundings_;
  std::vector<const TransportTable*> transports_;
  const TransportTable* default_transport_ = nullptr;
  Options options_;
  std::optional<Doorbells> bells_;
  std::optional<BoardSite> site_;
  std::optional<ImbalanceWatch> imbalance_;
  std::unique_ptr<ExchangedImbalance> exchanged_;  ///< where no memory is shared
  Thresholds thresholds_;
  Waiter waiter_;
  PlanCache plans_;
  std::optional<TicketBoard> tickets_;
  std::string no_tickets_;
  std::shared_ptr<void> arena_;
  std::vector<Connected> endpoints_;
  std::vector<std::unique_ptr<Execution>> executions_;
  std::vector<std::unique_ptr<Predictions>> predictions_;  ///< one for each predictor in use
  std::size_t outstanding_ = 0;
  pthread_t thread_{};  ///< of the outstanding requests
  // A message is known by the number of its call: twice that of a blocking call, or one more than
  // twice that of a non-blocking one. All ranks count alike.
  std::uint32_t blocking_calls_;
  std::uint32_t requests_;
  struct Refused {
    int rank;
    std::uint32_t number;
  };
  std::vector<std::uint32_t> refused_here_;    ///< requests, by number
  std::vector<Refused> refused_elsewhere_;     ///< that this rank has not refused so far
  std::vector<std::uint32_t> refusals_heard_;  ///< of each rank
  Waiter::Clock::time_point next_watch_{};
  AnySchedule named_schedule_;  ///< what plan_id() was asked for last
  const TransportTable* named_transport_ = nullptr;
  std::uint32_t named_id_ = 0;
  TeamCore* parent_ = nullptr;  ///< the team that this one is a part of
  std::vector<int> ranks_;      ///< this team's, as ranks of the parent
  std::vector<int> names_;      ///< and of the outermost team
  std::shared_ptr<Division> division_;
  TeamCore* within_ = nullptr;  ///< the division's
  TeamCore* between_ = nullptr;
  bool has_groups_ = false;
  std::uint32_t gate_ = 0;  ///< what the gate shows when all are there
  bool in_epoch_ = false;
  bool in_phases_ = false;
  bool holds_on_ = false;
  std::string substitution_;
  std::string broken_;  ///< why, once it is
};

}  // namespace papcoll::inline PAPCOLL_ABI
