// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/call/make.hpp>

#include <cstddef>
#include <iterator>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Gives every rank the contributions of all, in rank order.
///
///     allgather(comm, in, out [, algorithm])
///     allgather(comm, data [, algorithm])              in place
///     allgather(comm, in, out, count [, algorithm])    pointers; `count` elements of each rank
///     allgather(comm, data, count [, algorithm])
///
/// `out` has size() times as many elements as `in`, which has the same number on all ranks. In
/// place, `data` has size() equal parts, and rank r's contribution is part r.
///
/// iallgather() returns a Request, allgather_init() a Persistent. All other parameters, template
/// arguments, errors and complexity: as for allreduce().
///
/// Example:
///
///     std::vector<int> ranks(static_cast<std::size_t>(comm.size()));
///     papcoll::allgather(comm, std::array{comm.rank()}, ranks);    // ranks[r] is r
PAPCOLL_COLLECTIVE(allgather)  // papcoll: write allgather(comm, in, out) or allgather(comm, data)

namespace detail {

template <> struct CallOfUnknownBlocks<Collective::allgather> {
  template <class P, class... Ps, class C, class In, class... Rest>
  static ResultOf<P> make(C& comm, const In& in, const Rest&... algorithm) {
    const CallOrigin origin{core_of(comm), Collective::allgather, false, true};
    const std::size_t n = std::ranges::size(in);
    origin.require_few_bytes(n, sizeof(typename P::T));
    check_pointers(origin, std::ranges::data(in), n, nullptr, 0);
    std::vector<std::size_t> lengths(origin.ranks());
    allgather(comm, &n, lengths.data(), 1);
    auto all = room_for<typename P::T>(origin, sum_of(lengths));
    call_irregular<Collective::allgather, Ps...>(comm, in, all, counts{lengths}, algorithm...);
    return all;
  }
};

}  // namespace detail

/// Gives every rank the contributions of all, in rank order, where these differ in length.
///
///     allgatherv(comm, in, out, each [, algorithm])     ranges, or pointers
///     allgatherv(comm, data, each [, algorithm])        in place
///     all = allgatherv(comm, in [, algorithm])          lengths not known before; blocking only
///
/// - each: the length of every rank's contribution, the same on all ranks: papcoll::counts{lengths}
///   for blocks one after the other in rank order, or papcoll::blocks{lengths, displacements}. All
///   in elements; what lies between blocks is not written. With pointers, a buffer ends where its
///   blocks do.
///
/// In place, each rank's contribution is at its place in `data`. Without `each`, the ranks exchange
/// the lengths first, and the call returns the contributions in rank order, as a std::vector.
///
/// Buffers are contiguous. iallgatherv() and allgatherv_init() copy lengths and displacements. All
/// else is as for allgather().
///
/// Example:
///
///     const std::vector<int> mine(static_cast<std::size_t>(comm.rank()), 7);
///     const std::vector<int> all = papcoll::allgatherv(comm, mine);    // 0 + 1 + … + P−1 elements
PAPCOLL_IRREGULAR_COLLECTIVE(allgatherv, allgather)  // papcoll: (comm, in, out, counts{n})

}  // namespace papcoll::inline PAPCOLL_ABI
