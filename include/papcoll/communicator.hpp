// SPDX-License-Identifier: BSD-3-Clause
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
  /// Returns the reason why calls under ArrivalOrder over RmaTransport run in predicted order (a
  /// ticket would take too long); empty if they do not, or if there was no such call.
  const std::string& why_no_tickets;
  bool broken;
  MPI_Comm mpi_comm;
};

/// The team of `comm`, made if it is not there, with all that papcoll keeps for it: see
/// runtime/comm_state.hpp. Throws argument_error.
PAPCOLL_DECL Shared<TeamCore> core_of_comm(MPI_Comm comm, const Options* options);
/// Offers all transports over MPI, of which a communicator begins with that of its messages.
PAPCOLL_DECL void offer_mpi_transports(TeamCore& core);
PAPCOLL_DECL void offer_notifying_mpi_messages(TeamCore& core);
PAPCOLL_DECL CommFacts facts_of(const TeamCore& core) noexcept;

struct Shrunk;  ///< see recovery.hpp

}  // namespace detail

/// An MPI communicator prepared for papcoll's collectives.
///
/// Constructing the first Communicator for an MPI communicator is collective: it sets up shared
/// memory among the ranks of each node. Further ones for the same MPI communicator are local, and
/// share what was made. What they share ends with the MPI communicator, or in MPI_Finalize; later
/// calls on a Communicator throw broken_communicator.
///
/// One thread at a time may call collectives on a communicator. A child made by fork() must not use
/// it.
///
/// Example:
///
///     papcoll::Communicator world{MPI_COMM_WORLD, {.deadline = std::chrono::seconds(60)}};
///     const int ranks = papcoll::allreduce(world, 1);
class Communicator {
 public:
  /// Constructs it with default Options, or with those that the MPI communicator already has.
  /// Throws argument_error if `comm` is MPI_COMM_NULL or an inter-communicator, and what a
  /// collective throws if a rank dies or fails meanwhile.
  explicit Communicator(MPI_Comm comm) : core_(detail::core_of_comm(comm, nullptr)) {}
  /// Constructs it with options, which must be equal on all ranks. Throws argument_error, also if
  /// the options are invalid (Options::problem()), differ among the ranks, or differ from those
  /// that the MPI communicator already has.
  Communicator(MPI_Comm comm, const Options& options)
      : core_(detail::core_of_comm(comm, &options)) {}
  /// Moves. The one moved from may only be destroyed or assigned to.
  Communicator(Communicator&&) noexcept = default;
  /// Moves. The one moved from may only be destroyed or assigned to.
  Communicator& operator=(Communicator&&) noexcept = default;
  Communicator(const Communicator&) = delete;  // papcoll: a Communicator is moved, or referred to
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator() = default;

  /// Returns this rank's number in the MPI communicator.
  int rank() const noexcept { return detail::rank_of(*core_); }
  /// Returns the number of ranks of the MPI communicator.
  int size() const noexcept { return detail::size_of(*core_); }
  /// Returns the MPI communicator that it was made for; MPI_COMM_NULL once that was freed.
  MPI_Comm mpi_comm() const noexcept { return facts().mpi_comm; }
  /// Returns the number of nodes, groups of ranks that could share memory.
  int nodes() const noexcept { return facts().nodes; }
  /// Returns the options in force on the MPI communicator: those of the first Communicator made for
  /// it, or the defaults.
  const Options& options() const noexcept { return facts().options; }
  /// Returns the reason why ShmTransport is unavailable on this communicator; empty if it is
  /// available.
  const std::string& why_no_shared_memory() const noexcept { return facts().why_no_shared_memory; }
  /// Returns the reason why the ranks of a node cannot copy from each other's private memory
  /// (cross-memory attach), as they would under PeerAccess::copied, or for messages too long for
  /// the library's part of the arena; empty if they can.
  const std::string& why_no_cma() const noexcept { return facts().why_no_cma; }
  /// Returns the reason why calls over MpiTransport run by the MPI library's own collectives (it
  /// has no communicator left for papcoll); empty if they do not.
  const std::string& mpi_substitution() const noexcept { return facts().substitution; }
  /// Why calls under ArrivalOrder over RmaTransport run in predicted order (a ticket would take too
  /// long), or nothing if they do not, or if there were none.
  const std::string& why_no_tickets() const noexcept { return facts().why_no_tickets; }
  /// Returns the reason why messages between GPU buffers go through the host (IPC or peer access is
  /// refused on some rank), equal on all ranks; empty if they do not, or if there was no such
  /// message.
  const std::string& why_no_ipc() const noexcept { return detail::why_no_ipc_of(*core_); }
  /// Returns true if every further call throws broken_communicator: a peer was lost, the deadline
  /// passed, or calls did not match while messages were in flight.
  bool broken() const noexcept { return facts().broken; }

  /// For the library: what collectives work on.
  TeamCore& core() noexcept { return *core_; }
  /// For the library, see TeamOf.
  static void offer_transports(TeamCore& core) { detail::offer_mpi_transports(core); }
  /// For the library, see TeamOf.
  static void offer_notifying_messages(TeamCore& core) {
    detail::offer_notifying_mpi_messages(core);
  }

 private:
  friend struct detail::Shrunk;
  explicit Communicator(detail::Shared<TeamCore> core) noexcept : core_(std::move(core)) {}

  detail::CommFacts facts() const noexcept { return detail::facts_of(*core_); }

  detail::Shared<TeamCore> core_;
};

/// Frees what this process keeps for new communicators of ranks that had one before: for at most
/// four such sets of ranks, a file descriptor and shared memory each. Local; does not affect
/// communicators in use. May be called at any time between MPI_Init and MPI_Finalize. Throws
/// mpi_error.
PAPCOLL_DECL void release_unused_memory();

/// A bare MPI_Comm is a team as well: its first call makes what Communicator would make.
template <> struct TeamOf<MPI_Comm> {
  /// For the library. Throws argument_error.
  static TeamCore& core(MPI_Comm comm) { return *detail::core_of_comm(comm, nullptr); }
  /// For the library.
  static void offer_transports(TeamCore& core) { detail::offer_mpi_transports(core); }
  /// For the library.
  static void offer_notifying_messages(TeamCore& core) {
    detail::offer_notifying_mpi_messages(core);
  }
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

PAPCOLL_DECL void offer_notifying_mpi_messages(TeamCore& core) {
  MpiLink* const link = core.environment().mpi;
  if (simulated || core.environment().messages) return;
  core.offer_messages([link](std::function<void(const TransportOp&)> notify) {
    return std::unique_ptr<Endpoint>(new NotifyingMpiEndpoint(*link, std::move(notify)));
  });
}

PAPCOLL_DECL CommFacts facts_of(const TeamCore& core) noexcept {
  const TeamEnvironment& environment = core.environment();
  return {environment.nodes,
          core.options(),
          environment.why_no_shared_memory,
          environment.why_no_cma,
          core.connections.substitution(),
          core.why_no_tickets(),
          core.broken(),
          environment.mpi->user()};
}

}  // namespace detail

PAPCOLL_DECL void release_unused_memory() { detail::MpiProcess::get()->known_ranks().forget(); }

}  // namespace papcoll::inline PAPCOLL_ABI
#endif
