#pragma once

#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/arrival/board_site.hpp>
#include <papcoll/call.hpp>
#include <papcoll/error.hpp>
#include <papcoll/plan/engine.hpp>
#include <papcoll/plan/plan_cache.hpp>
#include <papcoll/transport/transport.hpp>
#include <papcoll/waiting/waiter.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// What may be set when a team is made. All ranks pass the same.
struct Options {
  /// How long a call may wait for its peers before it throws deadline_exceeded; 0: for ever.
  std::chrono::nanoseconds deadline{0};
  /// Bytes of a chunk buffer of the arrival floor. 16 KB: MultiLeader's best at 512 KB, 2 ranks.
  std::size_t chunk_bytes = 16384;
  /// Blocks of a pipelined plan in flight at once.
  std::size_t window = 4;
  /// Number of the first call; tests start just below 2^32.
  std::uint32_t first_epoch = 1;

  friend bool operator==(const Options&, const Options&) = default;
};

/// The rank's side of a team of ranks, below the seam: what Communicator and ThreadTeam::Rank are
/// made of. One thread at a time may use it.
class TeamCore {
 public:
  /// What differs between teams of processes and of threads. Any function may be null.
  struct Hooks {
    void (*progress)(void*) = nullptr;  ///< moves MPI and this rank's requests on other teams
    void (*watch)(void*) = nullptr;     ///< throws peer_lost if a peer is dead
    /// This rank's call number n was invalid, and no shared memory can tell the peers.
    void (*refused)(void*, std::uint32_t n, const std::string& text) = nullptr;
    /// Runs a blocking call by MPI's own collectives, where no endpoint could be had.
    void (*native)(void*, const Call&) = nullptr;
    /// The first request of this rank on this team begins, or the last one ends.
    void (*outstanding)(void*, bool any) = nullptr;
    void* context = nullptr;
  };

