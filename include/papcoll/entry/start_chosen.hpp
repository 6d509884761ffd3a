#pragma once

#include <papcoll/entry/run_chosen.hpp>
#include <papcoll/impl/request.ipp>
#include <papcoll/request.hpp>

#include <memory>
#include <utility>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

template <Collective C>
Request start_chosen(const Caller& caller, const AlgorithmSpec& spec, Call& call,
                     std::shared_ptr<const void> owned) {
  const ChosenAlgorithm<C> chosen{caller, spec, call};
  return start_checked(caller, chosen.spec, chosen.transport, call, std::move(owned));
}

#define PAPCOLL_ONCE_FOR(c)                                                                     \
  PAPCOLL_COMPILE_ONCE(Request start_chosen<Collective::c>(const Caller&, const AlgorithmSpec&, \
                                                           Call&, std::shared_ptr<const void>))
PAPCOLL_FOR_EACH_COLLECTIVE(PAPCOLL_ONCE_FOR)
#undef PAPCOLL_ONCE_FOR

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
