#pragma once

#include <papcoll/call/make.hpp>

#include <cstddef>
#include <iterator>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Gives each rank its part of the root's elements.
///
///     scatter(comm, in, out, root [, algorithm])
///     scatter(comm, data, root [, algorithm])              in place
///     scatter(comm, in, out, count, root [, algorithm])    pointers; `count` for each rank
///     scatter(comm, data, count, root [, algorithm])
///
/// On the root `in` has size() times as many elements as `out`; elsewhere it is not looked at, and
/// may be a null pointer. In place, the root's `data` has all parts and is unchanged; elsewhere
/// `data` is the part received.
///
/// root: papcoll::root{r}, the same on all ranks. All else, iscatter(), scatter_init() and errors
/// are as for allreduce().
///
///     papcoll::scatter(comm, all, part, papcoll::root{0});
PAPCOLL_COLLECTIVE(scatter)  // papcoll: write scatter(comm, data or in, out, papcoll::root{0})

namespace detail {

template <>
struct CallOfUnknownBlocks<Collective::scatter> {
  template <class P, class... Ps, class C, class In, class... Rest>
  static ResultOf<P> make(C& comm, const In& in, const blocks& each, UnknownCounts, root from,
                          const Rest&... algorithm) {
    using T = typename P::T;
    const Caller caller{core_of(comm), Collective::scatter, false, true};
    check_root(caller, from);
    const bool is_root = caller.rank() == from.rank;
    std::vector<std::size_t> lengths;
    if (is_root) {
      lengths =
          checked_lengths(caller, each, std::ranges::size(in), sizeof(T), std::ranges::data(in));
    }
    std::size_t own = 0;
    scatter(comm, static_cast<const std::size_t*>(lengths.data()), &own, 1, from);
    auto part = room_for<T>(caller, own);
    // Where they are not looked at, they need not be right.
    const blocks mine = is_root ? each : blocks{counts{}};
    call_uneven<Collective::scatter, Ps...>(comm, in, part, mine, from, algorithm...);
    return part;
  }
};

}  // namespace detail

/// Gives each rank its part of the root's elements, where parts differ in length.
///
///     scatterv(comm, in, out, each, root [, algorithm])    ranges, or pointers
///     scatterv(comm, data, each, root [, algorithm])       in place
///     part = scatterv(comm, in, each, papcoll::unknown_counts, root [, algorithm])     blocking
///
/// `each` says for every rank how long its part is: papcoll::counts{lengths}, one after the other
/// in rank order, or papcoll::blocks{lengths, displacements}, in elements. Elsewhere than on the
/// root `each` may be papcoll::counts{}, but for schedules that pass parts on (all but Linear and
/// BlockCopies), and `in` is not looked at. `out` is as long as the part. A pointer's buffer ends
/// where its blocks do, so that all ranks pass counts; the one that only the root needs may be null
/// elsewhere. In place, the root's `data` has all parts and is unchanged; elsewhere it is the part
/// received. With unknown_counts, the root tells the others first how long theirs are, and the call
/// returns this rank's part as a std::vector; elsewhere `in` and `each` may be empty. Not by
/// schedules that pass parts on.
///
/// Buffers are contiguous. All else, iscatterv(), scatterv_init() and errors are as for scatter().
/// A call that is not blocking copies lengths and displacements.
///
///     papcoll::scatterv(comm, all, mine, papcoll::counts{each}, papcoll::root{0});
PAPCOLL_UNEVEN_COLLECTIVE(scatterv, scatter)  // papcoll: (comm, in, out, counts{n}, root{0})

}  // namespace papcoll::inline PAPCOLL_ABI
