#pragma once

#include <papcoll/call/make.hpp>

#include <cstddef>
#include <iterator>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Gives the root the contributions of all, in rank order.
///
///     gather(comm, in, out, root [, algorithm])
///     gather(comm, data, root [, algorithm])              in place
///     gather(comm, in, out, count, root [, algorithm])    pointers; `count` elements of each rank
///     gather(comm, data, count, root [, algorithm])
///
/// On the root `out` has size() times as many elements as `in`; elsewhere it is not looked at, and
/// may be a null pointer. In place, the root's own contribution stands at its place in `data`,
/// which has all; elsewhere `data` is the contribution.
///
/// root: papcoll::root{r}, the same on all ranks. All else, igather(), gather_init() and errors are
/// as for allreduce().
///
///     papcoll::gather(comm, part, all, papcoll::root{0});
PAPCOLL_COLLECTIVE(gather)  // papcoll: write gather(comm, data or in, out, papcoll::root{0})

namespace detail {

template <>
struct CallOfUnknownBlocks<Collective::gather> {
  template <class P, class... Ps, class C, class In, class... Rest>
  static ResultOf<P> make(C& comm, const In& in, root to, const Rest&... algorithm) {
    const Caller caller{core_of(comm), Collective::gather, false, true};
    check_root(caller, to);
    const std::size_t n = std::ranges::size(in);
    caller.require_few_bytes(n, sizeof(typename P::T));
    check_pointers(caller, std::ranges::data(in), n, nullptr, 0);
    const bool is_root = caller.rank() == to.rank;
    std::vector<std::size_t> lengths(is_root ? caller.ranks() : 0);
    gather(comm, &n, lengths.data(), 1, to);
    auto all = room_for<typename P::T>(caller, sum_of(lengths));
    const counts each = is_root ? counts{lengths} : counts{};
    call_uneven<Collective::gather, Ps...>(comm, in, all, each, to, algorithm...);
    return all;
  }
};

}  // namespace detail

/// Gives the root the contributions of all, where these differ in length.
///
///     gatherv(comm, in, out, each, root [, algorithm])     ranges, or pointers
///     gatherv(comm, data, each, root [, algorithm])        in place
///     all = gatherv(comm, in, root [, algorithm])          the root knows no lengths; blocking
///
/// `each` says for every rank how long its contribution is: papcoll::counts{lengths}, one after the
/// other in rank order, or papcoll::blocks{lengths, displacements}, in elements; nothing is written
/// between them. Elsewhere than on the root `each` may be papcoll::counts{}, but for schedules that
/// pass contributions on (all but Linear and BlockCopies), and `out` is not looked at. A pointer's
/// buffer ends where its blocks do, so that all ranks pass counts; the one that only the root needs
/// may be null elsewhere. In place, the root's contribution stands at its place in `data`;
/// elsewhere `data` is the contribution. Without `each`, the ranks tell the root first how long
/// theirs are; it gets all, in rank order, as a std::vector, and the others none. Not by schedules
/// that pass contributions on.
///
/// Buffers are contiguous. All else, igatherv(), gatherv_init() and errors are as for gather(). A
/// call that is not blocking copies lengths and displacements.
///
///     const std::vector<int> all = papcoll::gatherv(comm, mine, papcoll::root{0});
PAPCOLL_UNEVEN_COLLECTIVE(gatherv, gather)  // papcoll: (comm, in, out, counts{n}, root{0})

}  // namespace papcoll::inline PAPCOLL_ABI
