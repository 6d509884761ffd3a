#pragma once

#include <papcoll/base/error.hpp>
#include <papcoll/communicator.hpp>
#include <papcoll/topology/options.hpp>
#include <papcoll/transport/mpi/mpi.hpp>

#include <string>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI {

/// The job cannot go on after a death; what() says why not, and what to do.
struct recovery_unavailable : error {
  using error::error;
};

/// Returns why a job of this MPI library cannot go on when a rank dies; empty if it can. It takes
/// User-Level Failure Mitigation (ULFM): Open MPI 5 and `mpirun --with-ft ulfm`. Local.
PAPCOLL_DECL std::string no_recovery();

/// Returns true if an error code, of an MPI call of the program's own, says that a rank died or
/// that the communicator was revoked after a death. The program then does as after peer_lost.
PAPCOLL_DECL bool tells_of_death(int mpi_code) noexcept;

/// Makes a communicator of the ranks of `comm` that live, in their order, after a rank has died.
/// Collective among them, whatever calls they were in: those that are still in calls of papcoll on
/// `comm`, or are making it, get peer_lost there, and those in MPI calls on it an error that
/// tells_of_death(). `comm` is of no use any more, and may be destroyed.
///
/// The Communicator that is returned owns its MPI communicator, mpi_comm(), and frees it at its
/// end, unless it is broken by then. The error handler is that of `comm`, and so are the Options,
/// in which groups and machines described in code lose the places of the ranks that died.
///
/// Waits without a deadline for all that live. Throws recovery_unavailable where no_recovery() says
/// why, argument_error for an inter-communicator, MPI_COMM_NULL, or wrong Options::groups, and
/// broken_communicator for a Communicator whose MPI communicator was freed; so do agree() and
/// revoke().
PAPCOLL_DECL Communicator shrink(const Communicator& comm);
/// The same for an MPI communicator: with the Options of its Communicator, if there is one, else
/// with the defaults.
PAPCOLL_DECL Communicator shrink(MPI_Comm comm);
/// With Options for the ranks of `comm`: where making its Communicator has failed.
PAPCOLL_DECL Communicator shrink(MPI_Comm comm, const Options& options);

/// Returns, the same on all ranks that live, whether all ranks of `comm` live and have passed true.
/// Collective among those that live. Passing false is to revoke() it. So a program knows that no
/// rank has left the work to be done which others are to repeat:
///
///     while (!papcoll::agree(comm, done(comm))) comm = papcoll::shrink(comm);
///
/// where done() gives false after peer_lost. Where no_recovery() says why, it is an allreduce, and
/// throws what that throws.
PAPCOLL_DECL bool agree(MPI_Comm comm, bool done);
/// The same for a Communicator.
PAPCOLL_DECL bool agree(const Communicator& comm, bool done);

/// Breaks the communicator on all of its ranks: those in papcoll's calls on it get peer_lost, those
/// in MPI calls on it an error that tells_of_death(). shrink() does so by itself; this is for
/// further communicators, in which ranks may wait for one that goes to shrink(). Local.
PAPCOLL_DECL void revoke(MPI_Comm comm);
/// The same for a Communicator.
PAPCOLL_DECL void revoke(const Communicator& comm);

namespace detail {
template <class T>
concept rank_of_threads = !std::is_same_v<T, Communicator> && requires(T & rank) {
  rank.core();
};
}  // namespace detail

/// Threads as ranks live and die together.
template <detail::rank_of_threads Rank>
void shrink(Rank&) {
  static_assert(sizeof(Rank) == 0,
                "papcoll: shrink() is for communicators of MPI: threads as ranks live and die "
                "together, so make a new ThreadTeam");
}

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/recovery.ipp>
#endif
