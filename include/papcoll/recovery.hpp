// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/error.hpp>
#include <papcoll/communicator.hpp>
#include <papcoll/topology/options.hpp>
#include <papcoll/transport/mpi/mpi.hpp>

#include <string>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI {

/// The job cannot go on after a death; what() says why, and what to do.
struct recovery_unavailable : error {
  using error::error;
};

/// Returns the reason why a job of this MPI library cannot go on when a rank dies; empty if it can.
/// Recovery needs User-Level Failure Mitigation (ULFM): Open MPI 5 and `mpirun --with-ft ulfm`.
/// Local.
PAPCOLL_DECL std::string no_recovery();

/// Returns true if the error code of an MPI call of the program's own means that a rank died, or
/// that the communicator was revoked after a death. Handle it as peer_lost.
PAPCOLL_DECL bool tells_of_death(int mpi_code) noexcept;

/// Creates a communicator of the ranks of `comm` that live, in their order, after a rank has died.
///
/// Collective among the live ranks, whatever calls they were in: those that are still in calls of
/// papcoll on `comm`, or are making it, get peer_lost there; those in MPI calls on it an error for
/// which tells_of_death() is true. `comm` cannot be used afterwards, and may be destroyed. Waits
/// without a deadline for all live ranks.
///
/// The Communicator that is returned owns its MPI communicator, mpi_comm(), and frees it at its
/// end, unless it is broken by then. Error handler and Options are those of `comm`; groups and
/// machines described in code lose the places of the dead ranks.
///
/// Throws recovery_unavailable if no_recovery() is not empty, argument_error for an
/// inter-communicator, MPI_COMM_NULL or invalid Options::groups, and broken_communicator for a
/// Communicator whose MPI communicator was freed; so do agree() and revoke().
PAPCOLL_DECL Communicator shrink(const Communicator& comm);
/// As shrink(const Communicator&), for an MPI communicator: with the Options of its Communicator if
/// there is one, else with the defaults.
PAPCOLL_DECL Communicator shrink(MPI_Comm comm);
/// As above, with Options for the ranks of `comm`: for an MPI communicator whose Communicator could
/// not be made.
PAPCOLL_DECL Communicator shrink(MPI_Comm comm, const Options& options);

/// Returns true if all ranks of `comm` live and have passed true; the same on all live ranks.
///
/// Collective among the live ranks. Passing false implies revoke(). With it a program makes sure
/// that no rank has left work that others are to repeat. If no_recovery() is not empty, it is an
/// allreduce, and throws what that throws.
///
///     while (!papcoll::agree(comm, done(comm))) comm = papcoll::shrink(comm);
///
/// where done() returns false after peer_lost.
PAPCOLL_DECL bool agree(MPI_Comm comm, bool done);
/// As agree(MPI_Comm, bool), for a Communicator.
PAPCOLL_DECL bool agree(const Communicator& comm, bool done);

/// Breaks the communicator on all of its ranks: those in papcoll's calls on it get peer_lost, those
/// in MPI calls on it an error for which tells_of_death() is true. shrink() revokes by itself; this
/// is for further communicators, on which ranks may wait for one that goes to shrink(). Local.
PAPCOLL_DECL void revoke(MPI_Comm comm);
/// As revoke(MPI_Comm), for a Communicator.
PAPCOLL_DECL void revoke(const Communicator& comm);

namespace detail {
template <class T>
concept rank_of_threads = !std::is_same_v<T, Communicator> && requires(T & rank) {
  rank.core();
};
}  // namespace detail

/// Threads as ranks live and die together.
template <detail::rank_of_threads Rank> void shrink(Rank&) {
  static_assert(sizeof(Rank) == 0,
                "papcoll: shrink() is for communicators of MPI: threads as ranks live and die "
                "together, so make a new ThreadTeam");
}

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/runtime/comm_state.hpp>
#include <papcoll/runtime/mpi_process.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/topology/groups.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>
#include <papcoll/transport/mpi/nodes.hpp>
#include <papcoll/transport/mpi/polled_collectives.hpp>
#include <papcoll/transport/mpi/process_failures.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace detail {

