#pragma once

#include <papcoll/base/collective.hpp>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

template <Collective... Cs>
struct CollectiveList {};

using AllCollectives = CollectiveList<Collective::allreduce, Collective::reduce, Collective::bcast,
                                      Collective::allgather, Collective::reduce_scatter,
                                      Collective::gather, Collective::scatter, Collective::barrier,
                                      Collective::alltoall, Collective::scan>;

/// Calls f.operator()<C>() for the collective of the list that `c` is: compiles f for those only.
template <Collective... Cs, class F>
void with_collective(CollectiveList<Cs...>, Collective c, F&& f) {
  static_cast<void>(((Cs == c ? (f.template operator()<Cs>(), true) : false) || ...));
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
