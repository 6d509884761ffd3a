// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/call/make.hpp>

#include <cstddef>
#include <iterator>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Gives the root the contributions of all ranks, in rank order.
///
///     gather(comm, in, out, root [, algorithm])
///     gather(comm, data, root [, algorithm])              in place
///     gather(comm, in, out, count, root [, algorithm])    pointers; `count` elements of each rank
///     gather(comm, data, count, root [, algorithm])
///
/// On the root `out` has size() times as many elements as `in`; elsewhere it is ignored, and may be
/// a null pointer. In place, the root's `data` has the contributions of all ranks, its own at its
/// place; elsewhere `data` is the contribution.
///
/// - root: papcoll::root{r}, 0 ≤ r < size(), the same on all ranks.
///
/// igather() returns a Request, gather_init() a Persistent. All other parameters, template
/// arguments, errors and complexity: as for allreduce().
///
/// Example:
///
///     const std::vector<double> part(10, comm.rank());
///     std::vector<double> all(comm.rank() == 0 ? 10 * static_cast<std::size_t>(comm.size()) : 0);
///     papcoll::gather(comm, part, all, papcoll::root{0});
PAPCOLL_COLLECTIVE(gather)  // papcoll: write gather(comm, data or in, out, papcoll::root{0})

namespace detail {

template <> struct CallOfUnknownBlocks<Collective::gather> {
  template <class P, class... Ps, class C, class In, class... Rest>
  static ResultOf<P> make(C& comm, const In& in, root to, const Rest&... algorithm) {
    const CallOrigin origin{core_of(comm), Collective::gather, false, true};
    check_root(origin, to);
    const std::size_t n = std::ranges::size(in);
    origin.require_few_bytes(n, sizeof(typename P::T));
    check_pointers(origin, std::ranges::data(in), n, nullptr, 0);
    const bool is_root = origin.rank() == to.rank;
    std::vector<std::size_t> lengths(is_root ? origin.ranks() : 0);
    gather(comm, &n, lengths.data(), 1, to);
    auto all = room_for<typename P::T>(origin, sum_of(lengths));
    const counts each = is_root ? counts{lengths} : counts{};
    call_irregular<Collective::gather, Ps...>(comm, in, all, each, to, algorithm...);
    return all;
  }
};

}  // namespace detail

/// Gives the root the contributions of all ranks, in rank order, where these differ in length.
///
///     gatherv(comm, in, out, each, root [, algorithm])     ranges, or pointers
///     gatherv(comm, data, each, root [, algorithm])        in place
///     all = gatherv(comm, in, root [, algorithm])          lengths not known before; blocking only
///
/// - each: the length of every rank's contribution: papcoll::counts{lengths} for blocks one after
///   the other in rank order, or papcoll::blocks{lengths, displacements}. All in elements; what
///   lies between blocks is not written. Needed on the root; elsewhere it may be papcoll::counts{},
///   except for schedules that pass contributions on (all but Linear and BlockCopies).
///
/// Elsewhere than on the root `out` is ignored. With pointers, a buffer ends where its blocks do,
/// so every rank passes counts; the pointer that only the root needs may be null elsewhere. In
/// place, the root's contribution is at its place in `data`; elsewhere `data` is the contribution.
/// Without `each`, the ranks send the root their lengths first. The root then gets all
/// contributions as a std::vector, the others an empty one; schedules that pass contributions on do
/// not serve this form.
///
/// Buffers are contiguous. igatherv() and gatherv_init() copy lengths and displacements. All else
/// is as for gather().
///
/// Example:
///
///     const std::vector<int> mine(static_cast<std::size_t>(comm.rank()), 7);
///     const std::vector<int> all = papcoll::gatherv(comm, mine, papcoll::root{0});
PAPCOLL_IRREGULAR_COLLECTIVE(gatherv, gather)  // papcoll: (comm, in, out, counts{n}, root{0})

}  // namespace papcoll::inline PAPCOLL_ABI
