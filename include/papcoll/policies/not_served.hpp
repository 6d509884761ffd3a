#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/base/joined.hpp>
#include <papcoll/config.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// Schedules that serve a collective among any number of ranks, on any transport.
constexpr std::array<std::string_view, 2> schedules_for(Collective c) noexcept {
  constexpr std::array<std::array<std::string_view, 2>, collective_count> of{{
      {"Rabenseifner", "RecursiveDoubling"},  // allreduce
      {"Binomial", "ReduceScatterGather"},    // reduce
      {"Binomial", "ScatterAllgather"},       // bcast
      {"Ring", "Bruck"},                      // allgather
      {"RecursiveHalving", "Linear"},         // reduce_scatter
      {"Binomial", "Linear"},                 // gather
      {"Binomial", "Linear"},                 // scatter
      {"Dissemination", "Linear"},            // barrier
      {"Pairwise", "Bruck"},                  // alltoall
      {"RecursiveDoubling", "Linear"},        // scan
  }};
  return of[static_cast<std::size_t>(c)];
}

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
  const auto others = schedules_for(wanted);
  return detail::joined({text, ": take ", others[0], " or ", others[1]});
}

}  // namespace detail

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
