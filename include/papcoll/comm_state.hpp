#pragma once

#include <papcoll/arrival/board.hpp>
#include <papcoll/catalogue/tuning.hpp>
#include <papcoll/communicator.hpp>
#include <papcoll/detail/mpi.hpp>
#include <papcoll/division.hpp>
#include <papcoll/error.hpp>
#include <papcoll/mpi_process.hpp>
#include <papcoll/team.hpp>
#include <papcoll/transport/channels.hpp>
#include <papcoll/transport/mpi/check.hpp>
#include <papcoll/transport/mpi/handles.hpp>
#include <papcoll/transport/mpi/link.hpp>
#include <papcoll/transport/mpi/native.hpp>
#include <papcoll/transport/mpi/nodes.hpp>
#include <papcoll/transport/mpi_transport.hpp>
#include <papcoll/transport/node.hpp>
#include <papcoll/transport/rma_transport.hpp>
#include <papcoll/transport/shm_segment.hpp>
#include <papcoll/transport/shm_transport.hpp>
#include <papcoll/waiting/doorbells.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sched.h>
#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// All that papcoll keeps for one MPI communicator, as an attribute of it. Making it is collective
/// and holds no lock, so threads may make states of different communicators in any order.
class CommState final : public Attached {
 public:
  /// The state of `comm`, made if it is not there. Throws argument_error.
  static std::shared_ptr<CommState> of(MPI_Comm comm, const Options* options);

  CommState(MPI_Comm comm, const Options& options, const Thresholds& thresholds,
            std::shared_ptr<MpiProcess> process)
      : process_(std::move(process)), link_(comm) {
    const ErrorsReturned guard{comm, "making a papcoll::Communicator"};
    Surroundings s;
    check(MPI_Comm_rank(comm, &s.rank), "MPI_Comm_rank", "making a papcoll::Communicator");
    check(MPI_Comm_size(comm, &s.size), "MPI_Comm_size", "making a papcoll::Communicator");
    const NodeRanks here = find_node(comm, s);
    s.nodes = here.nodes;
    s.mpi = &link_;
    DivisionMemory division_memory;
    DivisionPlans division;
    if (!s.no_node.empty()) {
      // MPI had no communicator to find the node with.
    } else {
      division = plan_division(comm, here, options, true);
      s.no_node = share_memory(comm, here, options, division, division_memory, s.no_copies);
      if (!s.no_node.empty()) {
        division = plan_division(comm, here, options, false);
      } else if (here.nodes == 1) {
        s.node = &node_;
      }
      ranks_here_ = here.ranks;
    }
    if (s.no_node.empty() && here.nodes > 1) {
      s.no_node = "its ranks are on " + std::to_string(here.nodes) +
                  " nodes: take MpiTransport, or a communicator of one node";
    }
    if (s.node == nullptr) connect_at_once();
    const bool oversubscribed = is_oversubscribed(comm, here);
    core_.emplace(std::move(s),
                  std::vector{&transport_table<ShmTransport>, &transport_table<MpiTransport>,
                              &transport_table<RmaTransport>},
                  options);
    core_->set_oversubscribed(oversubscribed);
    core_->set_thresholds(thresholds);
    core_->hooks = {&CommState::progress,
                    &CommState::watch,
                    &CommState::refused,
                    &CommState::native,
                    &CommState::outstanding,
                    &CommState::is_gone,
                    this};
    divide(*core_, division, division_memory);
    if (!division.plans().empty()) {
      check(MPI_Barrier(comm), "MPI_Barrier", "making a papcoll::Communicator");
    }
  }
  ~CommState() override { close(); }

  TeamCore& core() noexcept { return *core_; }
  MPI_Comm comm() const noexcept { return link_.user(); }
  bool closed() const noexcept { return closed_; }

  void close() noexcept override {
    if (closed_) return;
    closed_ = true;
    process_->set_outstanding(&*core_, false);
    core_->close_tickets();
    const bool may_settle = link_.connected() && !core_->broken() && mpi_is_usable();
    link_.close(core_->broken() || (may_settle && !core_->settle()));
    core_->give_up("its MPI communicator was freed, or MPI_Finalize was called");
    segment_ = nullptr;
    node_.keep = nullptr;
  }

