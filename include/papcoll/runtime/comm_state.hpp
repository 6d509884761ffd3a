// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/waiting/waiter.hpp>
#include <papcoll/runtime/mpi_process.hpp>
#include <papcoll/runtime/setup/communicator_setup.hpp>
#include <papcoll/runtime/setup/division.hpp>
#include <papcoll/runtime/setup/machine_of_ranks.hpp>
#include <papcoll/runtime/setup/node_memory.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/transport/message_transports.hpp>
#include <papcoll/transport/mpi/link.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>
#include <papcoll/transport/mpi/native_collectives.hpp>
#include <papcoll/transport/mpi/nodes.hpp>
#include <papcoll/transport/mpi/polled_collectives.hpp>
#include <papcoll/transport/transport.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// All that papcoll keeps for one MPI communicator, as an attribute of it. Making it is collective
/// and holds no lock, so threads may make states of different communicators in any order.
class CommState final : public Attached, public TeamHooks {
 public:
  /// Returns the state of `comm`, which is made if there is none. Throws argument_error.
  static Shared<CommState> of(MPI_Comm comm, const Options* options);

  [[gnu::cold]] CommState(CommunicatorSetup& setup, const Options& options)
      : process_(setup.process()), link_(setup.all_ranks().comm()) {
    moves_mpi = !simulated;  // simulated ranks wait inside MPI
    has_native = true;
    const PolledCollectives& all_ranks = setup.all_ranks();
    static constexpr std::array transports{&transport_table<MpiTransport>};
    TeamEnvironment environment;
    environment.transports = transports;
    environment.rank = all_ranks.rank("making a papcoll::Communicator");
    environment.size = all_ranks.size("making a papcoll::Communicator");
    environment.mpi = &link_;
    CommunicatorSetup::CachedRankSet cached = setup.adopt_cached();
    const bool is_first_of_ranks = cached.ranks == nullptr;
    Shared<RankSetInfo> rank_set = is_first_of_ranks ? begin_new(setup, options, environment)
                                                     : begin_known(setup, cached, environment);
    // Ranks that know each other share their node's memory, also where environment.node is null
    // because this rank has a problem: all connect, or none.
    const bool all_share_memory =
        rank_set->here.nodes == 1 && (!is_first_of_ranks || environment.node != nullptr);
    if (!all_share_memory) connect_at_once(all_ranks);
    std::string& problem = cached.problem;
    if (problem.empty())
      problem = caught([&] { begin(std::move(environment), options, *rank_set); });
    problem = first_problem(all_ranks, problem, "beginning a papcoll::Communicator");
    if (!problem.empty()) {
      link_.close(false);  // on all ranks, and no message is under way
      if (!is_first_of_ranks) throw NotJoined{false};
      throw system_error(joined({"papcoll: a papcoll::Communicator could not be made: ", problem}),
                         ENOMEM);
    }
    setup.record_preemption();
    if (is_first_of_ranks) core_->node.try_copies();
    if (setup.was_preempted()) core_->waiter().yield_took = all_ranks.yield_took();
    if (rank_set->share != nullptr && setup.is_of_world() &&
        CommunicatorSetup::is_cacheable(options)) {
      rank_set_ = std::move(rank_set);
      if ((is_first_of_ranks || setup.any_moved()) && !setup.discarded_cached())
        keep_known(setup.world_ranks());
    }
  }
  [[gnu::cold]] ~CommState() override { close(); }

  TeamCore& core() noexcept { return *core_; }
  MPI_Comm comm() const noexcept { return link_.user(); }
  bool closed() const noexcept { return closed_; }
  bool in_use() const noexcept override { return core_->has_open_requests(); }

  /// As papcoll::revoke().
  [[gnu::cold]] void revoke() noexcept {
    core_->abort_team(joined({"papcoll: rank ", core_->rank(),
                              " has left this communicator by papcoll::shrink, agree or revoke: ",
                              recovery_advice}),
                      NodeControlBlock::Abort::revoked + static_cast<std::uint32_t>(core_->rank()));
  }

