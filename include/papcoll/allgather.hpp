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
/// `out` has size() times as many elements as `in`. In place, rank r's contribution is part r of
/// size() equal parts of `data`. All else, iallgather(), allgather_init() and errors are as for
/// allreduce().
///
///     std::vector<int> ranks(static_cast<std::size_t>(comm.size()));
///     papcoll::allgather(comm, std::array{comm.rank()}, ranks);
PAPCOLL_COLLECTIVE(allgather)  // papcoll: write allgather(comm, in, out) or allgather(comm, data)

namespace detail {

template <>
struct CallOfUnknownBlocks<Collective::allgather> {
  template <class P, class... Ps, class C, class In, class... Rest>
  static ResultOf<P> make(C& comm, const In& in, const Rest&... algorithm) {
    const Caller caller{core_of(comm), Collective::allgather, false, true};
    const std::size_t n = std::ranges::size(in);
    caller.require_few_bytes(n, sizeof(typename P::T));
    check_pointers(caller, std::ranges::data(in), n, nullptr, 0);
    std::vector<std::size_t> lengths(caller.ranks());
    allgather(comm, &n, lengths.data(), 1);
    auto all = room_for<typename P::T>(caller, sum_of(lengths));
    call_uneven<Collective::allgather, Ps...>(comm, in, all, counts{lengths}, algorithm...);
    return all;
  }
};

}  // namespace detail

/// Gives every rank the contributions of all, where these differ in length.
///
///     allgatherv(comm, in, out, each [, algorithm])     ranges, or pointers
///     allgatherv(comm, data, each [, algorithm])        in place
///     all = allgatherv(comm, in [, algorithm])          ranks do not know lengths; blocking
///
/// `each` says for every rank how long its contribution is: papcoll::counts{lengths}, one after the
/// other in rank order, or papcoll::blocks{lengths, displacements}, in elements; nothing is written
/// between them. Lengths are the same on all ranks. A pointer's buffer ends where its blocks do. In
/// place, each rank's contribution stands at its place in `data`. Without `each`, the ranks tell
/// each other first how long their contributions are, and the call returns all, in rank order, as a
/// std::vector.
///
/// Buffers are contiguous. All else, iallgatherv(), allgatherv_init() and errors are as for
/// allreduce(). A call that is not blocking copies lengths and displacements.
///
///     const std::vector<int> all = papcoll::allgatherv(comm, mine);
PAPCOLL_UNEVEN_COLLECTIVE(allgatherv, allgather)  // papcoll: (comm, in, out, counts{n})

}  // namespace papcoll::inline PAPCOLL_ABI
