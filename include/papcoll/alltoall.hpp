#pragma once

#include <papcoll/call/make.hpp>

#include <cstddef>
#include <iterator>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Gives every rank a block of each rank.
///
///     alltoall(comm, in, out [, algorithm])
///     alltoall(comm, data [, algorithm])              in place
///     alltoall(comm, in, out, count [, algorithm])    pointers
///     alltoall(comm, data, count [, algorithm])
///
/// `in` has size() equal blocks, block r for rank r; `out` has as many, block r from rank r. In
/// place, what came from rank r stands where what went to it was. All else, ialltoall(),
/// alltoall_init() and errors are as for allreduce().
///
///     papcoll::alltoall(comm, to_each, from_each);
PAPCOLL_COLLECTIVE(alltoall)  // papcoll: write alltoall(comm, in, out) or alltoall(comm, data)

/// What came, by rank, where ranks do not know beforehand how much that is.
template <class T>
struct ReceivedBlocks {
  std::vector<T> data;              ///< one block after the other, in rank order
  std::vector<std::size_t> counts;  ///< elements of each
};

namespace detail {

template <>
struct CallOfUnknownBlocks<Collective::alltoall> {
  template <class P, class... Ps, class C, class In, class... Rest>
  static ResultOf<P> make(C& comm, const In& in, const blocks& sent, UnknownCounts,
                          const Rest&... algorithm) {
    using T = typename P::T;
    const Caller caller{core_of(comm), Collective::alltoall, false, true};
    ReceivedBlocks<T> result;
    // Checked before the others hear of them.
    const std::vector<std::size_t> given =
        checked_lengths(caller, sent, std::ranges::size(in), sizeof(T), std::ranges::data(in));
    result.counts.resize(caller.ranks());
    alltoall(comm, given.data(), result.counts.data(), 1);
    result.data = room_for<T>(caller, sum_of(result.counts));
    call_uneven<Collective::alltoall, Ps...>(comm, in, sent, result.data, counts{result.counts},
                                             algorithm...);
    return result;
  }
};

}  // namespace detail

/// Gives every rank a block of each rank, of any lengths.
///
///     alltoallv(comm, in, sent, out, received [, algorithm])    ranges, or pointers
///     alltoallv(comm, data, each [, algorithm])                 in place
///     blocks = alltoallv(comm, in, sent, papcoll::unknown_counts [, algorithm])     blocking only
///
/// Of `in` the block that `sent` says for rank r goes to rank r, and what comes from rank r goes to
/// the block of `out` that `received` says for it. Both are papcoll::counts{lengths}, for blocks
/// one after the other in rank order, or papcoll::blocks{lengths, displacements}, in elements;
/// nothing is written between blocks. What rank a sends to b must be as long as what b says it
/// receives from a. A pointer's buffer ends where its blocks do. In place, what comes from rank r
/// stands where what went to it was, and is as long. With unknown_counts, the ranks tell each other
/// first how much comes, and the call returns it (ReceivedBlocks).
///
/// Buffers are contiguous. Only schedules that pass no blocks on for others serve it, and
/// Hierarchical. All else, ialltoallv(), alltoallv_init() and errors are as for alltoall(). A call
/// that is not blocking copies lengths and displacements.
///
///     papcoll::alltoallv(comm, in, papcoll::counts{sent}, out, papcoll::counts{received});
PAPCOLL_UNEVEN_COLLECTIVE(alltoallv, alltoall)  // papcoll: (comm, in, counts{n}, out, counts{m})

}  // namespace papcoll::inline PAPCOLL_ABI
