// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/call/make.hpp>

#include <cstddef>
#include <iterator>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Sends every rank a block of its own, and receives one from every rank.
///
///     alltoall(comm, in, out [, algorithm])
///     alltoall(comm, data [, algorithm])              in place
///     alltoall(comm, in, out, count [, algorithm])    pointers; `count` elements of each block
///     alltoall(comm, data, count [, algorithm])
///
/// `in` has size() equal blocks, block r for rank r; `out` has as many, block r from rank r. In
/// place, the block from rank r replaces the block for it.
///
/// ialltoall() returns a Request, alltoall_init() a Persistent. All other parameters, template
/// arguments, errors and complexity: as for allreduce().
///
/// Example:
///
///     const std::vector<int> for_each(static_cast<std::size_t>(comm.size()), comm.rank());
///     std::vector<int> from_each(for_each.size());
///     papcoll::alltoall(comm, for_each, from_each);    // from_each[r] is r
PAPCOLL_COLLECTIVE(alltoall)  // papcoll: write alltoall(comm, in, out) or alltoall(comm, data)

/// The blocks that an alltoallv with unknown_counts has received.
template <class T> struct ReceivedBlocks {
  std::vector<T> data;              ///< one block after the other, in rank order
  std::vector<std::size_t> counts;  ///< elements of each
};

namespace detail {

template <> struct CallOfUnknownBlocks<Collective::alltoall> {
  template <class P, class... Ps, class C, class In, class... Rest>
  static ResultOf<P> make(C& comm, const In& in, const blocks& sent, UnknownCounts,
                          const Rest&... algorithm) {
    using T = typename P::T;
    const CallOrigin origin{core_of(comm), Collective::alltoall, false, true};
    ReceivedBlocks<T> result;
    // Checked before they are exchanged.
    const std::vector<std::size_t> given =
        checked_lengths(origin, sent, std::ranges::size(in), sizeof(T), std::ranges::data(in));
    result.counts.resize(origin.ranks());
    alltoall(comm, given.data(), result.counts.data(), 1);
    result.data = room_for<T>(origin, sum_of(result.counts));
    call_irregular<Collective::alltoall, Ps...>(comm, in, sent, result.data, counts{result.counts},
                                                algorithm...);
    return result;
  }
};

}  // namespace detail

/// Sends every rank a block of its own, and receives one from every rank, of any lengths.
///
///     alltoallv(comm, in, sent, out, received [, algorithm])    ranges, or pointers
///     alltoallv(comm, data, each [, algorithm])                 in place
///     blocks = alltoallv(comm, in, sent, papcoll::unknown_counts [, algorithm])     blocking only
///
/// - sent: the blocks of `in`: block r is sent to rank r.
/// - received: the blocks of `out`: block r is received from rank r. What rank b receives from rank
///   a must be as long as what a sends to b.
/// - each: in place, the blocks of `data`: the block from rank r replaces the one for it, and is as
///   long.
///
/// Each is papcoll::counts{lengths} for blocks one after the other in rank order, or
/// papcoll::blocks{lengths, displacements}, in elements; what lies between blocks is not written.
/// With pointers, a buffer ends where its blocks do. With unknown_counts, the ranks exchange the
/// lengths first, and the call returns a ReceivedBlocks.
///
/// Buffers are contiguous. Only schedules that pass no blocks on for others serve it, and
/// Hierarchical. ialltoallv() and alltoallv_init() copy lengths and displacements. All else is as
/// for alltoall().
///
/// Example:
///
///     const std::vector<int> lengths(static_cast<std::size_t>(comm.size()), comm.rank());
///     const std::vector<double> to_each(lengths.size() * static_cast<std::size_t>(comm.rank()));
///     const auto got = papcoll::alltoallv(comm, to_each, papcoll::counts{lengths},
///                                         papcoll::unknown_counts);    // got.counts[r] is r
PAPCOLL_IRREGULAR_COLLECTIVE(alltoallv, alltoall)  // papcoll: (comm, in, counts{n}, out, counts{m})

}  // namespace papcoll::inline PAPCOLL_ABI