  /// Returns true if every rank has passed true. Throws broken_communicator, and what a call may
  /// throw.
  [[gnu::cold]] bool agree(bool mine) {
    core_->require_usable();
    core_->or_abort_team([&] { mine = link_.agree(mine); });
    return mine;
  }

  [[gnu::cold]] void close() noexcept override {
    if (closed_) return;
    closed_ = true;
    process_->set_outstanding(&*core_, false);
    core_->keep_parts();
    core_->close_parts();
    link_.close(core_->broken() || in_use() ||
                (link_.connected() && mpi_is_usable() && !core_->drain_exchanges()));
    if (!core_->broken() && !in_use()) core_->connections.end();
    core_->mark_broken("its MPI communicator was freed, or MPI_Finalize was called");
    memory_.release();
    process_->known_ranks().give_back(rank_set_);
  }

 private:
  /// Thrown on all ranks where one of them could not join those that it knows, or where what they
  /// share does not fit any more.
  struct NotJoined {
    bool keeps;  ///< what they will share instead is for further communicators, too
  };

  /// Returns the ranks of this node; this rank alone, and the reason in `s`, if MPI could not find
  /// out.
  [[gnu::cold]] static NodeRanks find_node(CommunicatorSetup& setup, TeamEnvironment& environment) {
    NodeRanks known{{}, 0};
    if (setup.find_known_nodes(known)) return known;
    NodeRanks here;
    setup.check_peers();
    const std::string problem = caught<mpi_error>([&] { here = node_ranks(setup.all_ranks()); });
    environment.why_no_shared_memory =
        first_problem(setup.all_ranks(), problem, "finding the ranks of a node");
    if (!environment.why_no_shared_memory.empty()) return {{environment.rank}, environment.size};
    return here;
  }

  /// Finds out what ranks that share nothing yet must know of each other, and fills `environment`
  /// with it. Collective.
  [[gnu::cold]] Shared<RankSetInfo> begin_new(CommunicatorSetup& setup, const Options& options,
                                              TeamEnvironment& environment) {
    const PolledCollectives& all_ranks = setup.all_ranks();
    auto rank_set = detail::make_shared<RankSetInfo>();
    rank_set->options = options;
    rank_set->files = require_common(all_ranks, options);
    rank_set->here = find_node(setup, environment);
    rank_set->where = find_machine(all_ranks, rank_set->here, options.machine);
    fill_environment(environment, *rank_set, [&](const Groups* caches) {
      rank_set->area = NodeMemory::area_of(rank_set->here, options, caches);
      return memory_.make(all_ranks, *rank_set, caches);
    });
    return rank_set;
  }

  /// Fills `environment` with what an earlier communicator of these ranks has left in `cached`,
  /// whose `problem` is that of this rank alone: the others go on to ask for it. Collective.
  [[gnu::cold]] Shared<RankSetInfo> begin_known(CommunicatorSetup& setup,
                                                CommunicatorSetup::CachedRankSet& cached,
                                                TeamEnvironment& environment) {
    auto rank_set = std::move(cached.ranks);
    if (setup.any_moved()) rank_set = find_again(setup.all_ranks(), *rank_set);
    if (cached.problem.empty()) {
      cached.problem = caught([&] {
        fill_environment(environment, *rank_set, [&](const Groups* caches) {
          memory_.lay_out(*rank_set, caches, std::move(cached.area));
          return std::string{};
        });
      });
    }
    return rank_set;
  }

  /// Returns what the ranks know of each other after some were bound to other processors: they
  /// learn anew where each one runs, and keep the memory that they share. Throws NotJoined if the
  /// new groups need more or less memory. Collective.
  [[gnu::cold]] static Shared<RankSetInfo> find_again(const PolledCollectives& all_ranks,
                                                      const RankSetInfo& before) {
    auto now = detail::make_shared<RankSetInfo>(before);
    now->where = find_machine(all_ranks, now->here, now->options.machine);
    const auto caches = caches_of(*now);
    if (NodeMemory::area_of(now->here, now->options, caches.get()) != now->area) {
      throw NotJoined{true};
    }
    return now;
  }

