#pragma once

#include <papcoll/entry.hpp>
#include <papcoll/request.hpp>

#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

template <class T>
Call bcast_call(TeamCore& core, T* data, std::size_t count, root from) {
  Call call = call_of<T>(Collective::bcast, data, data, count);
  check_root(core, call.collective, from.rank);
  call.root = from.rank;
  check_buffers(core, call, count, count);
  return call;
}

template <class... Ps, class C, class T>
void run_bcast(C&& comm, T* data, std::size_t count, root from, const Algorithm& algorithm) {
  TeamCore& core = core_of(comm);
  Call call = bcast_call(core, data, count, from);
  execute(core, selection_of<Bcast, false, true, Ps...>(algorithm), call,
          &choose<Collective::bcast>);
}

}  // namespace detail

/// Gives every rank the root's elements. `data` has the same length on all ranks; the root's is
/// unchanged. Policies and errors as in allreduce.
template <class... Ps, Team C, ContiguousRange R>
void bcast(C&& comm, R&& data, root from, const Algorithm& algorithm = {}) {
  static_assert(is_writable<R> && OutputRange<R&&>, PAPCOLL_NOT_WRITABLE_IN_PLACE);
  detail::run_bcast<Ps...>(comm, std::ranges::data(data), std::ranges::size(data), from, algorithm);
}

/// Pointer and count.
template <class... Ps, Team C, class T, std::integral N>
void bcast(C&& comm, T* data, N count, root from, const Algorithm& algorithm = {}) {
  const std::size_t n = detail::checked_count(detail::core_of(comm), Collective::bcast,
                                              static_cast<std::ptrdiff_t>(count));
  detail::run_bcast<Ps...>(comm, data, n, from, algorithm);
}

/// One number: returns the root's.
template <class... Ps, Team C, class T>
requires std::is_arithmetic_v<T>
[[nodiscard]] T bcast(C&& comm, T value, root from, const Algorithm& algorithm = {}) {
  detail::run_bcast<Ps...>(comm, &value, 1, from, algorithm);
  return value;
}

/// Non-blocking. Runs on the plan floor; see Request.
template <class... Ps, Team C, ContiguousRange R>
[[nodiscard]] Request ibcast(C&& comm, R&& data, root from, const Algorithm& algorithm = {}) {
  static_assert(is_writable<R> && OutputRange<R&&>, PAPCOLL_NOT_WRITABLE_IN_PLACE);
  TeamCore& core = detail::core_of(comm);
  Call call = detail::bcast_call(core, std::ranges::data(data), std::ranges::size(data), from);
  return detail::start(core, detail::selection_of<Bcast, true, true, Ps...>(algorithm), call,
                       &choose<Collective::bcast>, nullptr);
}

}  // namespace papcoll::inline PAPCOLL_ABI
