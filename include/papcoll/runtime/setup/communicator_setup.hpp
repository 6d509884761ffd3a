// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/node/waiting/waiter.hpp>
#include <papcoll/runtime/mpi_process.hpp>
#include <papcoll/runtime/setup/node_memory.hpp>
#include <papcoll/runtime/setup/selection_texts.hpp>
#include <papcoll/topology/groups.hpp>
#include <papcoll/topology/options.hpp>
#include <papcoll/topology/processor_set.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>
#include <papcoll/transport/mpi/nodes.hpp>
#include <papcoll/transport/mpi/polled_collectives.hpp>
#include <papcoll/transport/transport.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// How the ranks of a communicator make its state together, and survive that one of them dies
/// meanwhile. A rank waits for all others at each of these steps, in this order:
///
///     meet                   all say which process they are, and where
///     join                   where the same ranks have made a communicator before: nothing more
///                            before connect
///     compare Options        a bcast and a vote
///     ask MPI for the nodes  seldom: MPI_Comm_split_type, a sum, a vote
///     learn of the machine   an allgather of where each rank sits; what Options::machine names, if
///                            anything: a vote and two bcasts, an allgather of hosts where it
///                            describes a network; after join, too, if a rank has been bound to
///                            other processors since
///     share memory           tickets and a vote for each way tried, cross-memory attach and a
///                            vote, a barrier
///     connect                only where not all share memory: MPI_Comm_idup, a vote, a bcast
///     begin                  a vote
///
/// Each is a non-blocking call of MPI that is asked after: whoever waits looks after its peers and
/// keeps the deadline of the Options. MPI_Comm_split_type blocks: if a rank dies inside it, or
/// between the vote before and that, the others may wait in MPI for ever. It is needed only where
/// the machines do not say what the nodes are: see find_known_nodes(). And between nodes MPICH 4.0
/// ends MPI_Comm_idup by something that blocks inside MPI_Test, where a death has the same effect
/// (1 of 360 survivors of 120 kills, and 37 in MPI_Comm_split_type: tests/faults/making_kill.sh).
///
/// A peer's death is seen on the same machine, in the same PID namespace, after the two have met
/// in any communicator; other deaths are a matter for the deadline, or for MPI, where it fails by
/// itself when it connects to the dead rank.
class CommunicatorSetup final : WaitHooks, Pinned {
 public:
  [[gnu::cold]] CommunicatorSetup(MPI_Comm comm, const Options& options, Shared<MpiProcess> process)
      : process_(std::move(process)),
        deadline_(options.deadline),
        all_ranks_(comm, options.deadline, *this) {
    rank_ = all_ranks_.rank(where);
    world_ranks_ = ranks_in(MPI_COMM_WORLD, all_ranks_.comm(), where);
    peers_.reserve(world_ranks_.size());
    for (const int r : world_ranks_) peers_.push_back(process_->process_of(r));
    find_known(options);
    // Where the ranks share their processors, they yield.
    const bool shares = known_ != nullptr && known_->where.oversubscribed;
    if (!shares && process_->was_preempted_lately()) all_ranks_.expect_preemption();
    if (!process_->is_busy(nullptr)) wait_inside_mpi();
  }

  const PolledCollectives& all_ranks() const noexcept { return all_ranks_; }
  const Shared<MpiProcess>& process() const noexcept { return process_; }

  /// What all ranks know of each other from a communicator of the same ranks and Options, and this
  /// one's memory on the node; or null. Where this rank alone could not have the memory, `problem`
  /// has the reason, of which the others learn by the vote in which they begin.
  struct CachedRankSet {
    Shared<RankSetInfo> ranks;
    Shared<CommunicatorSegment> area;
    std::string problem;
  };
  /// Called after all ranks have exchanged their Hello.
  [[gnu::cold]] CachedRankSet adopt_cached() {
    CachedRankSet cached{nullptr, std::exchange(area_, nullptr), {}};
    if (!all_know_) {
      if (cached.area != nullptr) cached.area->discard();
      return {};
    }
    cached.ranks = known_;
    cached.problem = caught([&] {
      const auto first = static_cast<std::size_t>(known_->here.ranks.front());
      if (cached.area == nullptr) {
        cached.area = CommunicatorSegment::join(known_->share, met_[first].area - 1);
      }
    });
    return cached;
  }
  /// All ranks know each other, and some may run on other processors than they know.
  bool any_moved() const noexcept { return all_know_ && any_moved_; }
  /// The ranks go the long way then. `keeps`: for further communicators, too.
  void discard_cached(bool keeps) noexcept {
    all_know_ = false;
    known_ = nullptr;
    discarded_cached_ = !keeps;
  }
  /// Returns true if the ranks did so, for this communicator only. What they have then may be less
  /// than what they know.
  bool discarded_cached() const noexcept { return discarded_cached_; }