inline Shared<CommState> state_or_null(MPI_Comm comm) {
  return static_shared_cast<CommState>(find_attached(comm, Keyvals::get().comm));
}

/// Returns the Options without the ranks that are gone.
[[gnu::cold]] inline Options options_of_left(Options options, const std::vector<int>& left) {
  if (const Machine* const machine = options.machine.in_code()) {
    options.machine = machine->among(left);
  }
  std::vector<int> members = left;  // of the level, as numbered before
  for (std::vector<int>& colours : options.groups) {
    const Groups before = Groups::by_colour(colours);
    std::vector<int> kept;
    std::vector<int> groups;
    for (const int m : members) {
      kept.push_back(colours[static_cast<std::size_t>(m)]);
      const int group = before.group_of(m);
      if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
    }
    colours = std::move(kept);
    members = std::move(groups);  // in order of their lowest ranks that are left
  }
  return options;
}

/// A communicator and the MPI communicator that it is of, which ends with it.
struct Shrunk : Pinned {
  Shrunk(OwnedComm made, Shared<TeamCore> team) : comm(std::move(made)), core(std::move(team)) {}
  static Communicator whole(Shared<Shrunk> made) {
    TeamCore* const team = made->core.get();
    return Communicator{Shared<TeamCore>{std::move(made), team}};
  }
  /// Leaks the MPI communicator where a peer may be dead.
  ~Shrunk() {
    if (core->broken()) static_cast<void>(comm.release());
  }

  OwnedComm comm;
  Shared<TeamCore> core;
};

/// Ranks that wait for each other without a deadline, and move this thread's requests meanwhile, as
/// others may need them before they come.
inline PolledCollectives patient(MPI_Comm comm, MpiProcess& process) {
  return {comm, std::chrono::nanoseconds{0}, process};
}

/// One try. Null, on all ranks: another rank has died. `next` is the communicator of those left.
[[gnu::cold]] inline Shared<Shrunk> try_shrinking(MpiProcess& process, MPI_Comm comm,
                                                  const Options& options, OwnedComm& next) {
  constexpr int has_made = 1;
  constexpr int may_try_again = 2;
  Shared<TeamCore> core;
  std::exception_ptr problem;
  int flags = may_try_again;
  try {
    const Options left = options_of_left(options, ranks_in(comm, next.get(), "papcoll::shrink"));
    core = core_of_comm(next.get(), &left);
    flags |= has_made;
  } catch (const peer_lost&) {  // those that wait for this rank hear of it
    papcoll::revoke(next.get());
  } catch (const std::exception&) {
    problem = std::current_exception();
    flags = 0;
    papcoll::revoke(next.get());
  }
  const ProcessFailures::Agreed agreed =
      process.failures().agree(patient(next.get(), process), flags);
  if (problem != nullptr) std::rethrow_exception(problem);
  if ((agreed.flags & may_try_again) == 0) {
    throw_error<peer_error>(
        {"papcoll: papcoll::shrink failed on another rank; its exception says why"});
  }
  if (!agreed.all_live || (agreed.flags & has_made) == 0) return nullptr;
  return detail::make_shared<Shrunk>(std::move(next), std::move(core));
}

/// Returns the process, if MPI has the communicator and the job can go on; else throws.
[[gnu::cold]] inline Shared<MpiProcess> require_recovery(MPI_Comm comm) {
  require_usable_by_papcoll(comm);
  Shared<MpiProcess> process = MpiProcess::get();
  if (const std::string& why_not = process->failures().why_not(); !why_not.empty()) {
    throw_error<recovery_unavailable>({"papcoll: the job cannot go on after a death: ", why_not});
  }
  return process;
}

inline MPI_Comm mpi_comm_of(const Communicator& comm) {
  MPI_Comm mpi = comm.mpi_comm();
  if (mpi == MPI_COMM_NULL) {
    throw_error<broken_communicator>(
        {"papcoll: papcoll::shrink, agree or revoke of a papcoll::Communicator whose MPI "
         "communicator was freed"});
  }
  return mpi;
}

