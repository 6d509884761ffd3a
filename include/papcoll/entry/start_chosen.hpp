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

PAPCOLL_COMPILE_ONCE(Request start_chosen<Collective::allreduce>(const Caller&,
                                                                 const AlgorithmSpec&, Call&,
                                                                 std::shared_ptr<const void>))
PAPCOLL_COMPILE_ONCE(Request start_chosen<Collective::reduce>(const Caller&, const AlgorithmSpec&,
                                                              Call&, std::shared_ptr<const void>))
PAPCOLL_COMPILE_ONCE(Request start_chosen<Collective::bcast>(const Caller&, const AlgorithmSpec&,
                                                             Call&, std::shared_ptr<const void>))
PAPCOLL_COMPILE_ONCE(Request start_chosen<Collective::allgather>(const Caller&,
                                                                 const AlgorithmSpec&, Call&,
                                                                 std::shared_ptr<const void>))
PAPCOLL_COMPILE_ONCE(Request start_chosen<Collective::reduce_scatter>(const Caller&,
                                                                      const AlgorithmSpec&, Call&,
                                                                      std::shared_ptr<const void>))
PAPCOLL_COMPILE_ONCE(Request start_chosen<Collective::gather>(const Caller&, const AlgorithmSpec&,
                                                              Call&, std::shared_ptr<const void>))
PAPCOLL_COMPILE_ONCE(Request start_chosen<Collective::scatter>(const Caller&, const AlgorithmSpec&,
                                                               Call&, std::shared_ptr<const void>))
PAPCOLL_COMPILE_ONCE(Request start_chosen<Collective::barrier>(const Caller&, const AlgorithmSpec&,
                                                               Call&, std::shared_ptr<const void>))
PAPCOLL_COMPILE_ONCE(Request start_chosen<Collective::alltoall>(const Caller&, const AlgorithmSpec&,
                                                                Call&, std::shared_ptr<const void>))
PAPCOLL_COMPILE_ONCE(Request start_chosen<Collective::scan>(const Caller&, const AlgorithmSpec&,
                                                            Call&, std::shared_ptr<const void>))

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
