// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/call/make.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Combines the elements of all ranks, position by position, and gives every rank the result:
/// element i is x_0[i] op x_1[i] op … op x_{P−1}[i], where x_r is the contribution of rank r of P.
///
///     allreduce(comm, data [, op [, algorithm]])              in place
///     allreduce(comm, in, out [, op [, algorithm]])           `in` is not modified
///     allreduce(comm, data, count [, op [, algorithm]])       pointers to `count` elements
///     allreduce(comm, in, out, count [, op [, algorithm]])
///     x = allreduce(comm, value [, op [, algorithm]])         one element; blocking only
///
/// allreduce() returns when this rank has the result; other ranks may still be in the call.
/// iallreduce() starts the call and returns a Request. allreduce_init() prepares it and returns a
/// Persistent, which is called again and again. All ranks of `comm` make the same calls on it in
/// the same order.
///
/// Parameters:
/// - comm: a Communicator, a ThreadTeam::Rank or, with <papcoll/communicator.hpp>, an MPI_Comm. An
///   MPI_Comm is looked up in each call; its first call creates what a Communicator with default
///   Options has.
/// - data: the contribution; then the result. in, out: the contribution and the result, of equal
///   length, without overlap. Each is a contiguous range (std::vector, std::span, std::array, a
///   built-in array), or a buffer whose elements need not be contiguous: strided(), indexed(), an
///   mdspan. All ranks pass the same number of elements, of the same trivially copyable type;
///   layouts may differ between buffers and ranks, and what lies between elements is not written.
/// - count: with pointers, the number of elements, ≥ 0, as any integer.
/// - op: op(low, high) combines two elements, that of the lower ranks first; associative;
///   papcoll::sum by default. A function object whose call operator is const and returns what
///   converts to the element type; the same on all ranks. Contributions are combined in rank order
///   unless op is known to commute: see commutative(). If it throws, the program ends.
/// - algorithm: papcoll::algorithm("Ring"), chosen at run time, instead of template arguments; the
///   same on all ranks.
///
/// Template arguments are policies in any order: at most one arrival policy, schedule, transport
/// and contract, or Hierarchical and a contract. papcoll chooses what is left out. By default all
/// ranks get the same bits (RankConsistent).
///
/// Buffers are borrowed until the call returns or its Request is complete. An iallreduce or
/// allreduce_init also takes an rvalue that owns its elements, which is moved into the call: wait()
/// of an OwningRequest returns it, input() and output() of an OwningPersistent refer to it. Such
/// calls copy op.
///
/// Errors: argument_error if this rank's arguments are invalid, unsupported_call (all ranks) if the
/// named algorithm cannot run this call, peer_error if another rank's call is invalid or does not
/// match, peer_lost, deadline_exceeded, transport_unavailable, broken_communicator, mpi_error,
/// system_error. A Request throws them in wait() and test(), except argument_error. docs/errors.md
/// has the state of output and communicator after each.
///
/// Complexity: that of the algorithm, stated in its header; explain() names the one that is chosen.
///
/// Example:
///
///     std::vector<double> v(100, comm.rank()), total(100);
///     papcoll::allreduce(comm, v, total);                      // total[i] is 0 + 1 + … + P−1
///     papcoll::allreduce(comm, v, papcoll::max);               // in place
///     papcoll::allreduce<papcoll::Ring>(comm, v);              // by a named schedule
///     const int sum = papcoll::allreduce(comm, comm.rank());   // one element by value
///     v = papcoll::iallreduce(comm, std::move(v)).wait();      // moved into the call, and back
PAPCOLL_COLLECTIVE(allreduce)  // papcoll: write allreduce(comm, data) or allreduce(comm, in, out)

}  // namespace papcoll::inline PAPCOLL_ABI
