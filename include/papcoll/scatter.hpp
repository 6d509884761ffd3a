// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/call/make.hpp>

#include <cstddef>
#include <iterator>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Gives each rank its block of the root's elements, in rank order.
///
///     scatter(comm, in, out, root [, algorithm])
///     scatter(comm, data, root [, algorithm])              in place
///     scatter(comm, in, out, count, root [, algorithm])    pointers; `count` for each rank
///     scatter(comm, data, count, root [, algorithm])
///
/// On the root `in` has size() times as many elements as `out`; elsewhere it is ignored, and may be
/// a null pointer. In place, the root's `data` has all blocks and is not modified; elsewhere `data`
/// is the block received.
///
/// - root: papcoll::root{r}, 0 ≤ r < size(), the same on all ranks.
///
/// iscatter() returns a Request, scatter_init() a Persistent. All other parameters, template
/// arguments, errors and complexity: as for allreduce().
///
/// Example:
///
///     std::vector<double> part(10);
///     std::vector<double> all(comm.rank() == 0 ? 10 * static_cast<std::size_t>(comm.size()) : 0);
///     papcoll::scatter(comm, all, part, papcoll::root{0});
PAPCOLL_COLLECTIVE(scatter)  // papcoll: write scatter(comm, data or in, out, papcoll::root{0})

namespace detail {

template <> struct CallOfUnknownBlocks<Collective::scatter> {
  template <class P, class... Ps, class C, class In, class... Rest>
  static ResultOf<P> make(C& comm, const In& in, const blocks& each, UnknownCounts, root from,
                          const Rest&... algorithm) {
    using T = typename P::T;
    const CallOrigin origin{core_of(comm), Collective::scatter, false, true};
    check_root(origin, from);
    const bool is_root = origin.rank() == from.rank;
    std::vector<std::size_t> lengths;
    if (is_root) {
      lengths =
          checked_lengths(origin, each, std::ranges::size(in), sizeof(T), std::ranges::data(in));
    }
    std::size_t own = 0;
    scatter(comm, static_cast<const std::size_t*>(lengths.data()), &own, 1, from);
    auto part = room_for<T>(origin, own);
    // Where they are not looked at, they need not be right.
    const blocks mine = is_root ? each : blocks{counts{}};
    call_irregular<Collective::scatter, Ps...>(comm, in, part, mine, from, algorithm...);
    return part;
  }
};

}  // namespace detail

/// Gives each rank its block of the root's elements, in rank order, where blocks differ in length.
///
///     scatterv(comm, in, out, each, root [, algorithm])    ranges, or pointers
///     scatterv(comm, data, each, root [, algorithm])       in place
///     part = scatterv(comm, in, each, papcoll::unknown_counts, root [, algorithm])     blocking
///
/// - each: the length of every rank's block: papcoll::counts{lengths} for blocks one after the
///   other in rank order, or papcoll::blocks{lengths, displacements}, in elements. Needed on the
///   root; elsewhere it may be papcoll::counts{}, except for schedules that pass blocks on (all but
///   Linear and BlockCopies).
///
/// `out` is as long as this rank's block. Elsewhere than on the root `in` is ignored. With
/// pointers, a buffer ends where its blocks do, so every rank passes counts; the pointer that only
/// the root needs may be null elsewhere. In place, the root's `data` has all blocks and is not
/// modified; elsewhere `data` is the block received. With unknown_counts, the root sends each rank
/// the length of its block first, and the call returns the block as a std::vector; elsewhere than
/// on the root `in` and `each` may be empty. Schedules that pass blocks on do not serve this form.
///
/// Buffers are contiguous. iscatterv() and scatterv_init() copy lengths and displacements. All else
/// is as for scatter().
///
/// Example:
///
///     const bool is_root = comm.rank() == 0;
///     const std::vector<int> each(is_root ? static_cast<std::size_t>(comm.size()) : 0, 3);
///     const std::vector<double> all(3 * each.size());
///     const std::vector<double> mine = papcoll::scatterv(
///         comm, all, papcoll::counts{each}, papcoll::unknown_counts, papcoll::root{0});
PAPCOLL_IRREGULAR_COLLECTIVE(scatterv, scatter)  // papcoll: (comm, in, out, counts{n}, root{0})

}  // namespace papcoll::inline PAPCOLL_ABI