  [[gnu::cold]] static Shared<const Groups> caches_of(const RankSetInfo& rank_set) {
    return rank_set.here.nodes == 1 ? cache_groups(rank_set.where.machine->places()) : nullptr;
  }

  /// Fills `environment` by what the ranks know. `take_memory(caches)` takes the memory that the
  /// ranks of a node share, whose groups by caches are `caches`; it returns the reason if there is
  /// none.
  template <class TakeMemory>
  [[gnu::cold]] void fill_environment(TeamEnvironment& environment, const RankSetInfo& rank_set,
                                      const TakeMemory& take_memory) {
    const NodeRanks& here = rank_set.here;
    environment.nodes = here.nodes;
    environment.machine = rank_set.where.machine;
    if (!environment.why_no_shared_memory.empty())
      return;  // MPI had no communicator to find the node with
    ranks_here_ = here.ranks;
    environment.ranks_here = ranks_here_;
    division_ = make_owned<Division>();
    division_->nodes = rank_set.where.nodes;
    division_->here = here.ranks.front();
    const bool all_alone = here.nodes == environment.size && environment.size > 1;
    if (!all_alone) {
      auto caches = caches_of(rank_set);
      environment.why_no_shared_memory = take_memory(caches.get());
      environment.why_no_cma = rank_set.why_no_cma;
      division_->shares_memory = environment.why_no_shared_memory.empty();
      if (!division_->shares_memory) return;
      division_->memory = memory_.take_hierarchy();
      (here.nodes == 1 ? environment.node : environment.partial_node) = &memory_.node();
      if (here.nodes == 1) {
        memory_.set_groups(caches);
        division_->caches = std::move(caches);
      }
    }
    if (here.nodes > 1) {
      environment.why_no_shared_memory =
          joined({"its ranks are on ", here.nodes,
                  " nodes: take MpiTransport, or a communicator of one node"});
    }
  }

  /// Makes the team. Waits for no other rank.
  [[gnu::cold]] void begin(TeamEnvironment environment, const Options& options,
                           const RankSetInfo& rank_set) {
    core_ = make_owned<TeamCore>(std::move(environment), options, this);
    core_->set_oversubscribed(rank_set.where.oversubscribed);
    core_->files = rank_set.files;
    core_->processors_at_first = rank_set.where.count;
    core_->set_buffer_watch(rank_set.watch);
    if constexpr (!simulated) link_.connect_by({link_.user(), options.deadline, *core_});
    core_->division = division_.get();
    const Node* const node = core_->environment().node;
    if (node != nullptr) memory_.watch(control_block_of(*node, options.chunk_bytes).abort().reason);
  }

