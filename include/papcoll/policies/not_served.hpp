#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/base/joined.hpp>
#include <papcoll/config.hpp>

#include <cstddef>
#include <string>

namespace papcoll {
inline namespace PAPCOLL_ABI {

namespace detail {

/// "Bruck does not serve allreduce, only allgather: take Rabenseifner or RecursiveDoubling".
/// `serves(c)` says which collectives the algorithm of that name does serve.
template <class Serves>
[[gnu::cold, gnu::noinline]] std::string not_served(const std::string& name, Collective wanted,
                                                    Serves&& serves) {
  std::string text = detail::joined({name, " does not serve ", name_of(wanted)});
  bool first = true;
  for (std::size_t i = 0; i < collective_count; ++i) {
    const auto c = static_cast<Collective>(i);
    if (!serves(c)) continue;
    text += first ? ", only " : ", ";
    text += name_of(c);
    first = false;
  }
  const auto others = traits_of(wanted).schedules;
  return detail::joined({text, ": take ", others[0], " or ", others[1]});
}

}  // namespace detail

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
