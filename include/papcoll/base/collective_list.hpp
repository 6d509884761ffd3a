#pragma once

#include <papcoll/base/collective.hpp>

#include <cstddef>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI::detail {

template <Collective... Cs>
struct CollectiveList {};

template <std::size_t... Is>
CollectiveList<static_cast<Collective>(Is)...> list_collectives(std::index_sequence<Is...>);

using AllCollectives = decltype(list_collectives(std::make_index_sequence<collective_count>{}));

/// Calls f.operator()<C>() for the collective of the list that `c` is: compiles f for those only.
template <Collective... Cs, class F>
void with_collective(CollectiveList<Cs...>, Collective c, F&& f) {
  static_cast<void>(((Cs == c ? (f.template operator()<Cs>(), true) : false) || ...));
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