  /// A program that computes had this process's processor for a time slice, while this or lately
  /// another communicator was made: the team's waits need not lose another one to learn of it.
  bool was_preempted() const noexcept { return all_ranks_.yield_took() > WaitTimes{}.slice; }
  const std::vector<int>& world_ranks() const noexcept { return world_ranks_; }
  /// Returns true if further communicators of these ranks and Options need not ask again. The
  /// contents of a machine's file may change.
  static bool is_cacheable(const Options& options) {
    return options.machine.is_default() || options.machine.in_code() != nullptr;
  }
  /// Returns true if all ranks are those of MPI_COMM_WORLD.
  [[gnu::cold]] bool is_of_world() const noexcept {
    return std::none_of(world_ranks_.begin(), world_ranks_.end(),
                        [](int r) { return r == MPI_UNDEFINED; });
  }

  /// Finds this rank's node without MPI: a node is a machine, unless MPI was told to pretend more
  /// of them, or some process does not know its own.
  [[gnu::cold]] bool find_known_nodes(NodeRanks& here) const {
    Vector<std::uint64_t> machines;
    for (const Hello& h : met_) {
      if (h.id.machine == 0 || h.pretends) return false;
      machines.push_back(h.id.machine);
    }
    here = nodes_by(std::move(machines), static_cast<std::size_t>(rank_));
    return true;
  }

  /// Records in the process that a wait of the setup was preempted, if one was; the last step.
  void record_preemption() const noexcept {
    if (all_ranks_.was_preempted()) process_->record_preemption();
  }

  /// Called before something that blocks inside MPI. Throws peer_lost if a peer is dead already.
  void check_peers() {
    doing = where;
    watch();
  }

  /// Returns make(setup). A failure of MPI that is the effect of a peer's death is reported as
  /// such.
  template <class Make>
  static auto run(MPI_Comm comm, const Options& options, Shared<MpiProcess> process, Make&& make) {
    CommunicatorSetup setup{comm, options, std::move(process)};
    try {
      setup.exchange_identities();
      return make(setup);
    } catch (const mpi_error&) {
      setup.check_peers();
      throw;
    }
  }

 private:
  static constexpr const char* where = "making a papcoll::Communicator";

  /// How a rank's papcoll was built: the ranks of a communicator share memory and messages, so
  /// these must be equal.
  struct Build {
    std::uint8_t major = PAPCOLL_VERSION_MAJOR;
    std::uint8_t minor = PAPCOLL_VERSION_MINOR;
    std::uint8_t patch = PAPCOLL_VERSION_PATCH;
    std::uint8_t assertions = assertion_level;

    friend bool operator==(const Build&, const Build&) = default;
    std::string text() const {
      return joined({"papcoll ", int{major}, ".", int{minor}, ".", int{patch},
                     " with PAPCOLL_ASSERTIONS=", int{assertions}});
    }
  };

  /// What the ranks exchange first. Its size and the offset of `build` stay the same in later
  /// versions.
  struct Hello {
    ProcessId id{};
    std::uint64_t known = 0;   ///< id of the RankSetInfo that it has; 0: none
    std::uint64_t tuning = 0;  ///< of what rank 0's tuning file says now
    std::uint64_t area = 0;    ///< number of that of a node's first rank, from 1; 0: it has none
    bool pretends = false;     ///< MPI may see several nodes where there is one machine
    Build build{};
    bool has_moved = false;  ///< it may run on other processors than when `known` was learnt
    std::array<char, 2> unused{};
  };
  static_assert(sizeof(Hello) == 56);

  /// Looks for an earlier communicator of the same ranks, and makes this one's memory.
  [[gnu::cold]] void find_known(const Options& options) {
    if (simulated || !is_of_world() || !is_cacheable(options)) return;
    known_ = process_->known_ranks().find(world_ranks_, options);
    if (known_ == nullptr) return;
    try {
      tuning_ = hash_of_tuning(rank_ == 0 ? read_selection_files(options, true) : known_->files);
      if (known_->here.ranks.front() == rank_) area_ = NodeMemory::make_area(*known_);
    } catch (const std::exception&) {
      known_ = nullptr;  // the long way says why
    }
  }

  [[gnu::cold]] void exchange_identities() {
    Hello mine;
    mine.id = process_->id();
    mine.pretends = mpi_pretends_nodes();
    mine.known = known_ != nullptr ? known_->id() : 0;
    mine.tuning = tuning_;
    mine.area = area_ != nullptr ? area_->number() + 1 : 0;
    mine.has_moved =
        known_ != nullptr && known_->where.processors != ProcessorSet::of_this_thread();
    met_.resize(world_ranks_.size());
    all_ranks_.allgather(&mine, sizeof mine, met_.data(), "meeting the other ranks");
    require_one_build();
    for (std::size_t r = 0; r < met_.size(); ++r) {
      const ProcessId& id = met_[r].id;
      peers_[r] = mine.id.sees(id) ? id : ProcessId{};
      process_->keep_process(world_ranks_[r], id);
      any_moved_ = any_moved_ || met_[r].has_moved;
    }
    all_know_ = known_ != nullptr;
    for (std::size_t r = 0; all_know_ && r < met_.size(); ++r) {
      const bool is_first = known_->where.nodes[r] == static_cast<int>(r);
      all_know_ = met_[r].known == mine.known && met_[r].tuning == tuning_ &&
                  (!is_first || met_[r].area != 0);
    }
    wait_inside_mpi();
  }

