#pragma once

#include <papcoll/call/make.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Combines the elements of all ranks, position by position, and gives every rank the result.
///
///     allreduce(comm, data [, op [, algorithm]])              in place
///     allreduce(comm, in, out [, op [, algorithm]])           `in` is unchanged
///     allreduce(comm, data, count [, op [, algorithm]])       pointers to `count` elements
///     allreduce(comm, in, out, count [, op [, algorithm]])
///     x = allreduce(comm, value [, op [, algorithm]])         one element; blocking only
///
/// Each form comes as allreduce(), which returns when this rank has the result, as iallreduce(),
/// which returns a Request, and as allreduce_init(), which returns a Persistent, to be called again
/// and again.
///
/// Template arguments, in any order: an arrival policy, a schedule, a transport, a contract; what
/// is left out is chosen. allreduce<papcoll::Ring>(comm, data).
///
/// comm: a Communicator, a ThreadTeam::Rank or, with <papcoll/communicator.hpp>, an MPI_Comm.
///
/// data, in, out: contiguous ranges (std::vector, std::span, std::array, a built-in array) of
/// trivially copyable elements of one type, or buffers whose elements need not be contiguous:
/// strided(), indexed(), an mdspan. All ranks pass as many elements of the same type, in whatever
/// layout; out has as many as in. They do not overlap, unless they are the same. A call that is not
/// blocking reads and writes them later: pass a variable that lives as long, or a view of one; or
/// an rvalue that owns its elements, which is moved into the call: wait() of an OwningRequest gives
/// it back, input() and output() of an OwningPersistent refer to it:
///
///     v = papcoll::iallreduce(comm, std::move(v)).wait();
///
/// op: combines two elements, those of lower ranks first; papcoll::sum by default. It is a function
/// object whose call operator is const and gives something that converts to the element type; the
/// same on all ranks. One that commutes says so: see commutative(). A call that is not blocking
/// copies it.
///
/// algorithm: chosen at run time, instead of template arguments: papcoll::algorithm("Ring"). The
/// same on all ranks.
///
/// Throws argument_error (this rank's call is wrong), peer_error (another rank's), peer_lost,
/// deadline_exceeded, transport_unavailable, unsupported_call, broken_communicator. A request
/// throws them in wait() and test(), but for argument_error.
///
///     std::vector<double> v(100, comm.rank());
///     papcoll::allreduce(comm, v, papcoll::max);
///     const int sum = papcoll::allreduce(comm, comm.rank());
PAPCOLL_COLLECTIVE(allreduce)  // papcoll: write allreduce(comm, data) or allreduce(comm, in, out)

}  // namespace papcoll::inline PAPCOLL_ABI