  TeamCore(Surroundings surroundings, std::vector<const TransportTable*> transports,
           const Options& options)
      : surroundings_(std::move(surroundings)),
        transports_(std::move(transports)),
        options_(options) {
    waiter_.rank = surroundings_.rank;
    waiter_.deadline = std::chrono::duration_cast<Waiter::Clock::duration>(options.deadline);
    if (const Node* node = surroundings_.node) {
      bells_.emplace(node->bells, node->size);
      site_.emplace(Board{node->board, node->size, options.chunk_bytes}, *bells_, node->rank,
                    options.first_epoch);
      waiter_.bells = &*bells_;
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
  ~TeamCore() {
    if (broken_.empty()) return;
    for (auto& e : executions_) e->leak();
  }

  int rank() const noexcept { return surroundings_.rank; }
  int size() const noexcept { return surroundings_.size; }
  const Options& options() const noexcept { return options_; }
  const Surroundings& surroundings() const noexcept { return surroundings_; }
  bool on_one_node() const noexcept { return site_.has_value(); }
  bool broken() const noexcept { return !broken_.empty(); }
  PlanCache& plans() noexcept { return plans_; }

  Hooks hooks{};
  void set_oversubscribed(bool yes) noexcept { waiter_.oversubscribed = yes; }
  Waiter& waiter() noexcept { return waiter_; }

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

  /// This rank's endpoint; made, by all ranks, at the first call that needs it.
  Endpoint& endpoint(const TransportTable& t) {
    for (auto& e : endpoints_) {
      if (e.table == &t || e.table->name == t.name) return *e.endpoint;
    }
    require(t);
    endpoints_.push_back({&t, t.connect(surroundings_)});
    return *endpoints_.back().endpoint;
  }

  /// Why calls over MpiTransport run by MPI's own collectives, or nothing if they do not.
  const std::string& substitution() const noexcept { return substitution_; }

  // --- blocking calls

  /// Runs an algorithm of the arrival floor; the team must be on one node.
  void run(const ArrivalAlgorithm& algorithm, const Call& call) {
    const Epoch epoch{*this, call, algorithm.id};
    if (call.count == 0 && call.collective != Collective::barrier) return announce_only();
    algorithm.run(*site_, waiter_, call);
  }

  /// Runs a schedule of the plan floor.
  void run(const AnySchedule& schedule, const TransportTable& transport, const Call& call) {
    const Epoch epoch{*this, call, algorithm_id(schedule.base_name())};
    if (site_) announce_only();
    if (call.count == 0 && call.counts == nullptr && call.collective != Collective::barrier) return;
    Endpoint* const reached = endpoint_or_native(transport);
    if (reached == nullptr) return hooks.native(hooks.context, call);
    Endpoint& e = *reached;
    Execution& execution = idle_execution();
    try {
      begin(execution, e, schedule, call);
      waiter_.until(
          [&] {
            e.progress();
            return execution.done();
          },
          transport.rings);
    } catch (const error& problem) {
      give_up(problem.what());
      throw;
    }
  }

  // --- non-blocking calls: start() is local, and any call of the team moves them all

  Execution& start(const AnySchedule& schedule, const TransportTable& transport, const Call& call) {
    require_usable();
    Endpoint& e = endpoint(transport);
    Execution& execution = idle_execution();
    execution.claimed = true;
    if (outstanding_++ == 0 && hooks.outstanding) hooks.outstanding(hooks.context, true);
    begin(execution, e, schedule, call);
    return execution;
  }

  /// Moves all outstanding requests of the team once.
  void progress() {
    for (auto& e : endpoints_) e.endpoint->progress();
  }

  /// Waits for a request.
  void wait(const Execution& execution) {
    require_usable();
    try {
      waiter_.until(
          [&] {
            progress();
            return execution.done();
          },
          false);
    } catch (const error& problem) {
      give_up(problem.what());
      throw;
    }
  }

  /// The request is done with.
  void finish(Execution& execution) noexcept {
    execution.claimed = false;
    if (outstanding_ == 0) return;
    if (--outstanding_ == 0 && hooks.outstanding) hooks.outstanding(hooks.context, false);
  }
  /// The number of the next call of the plan floor.
  std::uint32_t sequence() const noexcept { return sequence_; }

  // --- failures

  /// This rank's call is invalid: tells the peers, who throw peer_error, and throws argument_error.
  [[noreturn]] void refuse(Collective collective, const std::string& text) {
    const std::string full = "papcoll: " + std::string(name_of(collective)) + " on rank " +
                             std::to_string(rank()) + " of " + std::to_string(size()) + ": " + text;
    if (broken_.empty() && !site_) {
      // Peers that have begun cannot be brought back in step.
      if (hooks.refused) hooks.refused(hooks.context, sequence_++, full);
      give_up(full);
    } else if (broken_.empty()) {
      Call call;
      call.collective = collective;
      CallWords words = words_of(call, 0);
      words.what = CallWords::invalid;
      site_->begin(words, call.reducer);
      waiter_.until([&] { return site_->enter(); });
      site_->announce(nullptr, 0, 0);
      site_->fail_with(full);
      site_->leave();
    }
    throw argument_error(full);
  }

  /// The team is of no use any more: calls in flight are forgotten, later calls throw.
  void give_up(const std::string& why) noexcept {
    if (!broken_.empty()) return;
    broken_ = why;
    for (auto& e : endpoints_) e.endpoint->abandon();
    for (auto& e : executions_) e->leak();
    if (outstanding_ != 0 && hooks.outstanding) hooks.outstanding(hooks.context, false);
    outstanding_ = 0;
  }

  /// Marks the shared memory as broken and wakes everyone; `reason` as in Board::Abort.
  void abort_node(std::uint32_t reason) noexcept {
    if (!site_) return;
    std::uint32_t expected = 0;
    site_->board().abort().reason.compare_exchange_strong(expected, reason,
                                                          std::memory_order_seq_cst);
    bells_->ring_all();
  }

 private:
  struct Connected {
    const TransportTable* table;
    std::unique_ptr<Endpoint> endpoint;
  };

  /// One blocking call from entering its frame to leaving it.
  class Epoch {
   public:
    Epoch(TeamCore& core, const Call& call, std::uint8_t algorithm) : core_(core) {
      core.require_usable();
      if (core.outstanding_ != 0) core.progress();
      if (!core.site_) return;
      core.site_->begin(core.words_of(call, algorithm), call.reducer);
      if (!core.site_->enter()) core.waiter_.until([&] { return core.site_->enter(); });
      core.in_epoch_ = true;
    }
    Epoch(const Epoch&) = delete;
    Epoch& operator=(const Epoch&) = delete;
    ~Epoch() {
      if (!core_.site_) return;
      core_.site_->leave();
      core_.in_epoch_ = false;
    }

   private:
    TeamCore& core_;
  };

  /// The endpoint; null if MPI had no communicator left for it and its own collectives must do. All
  /// ranks get the same.
  Endpoint* endpoint_or_native(const TransportTable& t) {
    if (hooks.native == nullptr || t.name != "MpiTransport") return &endpoint(t);
    if (!substitution_.empty()) return nullptr;
    try {
      return &endpoint(t);
    } catch (const transport_unavailable& why) {
      substitution_ = why.what();
      return nullptr;
    }
  }

  void announce_only() noexcept { site_->announce(nullptr, 0, 0); }

  static CallWords words_of(const Call& call, std::uint8_t algorithm) noexcept {
    return {call.count, static_cast<std::uint64_t>(call.collective) |
                            static_cast<std::uint64_t>(algorithm) << 4 |
                            static_cast<std::uint64_t>(call.root) << 12 |
                            static_cast<std::uint64_t>(call.types) << 32};
  }

  void require_usable() const {
    if (broken_.empty()) return;
    throw broken_communicator("papcoll: this communicator was broken on rank " +
                              std::to_string(rank()) + " by an earlier failure (" + broken_ +
                              "): make a new one among the ranks that are left");
  }

  Execution& idle_execution() {
    for (auto& e : executions_) {
      if (e->done() && !e->claimed) return *e;
    }
    executions_.push_back(std::make_unique<Execution>());
    return *executions_.back();
  }

  void begin(Execution& execution, Endpoint& e, const AnySchedule& schedule, Call call) {
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
    const Order order = static_order(shape);
    execution.start(e, plans_.get(schedule, shape, order), order, call, sequence_++,
                    options_.window);
  }

  // --- what a long wait does besides waiting

  static TeamCore& self(void* p) noexcept { return *static_cast<TeamCore*>(p); }

  static void poke_hook(void* p) {
    TeamCore& core = self(p);
    if (core.outstanding_ != 0) core.progress();
    if (core.hooks.progress) core.hooks.progress(core.hooks.context);
  }

  static void check_hook(void* p) {
    TeamCore& core = self(p);
    if (!core.site_) return;
    const std::uint32_t reason = core.site_->board().abort().reason.load(std::memory_order_acquire);
    if (reason != 0) core.lose(reason);
    if (!core.in_epoch_) return;
    core.site_->compare_calls();
    if (core.site_->failed()) {
      throw peer_error("papcoll: the ranks' calls do not match, seen on rank " +
                       std::to_string(core.rank()) + ": " + core.site_->failure_text());
    }
  }

  static void watch_hook(void* p) {
    TeamCore& core = self(p);
    if (core.hooks.watch) core.hooks.watch(core.hooks.context);
  }

  static void expired_hook(void* p) {
    TeamCore& core = self(p);
    core.abort_node(~std::uint32_t{0});
    const std::string why = "papcoll: rank " + std::to_string(core.rank()) +
                            " waited longer than " +
                            std::to_string(core.options_.deadline.count() / 1000000) +
                            " ms, the deadline of its communicator: a peer is stopped, lost or " +
                            "never made the call";
    core.give_up(why);
    throw deadline_exceeded(why);
  }

  [[noreturn]] void lose(std::uint32_t reason) {
    const bool deadline = reason == ~std::uint32_t{0};
    const std::string why = deadline ? "papcoll: a peer of rank " + std::to_string(rank()) +
                                           " gave up at the deadline of the communicator"
                                     : "papcoll: rank " + std::to_string(reason - 1) +
                                           " died, seen on rank " + std::to_string(rank()) +
                                           "; the communicator is broken";
    give_up(why);
    if (deadline) throw deadline_exceeded(why);
    throw peer_lost(why);
  }

  Surroundings surroundings_;
  std::vector<const TransportTable*> transports_;
  const TransportTable* default_transport_ = nullptr;
  Options options_;
  std::optional<Doorbells> bells_;
  std::optional<BoardSite> site_;
  Waiter waiter_;
  PlanCache plans_;
  std::vector<Connected> endpoints_;
  std::vector<std::unique_ptr<Execution>> executions_;
  std::size_t outstanding_ = 0;
  std::uint32_t sequence_ = 0;
  bool in_epoch_ = false;
  std::string substitution_;
  std::string broken_;  ///< why, once it is
};

}  // namespace papcoll::inline PAPCOLL_ABI