 private:
  static void require_usable(MPI_Comm comm) {
    if (!mpi_is_usable()) {
      throw argument_error("papcoll: a collective outside MPI_Init and MPI_Finalize");
    }
    if (comm == MPI_COMM_NULL) {
      throw argument_error(
          "papcoll: MPI_COMM_NULL is not a communicator: ranks outside a group must not call its "
          "collectives");
    }
    int inter = 0;
    check(MPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter", "a papcoll call");
    if (inter != 0) {
      throw argument_error(
          "papcoll: inter-communicators are not served: merge it with MPI_Intercomm_merge first");
    }
  }

  /// The ranks of this node; this rank alone, and the reason in `s`, if MPI could not tell.
  static NodeRanks find_node(MPI_Comm comm, Surroundings& s) {
    NodeRanks here;
    std::string problem;
    try {
      here = node_ranks(comm);
    } catch (const mpi_error& e) {
      problem = e.what();
    }
    s.no_node = first_problem(comm, problem, "finding the ranks of a node");
    return s.no_node.empty() ? here : NodeRanks{{s.rank}, s.size};
  }

  /// Where messages are the only way, so that not even the first non-blocking call has to wait.
  void connect_at_once() {
    try {
      static_cast<void>(link_.comm());
    } catch (const transport_unavailable&) {  // NOLINT(bugprone-empty-catch): MPI's own means
    }
  }

  /// Throws argument_error, on all ranks, unless all pass the same valid options.
  /// Gives the thresholds that they stand for.
  static Thresholds require_common(MPI_Comm comm, const Options& options) {
    constexpr const char* where = "comparing the Options of a papcoll::Communicator";
    const ErrorsReturned guard{comm, where};
    std::string problem = options.problem();
    Thresholds thresholds;
    try {
      thresholds = tuned_thresholds(options.tuning);
    } catch (const error& e) {
      if (problem.empty()) problem = e.what();
    }
    const std::array<std::int64_t, 10> mine{options.deadline.count(),
                                            static_cast<std::int64_t>(options.chunk_bytes),
                                            static_cast<std::int64_t>(options.window),
                                            options.first_epoch,
                                            options.agreement_period,
                                            static_cast<std::int64_t>(options.arena_bytes),
                                            static_cast<std::int64_t>(options.peer_access),
                                            static_cast<std::int64_t>(options.tickets),
                                            static_cast<std::int64_t>(hash_of(options.groups)),
                                            static_cast<std::int64_t>(hash_of(thresholds))};
    std::array<std::int64_t, 10> first = mine;
    check(MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_INT64_T, 0, comm),
          "MPI_Bcast", where);
    int size = 0;
    check(MPI_Comm_size(comm, &size), "MPI_Comm_size", where);
    if (problem.empty()) problem = problem_of(options.groups, size);
    if (problem.empty() && mine != first) {
      problem = mine.back() != first.back()
                    ? "their tuning, or $PAPCOLL_TUNING, says something else than on rank 0"
                    : "they differ from those of rank 0: pass the same on all ranks";
    }
    problem = first_problem(comm, problem, where);
    if (!problem.empty()) {
      throw argument_error("papcoll: Options of a papcoll::Communicator: " + problem);
    }
    return thresholds;
  }

  /// The communicator's groups: those of its Options, else its nodes, if there are several.
  static DivisionPlans plan_division(MPI_Comm comm, const NodeRanks& here, const Options& options,
                                     bool shares_memory) {
    if (here.nodes == 1 && options.groups.empty()) return {};
    int size = 0;
    check(MPI_Comm_size(comm, &size), "MPI_Comm_size", "making a papcoll::Communicator");
    const int node = here.ranks.front();
    std::vector<int> nodes(static_cast<std::size_t>(size));
    check(MPI_Allgather(&node, 1, MPI_INT, nodes.data(), 1, MPI_INT, comm), "MPI_Allgather",
          "making a papcoll::Communicator");
    const GroupColours levels = options.groups.empty() ? GroupColours{nodes} : options.groups;
    if (!shares_memory) nodes.assign(nodes.size(), -1);
    return {levels, nodes, node, options.chunk_bytes};
  }

