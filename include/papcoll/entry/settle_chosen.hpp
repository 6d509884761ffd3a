#pragma once

#include <papcoll/entry/run_chosen.hpp>
#include <papcoll/impl/persistent.ipp>
#include <papcoll/persistent.hpp>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

template <Collective C>
Settled settle_chosen(const Caller& caller, const AlgorithmSpec& spec, Call& call) {
  const ChosenAlgorithm<C> chosen{caller, spec, call};
  if (chosen.spec.hierarchical != nullptr || chosen.spec.order) return {};
  if (chosen.spec.arrival == nullptr) return {nullptr, chosen.spec.schedule};
  if (chosen.transport.make_site != nullptr || chosen.is_watched) return {};
  return {chosen.spec.arrival, {}};
}

#define PAPCOLL_ONCE_FOR(c) \
  PAPCOLL_COMPILE_ONCE(     \
      Settled settle_chosen<Collective::c>(const Caller&, const AlgorithmSpec&, Call&))
PAPCOLL_FOR_EACH_COLLECTIVE(PAPCOLL_ONCE_FOR)
#undef PAPCOLL_ONCE_FOR

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
