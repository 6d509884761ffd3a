#pragma once

#include <papcoll/base/pointers.hpp>
#include <papcoll/call/route.hpp>
#include <papcoll/topology/options.hpp>
#include <papcoll/transport/memory_transports.hpp>
#include <papcoll/transport/message_transports.hpp>
#include <papcoll/transport/mpi/mpi.hpp>

#include <string>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {
namespace detail {

/// What can be asked about an MPI communicator.
struct CommFacts {
  int nodes;
  const Options& options;
  const std::string& why_no_shared_memory;
  const std::string& why_no_cma;
  const std::string& substitution;
  const std::string& no_tickets;
  bool broken;
  MPI_Comm mpi_comm;
};

/// The team of `comm`, made if it is not there, with all that papcoll keeps for it: see
/// runtime/comm_state.hpp. Throws argument_error.
PAPCOLL_DECL Shared<TeamCore> core_of_comm(MPI_Comm comm, const Options* options);
/// All transports over MPI, of which a communicator begins with that of its messages.
PAPCOLL_DECL void offer_mpi_transports(TeamCore& core);
PAPCOLL_DECL void offer_told_mpi_messages(TeamCore& core);
PAPCOLL_DECL CommFacts facts_of(const TeamCore& core) noexcept;

struct Shrunk;  ///< see recovery.hpp

}  // namespace detail

/// An MPI communicator, prepared for papcoll's collectives. Making the first one for an MPI
/// communicator is collective and sets up shared memory among the ranks of a node; further ones
/// share what was made. It ends with the MPI communicator, or with MPI_Finalize.
class Communicator {
 public:
  /// Throws argument_error for MPI_COMM_NULL and inter-communicators.
  explicit Communicator(MPI_Comm comm) : core_(detail::core_of_comm(comm, nullptr)) {}
  /// With options, the same on all ranks. Throws argument_error also for options that cannot be,
  /// that differ among the ranks, or that differ from those that the MPI communicator already has.
  Communicator(MPI_Comm comm, const Options& options)
      : core_(detail::core_of_comm(comm, &options)) {}
  /// The one moved from may only be destroyed or assigned to.
  Communicator(Communicator&&) noexcept = default;
  /// As in construction.
  Communicator& operator=(Communicator&&) noexcept = default;
  Communicator(const Communicator&) = delete;  // papcoll: a Communicator is moved, or referred to
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator() = default;

  /// This rank, as in the MPI communicator.
  int rank() const noexcept { return detail::rank_of(*core_); }
  /// Ranks of the MPI communicator.
  int size() const noexcept { return detail::size_of(*core_); }
  /// The MPI communicator that it was made for; MPI_COMM_NULL once that was freed.
  MPI_Comm mpi_comm() const noexcept { return facts().mpi_comm; }
  /// Nodes (groups of ranks that could share memory) the ranks are on.
  int nodes() const noexcept { return facts().nodes; }
  /// Those it was made with.
  const Options& options() const noexcept { return facts().options; }
  /// Why ShmTransport cannot serve this communicator, or nothing.
  const std::string& no_shared_memory() const noexcept { return facts().why_no_shared_memory; }
  /// Why ranks of one node cannot copy from each other's private memory (cross-memory attach), as
  /// they would under PeerAccess::copied, or where messages are too long for the library's part of
  /// the arena; or nothing.
  const std::string& no_cross_memory() const noexcept { return facts().why_no_cma; }
  /// Why calls over MpiTransport run by the MPI library's own collectives (it has no communicator
  /// left for papcoll), or nothing if they do not.
  const std::string& mpi_substitution() const noexcept { return facts().substitution; }
  /// Why calls under ArrivalOrder over RmaTransport run in predicted order (a ticket would take too
  /// long), or nothing if they do not, or if there were none.
  const std::string& no_tickets() const noexcept { return facts().no_tickets; }
  /// Why messages between memory of GPUs go through the host (IPC or peer access is refused on some
  /// rank), the same on all ranks; or nothing if they do not, or if there were none.
  const std::string& no_ipc() const noexcept { return detail::no_ipc_of(*core_); }
  /// Every further call throws broken_communicator: a peer was lost, the deadline passed, or calls
  /// did not match where messages were under way.
  bool broken() const noexcept { return facts().broken; }

  /// What collectives work on; for the library.
  TeamCore& core() noexcept { return *core_; }
  /// For the library, see TeamOf.
  static void offer_transports(TeamCore& core) { detail::offer_mpi_transports(core); }
  /// For the library, see TeamOf.
  static void offer_told_messages(TeamCore& core) { detail::offer_told_mpi_messages(core); }

 private:
  friend struct detail::Shrunk;
  explicit Communicator(detail::Shared<TeamCore> core) noexcept : core_(std::move(core)) {}

  detail::CommFacts facts() const noexcept { return detail::facts_of(*core_); }

  detail::Shared<TeamCore> core_;
};

/// Gives back what this process keeps so that communicators of ranks that had one before are soon
/// made: of at most four such sets of ranks, a file descriptor and shared memory each. Local;
/// nothing that a communicator uses is touched. Between MPI_Init and MPI_Finalize, at any time.
/// Throws mpi_error.
PAPCOLL_DECL void release_unused_memory();

/// A bare MPI_Comm is a team as well: its first call makes what Communicator would make.
template <>
struct TeamOf<MPI_Comm> {
  /// For the library. Throws argument_error.
  static TeamCore& core(MPI_Comm comm) { return *detail::core_of_comm(comm, nullptr); }
  /// For the library.
  static void offer_transports(TeamCore& core) { detail::offer_mpi_transports(core); }
  /// For the library.
  static void offer_told_messages(TeamCore& core) { detail::offer_told_mpi_messages(core); }
};

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/runtime/comm_state.hpp>
#include <papcoll/runtime/mpi_process.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/transport/message_transports.hpp>
#include <papcoll/transport/mpi/link.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>
#include <papcoll/transport/mpi/mpi_endpoint.hpp>
#include <papcoll/transport/transport.hpp>

#include <array>
#include <functional>

namespace papcoll::inline PAPCOLL_ABI {
namespace detail {

PAPCOLL_DECL Shared<TeamCore> core_of_comm(MPI_Comm comm, const Options* options) {
  const Shared<CommState> state = CommState::of(comm, options);
  return {state, &state->core()};
}

PAPCOLL_DECL void offer_mpi_transports(TeamCore& core) {
  static constexpr std::array all{&transport_table<MpiTransport>, &transport_table<RmaTransport>};
  core.offer_transports(all);
}

PAPCOLL_DECL void offer_told_mpi_messages(TeamCore& core) {
  MpiLink* const link = core.surroundings().mpi;
  if (simulated || core.surroundings().messages) return;
  core.offer_messages([link](std::function<void(const TransportOp&)> told) {
    return std::unique_ptr<Endpoint>(new NotifyingMpiEndpoint(*link, std::move(told)));
  });
}

PAPCOLL_DECL CommFacts facts_of(const TeamCore& core) noexcept {
  const TeamEnvironment& s = core.surroundings();
  return {s.nodes,
          core.options(),
          s.why_no_shared_memory,
          s.why_no_cma,
          core.connections.substitution(),
          core.no_tickets(),
          core.broken(),
          s.mpi->user()};
}

}  // namespace detail

PAPCOLL_DECL void release_unused_memory() { detail::MpiProcess::get()->known_ranks().forget(); }

}  // namespace papcoll::inline PAPCOLL_ABI
#endif