  /// Makes the node's memory, for the whole communicator if it has no other nodes and for the teams
  /// within it; returns why it could not, the same on all ranks, or nothing.
  std::string share_memory(MPI_Comm comm, const NodeRanks& here, const Options& options,
                           const DivisionPlans& division, DivisionMemory& division_memory,
                           std::string& no_copies) {
    const bool whole = here.nodes == 1;
    const int ranks = static_cast<int>(here.ranks.size());
    const std::size_t bells = whole ? page_aligned(Doorbells::bytes(ranks)) : 0;
    const std::size_t board = whole ? page_aligned(Board::bytes(ranks, options.chunk_bytes)) : 0;
    const std::size_t channels = whole ? page_aligned(Channels::bytes(ranks)) : 0;
    const std::size_t heads = bells + board + division.heads_bytes();
    ShmSegment::Request request;
    request.ranks = here.ranks;
    const std::size_t arenas = whole ? static_cast<std::size_t>(ranks) * options.arena_bytes : 0;
    request.bytes = heads + channels + arenas + division.channels_bytes() + cache_line;
    request.reserved = heads;
    bool arena = arenas != 0;
    try {
      segment_ = std::make_shared<ShmSegment>(ShmSegment::create(comm, request));
    } catch (const transport_unavailable&) {  // perhaps for want of address space
      request.bytes -= arenas;
      arena = false;
      try {
        segment_ = std::make_shared<ShmSegment>(ShmSegment::create(comm, request));
      } catch (const transport_unavailable& why) {
        return why.what();
      }
    }
    int rank = 0;
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank", "sharing memory");
    std::byte* const memory = segment_->data();
    node_ = {rank,          ranks, memory, memory + bells, memory + heads, &CommState::reserve,
             segment_.get()};
    node_.keep = segment_;
    if (arena) node_.set_arena(node_.channels + channels, options.arena_bytes);
    const bool maps = arena && options.peer_access != PeerAccess::staged;
    if (whole) {
      node_.peers = {memory, maps ? segment_->bytes() : 0,
                     pids_for_copies(comm, here, options, no_copies),
                     options.peer_access == PeerAccess::copied};
    }
    division_memory = {memory + bells + board, memory + heads + channels + (arena ? arenas : 0),
                       &CommState::reserve, segment_.get()};
    shares_memory_ = true;
    if (whole && rank == 0) {
      Board{node_.board, ranks, options.chunk_bytes}.initialise(options.first_epoch);
    }
    check(MPI_Barrier(comm), "MPI_Barrier", "sharing memory");
    return {};
  }