  /// All ranks throw, or none: where not all are alike, each has one that is unlike it.
  [[gnu::cold]] void require_one_build() const {
    const Build mine{};
    for (std::size_t r = 0; r < met_.size(); ++r) {
      if (met_[r].build == mine) continue;
      throw peer_error(joined(
          {"papcoll: rank ", r, " of a new papcoll::Communicator was built with ",
           met_[r].build.text(), ", and rank ", rank_, " with ", mine.text(),
           ": start the same build of the program on all ranks, with one papcoll behind it"}));
    }
  }

  /// Called when no rank needs this one outside MPI any more, where a simulated one had better
  /// wait.
  void wait_inside_mpi() {
    if constexpr (simulated) all_ranks_ = PolledCollectives{all_ranks_.comm()};
  }

  void make_progress(bool /*mpi_alone*/) override { process_->progress_others(nullptr); }

  [[gnu::cold]] void watch() override {
    for (std::size_t r = 0; r < peers_.size(); ++r) {
      if (static_cast<int>(r) == rank_ || !peers_[r].has_ended()) continue;
      throw lost_rank(joined({"papcoll: rank ", r,
                              " died while a papcoll::Communicator was made, seen on rank ", rank_,
                              " in ", doing, ": ", recovery_advice}),
                      static_cast<int>(r));
    }
    const int failed = process_->failures().find_failed(all_ranks_.comm());
    if (failed < 0) return;
    throw lost_rank(joined({"papcoll: rank ", failed, " died, as MPI says on rank ", rank_, " in ",
                            doing, ": ", recovery_advice}),
                    failed);
  }

  [[gnu::cold]] void deadline_passed() override {
    const auto deadline = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_);
    throw deadline_exceeded(
        joined({"papcoll: rank ", rank_, " waited longer than ", deadline.count(),
                " ms, the deadline of its Options, in ", doing,
                " for a papcoll::Communicator: a peer is stopped, lost or never made "
                "the call"}));
  }

  Shared<MpiProcess> process_;
  std::chrono::nanoseconds deadline_;
  PolledCollectives all_ranks_;
  int rank_ = 0;
  std::vector<int> world_ranks_;
  Vector<ProcessId> peers_;  ///< those that can be watched
  Vector<Hello> met_;
  Shared<RankSetInfo> known_;
  std::uint64_t tuning_ = 0;
  Shared<CommunicatorSegment> area_;  ///< made by this rank
  bool all_know_ = false;             ///< and they have the areas
  bool any_moved_ = false;
  bool discarded_cached_ = false;
};

/// Why the state of a communicator could not be made, as an attribute of it.
class SetupFailure final : public Attached {
 public:
  explicit SetupFailure(std::string why) : why_(std::move(why)) {}
  void close() noexcept override {}
  const std::string& why() const noexcept { return why_; }

 private:
  std::string why_;
};

/// Throws argument_error, on all ranks, unless all pass the same valid options. Gives the
/// selection files that rank 0 names, to all. Collective.
[[gnu::cold]] inline std::string require_common(const PolledCollectives& all_ranks,
                                                const Options& options) {
  constexpr const char* where = "comparing the Options of a papcoll::Communicator";
  std::string problem = options.problem();
  std::string texts;
  if (all_ranks.rank(where) == 0) {
    const std::string unread = caught<error>([&] { texts = read_selection_files(options); });
    if (problem.empty()) problem = unread;
  }
  std::array<std::int64_t, 13> mine{options.deadline.count(),
                                    static_cast<std::int64_t>(options.chunk_bytes),
                                    static_cast<std::int64_t>(options.pipeline_depth),
                                    options.first_epoch,
                                    options.agreement_period,
                                    static_cast<std::int64_t>(options.arena_bytes),
                                    static_cast<std::int64_t>(options.peer_access),
                                    static_cast<std::int64_t>(options.copy_method),
                                    static_cast<std::int64_t>(options.tickets),
                                    static_cast<std::int64_t>(options.selection),
                                    static_cast<std::int64_t>(hash_of(options.groups)),
                                    static_cast<std::int64_t>(hash_of(options.machine)),
                                    static_cast<std::int64_t>(texts.size())};
  std::array<std::int64_t, 13> first = mine;
  all_ranks.bcast(first.data(), sizeof first, 0, where);
  mine.back() = first.back();  // rank 0's counts
  if (problem.empty()) problem = problem_of(options.groups, all_ranks.size(where));
  if (problem.empty() && mine != first) {
    problem = "they differ from those of rank 0: pass the same on all ranks";
  }
  problem = first_problem(all_ranks, problem, where);
  if (!problem.empty()) {
    throw argument_error(joined({"papcoll: Options of a papcoll::Communicator: ", problem}));
  }
  texts.resize(static_cast<std::size_t>(first.back()));
  if (!texts.empty()) all_ranks.bcast(texts.data(), texts.size(), 0, where);
  return texts;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
