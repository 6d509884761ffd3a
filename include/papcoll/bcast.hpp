#pragma once

#include <papcoll/entry/entry.hpp>
#include <papcoll/entry/passed.hpp>
#include <papcoll/entry/wrong_call.hpp>
#include <papcoll/persistent.hpp>
#include <papcoll/request.hpp>

#include <cstddef>

namespace papcoll {
inline namespace PAPCOLL_ABI {

namespace detail {

template <class T>
Call bcast_call(const Caller& caller, Passed<T> b, root from) {
  count_elements(caller, b, from.rank);
  caller.require_few_bytes(b.in_count, sizeof(T));
  Call call = call_of(caller.collective, b.in, b.out, b.in_count);
  check_root(caller, from);
  call.root = from.rank;
  check_buffers(caller, call, b, b.in_count, b.in_count);
  return call;
}

template <class... Ps, class C, class T>
void run_bcast(C&& comm, Passed<T> b, root from, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::bcast};
  Call call = bcast_call(caller, b, from);
  run<Bcast, true, Ps...>(caller, call, algorithm);
}

template <class... Ps, class C, class T>
Request start_bcast(C&& comm, Passed<T> b, root from, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::bcast, true};
  Call call = bcast_call(caller, b, from);
  return start<Bcast, true, Ps...>(caller, call, algorithm, nullptr);
}

template <class... Ps, class C, class T>
Persistent prepare_bcast(C&& comm, Passed<T> b, root from, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::bcast};
  Call call = bcast_call(caller, b, from);
  return prepare<Bcast, true, Ps...>(caller, call, algorithm, nullptr);
}

}  // namespace detail

/// Gives every rank the root's elements. `data` has the same length on all ranks; the root's is
/// unchanged. Policies and errors as in allreduce.
template <class... Ps, Team C, Buffer R>
void bcast(C&& comm, R&& data, root from, const Algorithm& algorithm = {}) {
  detail::run_bcast<Ps...>(comm, detail::passed<R>(data), from, algorithm);
}

/// Pointer and count.
template <class... Ps, Team C, class T, std::integral N>
void bcast(C&& comm, T* data, N count, root from, const Algorithm& algorithm = {}) {
  const std::size_t n = detail::checked_count({detail::core_of(comm), Collective::bcast}, count);
  detail::run_bcast<Ps...>(comm, detail::passed(data, n), from, algorithm);
}

/// One element by value: returns the root's.
template <class... Ps, Team C, Element T>
[[nodiscard]] T bcast(C&& comm, T value, root from, const Algorithm& algorithm = {}) {
  detail::run_bcast<Ps...>(comm, detail::passed(&value, 1), from, algorithm);
  return value;
}

/// Non-blocking. Runs a static schedule; see Request.
template <class... Ps, Team C, Buffer R>
[[nodiscard]] Request ibcast(C&& comm, R&& data, root from, const Algorithm& algorithm = {}) {
  return detail::start_bcast<Ps...>(comm, detail::passed<R>(data), from, algorithm);
}

/// Non-blocking, pointer and count.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Request ibcast(C&& comm, T* data, N count, root from,
                             const Algorithm& algorithm = {}) {
  const std::size_t n =
      detail::checked_count({detail::core_of(comm), Collective::bcast, true}, count);
  return detail::start_bcast<Ps...>(comm, detail::passed(data, n), from, algorithm);
}

/// Persistent; see there.
template <class... Ps, Team C, Buffer R>
[[nodiscard]] Persistent bcast_init(C&& comm, R&& data, root from,
                                    const Algorithm& algorithm = {}) {
  return detail::prepare_bcast<Ps...>(comm, detail::passed<R>(data), from, algorithm);
}

/// Persistent, pointer and count.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Persistent bcast_init(C&& comm, T* data, N count, root from,
                                    const Algorithm& algorithm = {}) {
  const std::size_t n = detail::checked_count({detail::core_of(comm), Collective::bcast}, count);
  return detail::prepare_bcast<Ps...>(comm, detail::passed(data, n), from, algorithm);
}

PAPCOLL_WRONG_CALL(detail::NoResult, bcast, ", data, papcoll::root{0} [, algorithm]")
PAPCOLL_WRONG_CALL(Request, ibcast, ", data, papcoll::root{0} [, algorithm]")
PAPCOLL_WRONG_CALL(Persistent, bcast_init, ", data, papcoll::root{0} [, algorithm]")

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