  /// The processes of the node's ranks if each may copy from each, else nothing and, in
  /// no_copies, why.
  static std::vector<pid_t> pids_for_copies(MPI_Comm comm, const NodeRanks& here,
                                            const Options& options, std::string& no_copies) {
    if (options.peer_access != PeerAccess::best && options.peer_access != PeerAccess::copied) {
      no_copies = "the Options forbid it";
      return {};
    }
    constexpr const char* where = "trying cross-memory attach";
    struct Probe {
      std::uint64_t at;
      std::uint64_t value;
      std::int64_t pid;
    };
    int size = 0;
    check(MPI_Comm_size(comm, &size), "MPI_Comm_size", where);
    // Random, so that a process of the same number elsewhere is not taken for the rank.
    const std::uint64_t secret = ShmTicket::draw().nonce[0];
    const Probe mine{reinterpret_cast<std::uintptr_t>(&secret), secret, getpid()};
    std::vector<Probe> all(static_cast<std::size_t>(size));
    check(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, comm),
          "MPI_Allgather", where);
    std::vector<pid_t> pids;
    for (const int r : here.ranks) {
      pids.push_back(static_cast<pid_t>(all[static_cast<std::size_t>(r)].pid));
    }
    std::string problem;
    try {
      const PeerMemory peers{nullptr, 0, pids};
      for (std::size_t i = 0; i < pids.size() && problem.empty(); ++i) {
        const Probe& theirs = all[static_cast<std::size_t>(here.ranks[i])];
        std::uint64_t seen = 0;
        peers.pull(&seen, static_cast<int>(i), theirs.at, sizeof seen);
        if (seen != theirs.value) problem = "found another process than was meant";
      }
    } catch (const system_error& e) {
      problem = std::string("the kernel refuses it (") + std::strerror(e.number) + ")";
    }
    no_copies = first_problem(comm, problem, where);
    if (!no_copies.empty()) pids.clear();
    return pids;
  }

  /// More ranks on the node than processors that they, taken together, may run on?
  static bool is_oversubscribed(MPI_Comm comm, const NodeRanks& here) {
    int size = 0;
    check(MPI_Comm_size(comm, &size), "MPI_Comm_size", "making a papcoll::Communicator");
    cpu_set_t mine;
    CPU_ZERO(&mine);
    if (sched_getaffinity(0, sizeof mine, &mine) != 0) CPU_ZERO(&mine);
    std::vector<cpu_set_t> all(static_cast<std::size_t>(size));
    check(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, comm),
          "MPI_Allgather", "making a papcoll::Communicator");
    cpu_set_t together;
    CPU_ZERO(&together);
    for (const int r : here.ranks) CPU_OR(&together, &together, &all[static_cast<std::size_t>(r)]);
    return static_cast<int>(here.ranks.size()) > CPU_COUNT(&together);
  }

  static CommState& self(void* p) noexcept { return *static_cast<CommState*>(p); }

  static void reserve(void* p, const std::byte* at, std::size_t bytes) {
    static_cast<const ShmSegment*>(p)->reserve(at, bytes);
  }
  static void progress(void* p) {
    CommState& s = self(p);
    if (s.link_.connected()) {
      s.link_.poll(s.core_->calls());
    } else {
      s.process_->poke();
    }
    s.process_->progress_others(&*s.core_);
  }
  static void watch(void* p) {
    CommState& s = self(p);
    if (!s.shares_memory_ || !s.core_->tells_of_death()) return;
    const int dead = s.segment_->watch().find_dead();
    if (dead < 0) return;
    const int rank = s.ranks_here_[static_cast<std::size_t>(dead)];
    s.core_->abort_node(static_cast<std::uint32_t>(rank) + 1);
  }
  static bool is_gone(void* p, int rank) {
    const CommState& s = self(p);
    const auto here = std::find(s.ranks_here_.begin(), s.ranks_here_.end(), rank);
    return s.shares_memory_ && here != s.ranks_here_.end() &&
           s.segment_->watch().is_gone(static_cast<int>(here - s.ranks_here_.begin()));
  }
  static void refused(void* p, std::uint32_t number, Told what, const std::string& text) {
    self(p).link_.send_refusal(number, what, text);
  }
  static void native(void* p, const Call& call) {
    CommState& s = self(p);
    NativeCollectives{s.link_.user(), s.core_->rank(), s.core_->size()}.run(call);
  }
  static void outstanding(void* p, bool any) {
    CommState& s = self(p);
    s.process_->set_outstanding(&*s.core_, any);
  }

  std::shared_ptr<MpiProcess> process_;
  MpiLink link_;
  std::shared_ptr<ShmSegment> segment_;
  Node node_{};
  std::vector<int> ranks_here_;  ///< of this node
  bool shares_memory_ = false;   ///< with them
  std::optional<TeamCore> core_;
  bool closed_ = false;
};

inline std::shared_ptr<CommState> CommState::of(MPI_Comm comm, const Options* options) {
  require_usable(comm);
  auto found = std::static_pointer_cast<CommState>(find_attached(comm, Keyvals::get().comm));
  if (!found) {
    const Options wanted = options ? *options : Options{};
    const std::shared_ptr<MpiProcess> process = MpiProcess::get();
    process->meet(comm);
    const Thresholds thresholds = require_common(comm, wanted);
    found = std::make_shared<CommState>(comm, wanted, thresholds, process);
    attach(comm, Keyvals::get().comm, found);
    process->add(found);
  } else if (options != nullptr && found->core().options() != *options) {
    throw argument_error(
        "papcoll: this MPI communicator already has a papcoll::Communicator with other options: "
        "pass the same ones, or none");
  }
  return found;
}

template <class>
std::shared_ptr<TeamCore> core_of_comm(MPI_Comm comm, const Options* options) {
  const std::shared_ptr<CommState> state = CommState::of(comm, options);
  return {state, &state->core()};
}
PAPCOLL_COMPILE_ONCE(std::shared_ptr<TeamCore> core_of_comm<>(MPI_Comm, const Options*))

template <class>
CommFacts facts_of(const TeamCore& core) noexcept {
  const Surroundings& s = core.surroundings();
  return {s.nodes,           core.options(), s.no_node, s.no_copies, core.substitution(),
          core.no_tickets(), core.broken()};
}
PAPCOLL_COMPILE_ONCE(CommFacts facts_of<>(const TeamCore&) noexcept)

}  // namespace papcoll::inline PAPCOLL_ABI::detail