  [[gnu::cold]] void keep_known(const std::vector<int>& world_ranks) noexcept {
    try {
      rank_set_->world_ranks = world_ranks;
      process_->known_ranks().keep(rank_set_);
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): ranks ask again next time
    }
  }

  /// Connects the ranks now, so that not even the first non-blocking call has to wait. Called where
  /// messages are the only way.
  [[gnu::cold]] void connect_at_once(const PolledCollectives& all_ranks) {
    try {
      link_.connect(all_ranks);
    } catch (const transport_unavailable&) {  // NOLINT(bugprone-empty-catch): MPI's own means
    }
  }

  [[gnu::cold]] static Shared<CommState> make(MPI_Comm comm, const Options& options,
                                              const Shared<MpiProcess>& process) {
    if (const auto failure =
            static_shared_cast<SetupFailure>(find_attached(comm, Keyvals::get().failure))) {
      throw broken_communicator(
          joined({"papcoll: a papcoll::Communicator of this MPI communicator could not be "
                  "made before, and MPI may not know in order what its ranks do: ",
                  bare(failure->why())}));
    }
    try {
      return CommunicatorSetup::run(comm, options, process, [&](CommunicatorSetup& setup) {
        try {
          return detail::make_shared<CommState>(setup, options);
        } catch (const NotJoined& why) {  // on all ranks
          setup.discard_cached(why.keeps);
          return detail::make_shared<CommState>(setup, options);
        }
      });
    } catch (const std::exception& problem) {
      const bool may_try_again =
          handled_as<error>() != nullptr && handled_as<peer_lost>() == nullptr &&
          handled_as<deadline_exceeded>() == nullptr && handled_as<mpi_error>() == nullptr;
      if (!may_try_again) {  // what else all ranks throw; or this one alone, such as bad_alloc
        attach(comm, Keyvals::get().failure, detail::make_shared<SetupFailure>(problem.what()));
      }
      throw;
    }
  }

  // --- TeamHooks

  void progress() override {
    if (link_.connected()) {
      try {
        link_.poll(core_->calls.next());
      } catch (const lost_rank&) {
        throw;
      } catch (const peer_lost&) {  // MPI says so, and not who
        core_->watch();
        core_->check();
        throw;
      }
    } else {
      process_->poke_mpi();
    }
    process_->progress_others(&*core_);
  }
  void poke_mpi() override { process_->poke_mpi(); }
  [[gnu::cold]] void watch() override {
    const int rank = find_dead();
    if (rank < 0) return;
    core_->abort_node(static_cast<std::uint32_t>(rank) + 1);
    if (core_->on_one_node()) return;  // the next check sees it
    throw lost_rank(joined({"papcoll: rank ", rank, " died, as MPI says on rank ", core_->rank(),
                            ": ", recovery_advice}),
                    rank);
  }
  [[gnu::cold]] bool is_gone(int rank) override {
    const auto here = std::find(ranks_here_.begin(), ranks_here_.end(), rank);
    return here != ranks_here_.end() &&
           memory_.is_gone(static_cast<int>(here - ranks_here_.begin()));
  }
  void refused(std::uint32_t number, std::uint32_t reason, const std::string& text) override {
    link_.send_refusal(number, reason, text);
  }
  void native(const Call& call) override {
    auto run = make_owned<NativeCollectives>(link_.users_ranks(), core_->rank(), core_->size());
    try {
      run->run(call);
    } catch (...) {
      static_cast<void>(run.release());  // MPI may be in the midst of its memory
      throw;
    }
  }
  void outstanding(bool any) override { process_->set_outstanding(&*core_, any); }
  bool busy_elsewhere() override { return !simulated || process_->is_busy(&*core_); }
  std::chrono::nanoseconds now() const override {
    if constexpr (!simulated) return TeamHooks::now();
    using seconds = std::chrono::duration<double>;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(seconds{MPI_Wtime()});
  }

  /// Returns a dead rank, by the locks of this node or by what MPI knows; −1 if there is none.
  int find_dead() const {
    const int here = core_->detects_peer_death() ? memory_.find_dead() : -1;
    if (here >= 0) return ranks_here_[static_cast<std::size_t>(here)];
    return process_->failures().find_failed(link_.user());
  }

  Shared<MpiProcess> process_;
  MpiLink link_;
  Shared<RankSetInfo> rank_set_;  ///< keeps them for further communicators
  NodeMemory memory_;
  std::vector<int> ranks_here_;  ///< of this node
  Owned<Division> division_;     ///< null: MPI did not say what the nodes are
  Owned<TeamCore> core_;
  bool closed_ = false;
};

inline Shared<CommState> CommState::of(MPI_Comm comm, const Options* options) {
  require_usable_by_papcoll(comm);
  auto found = static_shared_cast<CommState>(find_attached(comm, Keyvals::get().comm));
  if (!found) {
    const Options wanted = options ? *options : Options{};
    auto holder = make_owned<Shared<Attached>>();  // before peers rely on this rank
    const Shared<MpiProcess> process = MpiProcess::get();
    process->make_room();
    found = make(comm, wanted, process);
    found->core().owner = found;
    *holder = found;
    attach(comm, Keyvals::get().comm, std::move(holder));
    process->add(found);
  } else if (options != nullptr && found->core().options() != *options) {
    throw argument_error(
        "papcoll: this MPI communicator already has a papcoll::Communicator with other options (or "
        "a call with the bare MPI_Comm made one with the defaults): make the one with options "
        "before the first call, pass the same options or none, or take a copy by MPI_Comm_dup");
  }
  return found;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