[[gnu::cold]] inline Communicator shrink_comm(MPI_Comm comm, const Options& options) {
  constexpr const char* where = "papcoll::shrink";
  const Shared<MpiProcess> process = require_recovery(comm);
  const ProcessFailures& failures = process->failures();
  int size = 0;
  check(MPI_Comm_size(comm, &size), "MPI_Comm_size", where);
  if (const std::string problem = problem_of(options.groups, size); !problem.empty()) {
    throw_error<argument_error>({"papcoll: papcoll::shrink: ", problem});
  }
  papcoll::revoke(comm);
  const ErrorsReturned guard{comm, where};
  Shared<Shrunk> made;
  OwnedComm from;  // of a try that failed
  while (made == nullptr) {
    MPI_Comm all = from ? from.get() : comm;
    failures.agree(patient(all, *process), 0);  // all are there before MPI blocks
    OwnedComm next = failures.shrink(all);
    failures.agree(patient(next.get(), *process), 0);  // all have it before one may revoke it
    static_cast<void>(from.release());                 // a rank of it is dead
    check(MPI_Comm_set_errhandler(next.get(), guard.before()), "MPI_Comm_set_errhandler", where);
    made = try_shrinking(*process, comm, options, next);
    from = std::move(next);
  }
  return Shrunk::whole(std::move(made));
}

}  // namespace detail

PAPCOLL_DECL std::string no_recovery() {
  if (!detail::mpi_is_usable()) return "MPI is not initialised, or is finalized";
  return detail::MpiProcess::get()->failures().why_not();
}

PAPCOLL_DECL bool tells_of_death(int mpi_code) noexcept {
  if (!detail::mpi_is_usable()) return false;
  try {  // MPI may not know the code
    const detail::ErrorsReturned guard{MPI_COMM_WORLD, "papcoll::tells_of_death"};
    return detail::peer_failure_of(mpi_code) != detail::PeerFailure::none;
  } catch (const error&) {
    return false;
  }
}

[[gnu::cold]] PAPCOLL_DECL Communicator shrink(const Communicator& comm) {
  return detail::shrink_comm(detail::mpi_comm_of(comm), comm.options());
}

[[gnu::cold]] PAPCOLL_DECL Communicator shrink(MPI_Comm comm) {
  detail::require_usable_by_papcoll(comm);
  const detail::Shared<detail::CommState> state = detail::state_or_null(comm);
  return detail::shrink_comm(comm, state != nullptr ? state->core().options() : Options{});
}

[[gnu::cold]] PAPCOLL_DECL Communicator shrink(MPI_Comm comm, const Options& options) {
  return detail::shrink_comm(comm, options);
}

PAPCOLL_DECL bool agree(MPI_Comm comm, bool done) {
  detail::require_usable_by_papcoll(comm);
  const detail::Shared<detail::MpiProcess> process = detail::MpiProcess::get();
  const detail::ProcessFailures& failures = process->failures();
  if (!failures.why_not().empty()) return detail::CommState::of(comm, nullptr)->agree(done);
  if (!done) revoke(comm);
  const detail::ProcessFailures::Agreed agreed =
      failures.agree(detail::patient(comm, *process), done ? 1 : 0);
  return agreed.all_live && agreed.flags != 0;
}
PAPCOLL_DECL bool agree(const Communicator& comm, bool done) {
  return agree(detail::mpi_comm_of(comm), done);
}

PAPCOLL_DECL void revoke(MPI_Comm comm) {
  const detail::Shared<detail::MpiProcess> process = detail::require_recovery(comm);
  if (const auto state = detail::state_or_null(comm)) state->revoke();
  process->failures().revoke(comm);
}
PAPCOLL_DECL void revoke(const Communicator& comm) { revoke(detail::mpi_comm_of(comm)); }

}  // namespace papcoll::inline PAPCOLL_ABI
#endif
