#pragma once

#include <papcoll/entry/entry.hpp>
#include <papcoll/entry/wrong_call.hpp>
#include <papcoll/persistent.hpp>
#include <papcoll/request.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// Returns when all ranks have called it. Policies and errors as in allreduce.
template <class... Ps, Team C>
void barrier(C&& comm, const Algorithm& algorithm = {}) {
  std::byte token{};
  Call call = detail::barrier_call(&token);
  detail::run<Barrier, true, Ps...>({detail::core_of(comm), Collective::barrier}, call, algorithm);
}

/// Non-blocking: complete when all ranks have started it. Runs a static schedule; see Request.
template <class... Ps, Team C>
[[nodiscard]] Request ibarrier(C&& comm, const Algorithm& algorithm = {}) {
  auto token = std::make_shared<std::byte>();
  Call call = detail::barrier_call(token.get());
  return detail::start<Barrier, true, Ps...>({detail::core_of(comm), Collective::barrier, true},
                                             call, algorithm, std::move(token));
}

/// Persistent; see there.
template <class... Ps, Team C>
[[nodiscard]] Persistent barrier_init(C&& comm, const Algorithm& algorithm = {}) {
  auto token = std::make_shared<std::byte>();
  Call call = detail::barrier_call(token.get());
  return detail::prepare<Barrier, true, Ps...>({detail::core_of(comm), Collective::barrier}, call,
                                               algorithm, std::move(token));
}

PAPCOLL_WRONG_CALL(detail::NoResult, barrier, " [, algorithm]")
PAPCOLL_WRONG_CALL(Request, ibarrier, " [, algorithm]")
PAPCOLL_WRONG_CALL(Persistent, barrier_init, " [, algorithm]")

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
