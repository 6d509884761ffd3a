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
Call allgather_call(const Caller& caller, Passed<T> b) {
  count_elements(caller, b);
  caller.require_length(b.out_count, of_all_ranks<T>(caller, b.in_count),
                        "the output must have as many elements as all ranks contribute together: "
                        "size() times the length of the input");
  Call call = call_of(caller.collective, b.in, b.out, b.in_count);
  check_buffers(caller, call, b, b.in_count, b.out_count);
  return call;
}

/// In place: this rank's contribution stands at its place in `data`.
template <class T>
Call allgather_call(const Caller& caller, Passed<T> b, InPlace) {
  count_elements(caller, b);
  caller.require(b.in_count % caller.ranks() == 0,
                 "the data do not divide into size() equal parts, one of each rank");
  const std::size_t each = b.in_count / caller.ranks();
  caller.require_few_bytes(each, sizeof(T));
  Call call = call_of(caller.collective, b.in, b.out, each);
  check_buffers(caller, call, b, 0, b.in_count);
  begin_with_own_block(call, caller.rank());
  return call;
}

template <class... Ps, class C, class... Buffers>
void run_allgather(C&& comm, const Algorithm& algorithm, const Buffers&... buffers) {
  const Caller caller{core_of(comm), Collective::allgather};
  Call call = allgather_call(caller, buffers...);
  run<Allgather, true, Ps...>(caller, call, algorithm);
}

template <class... Ps, class C, class... Buffers>
Request start_allgather(C&& comm, const Algorithm& algorithm, const Buffers&... buffers) {
  const Caller caller{core_of(comm), Collective::allgather, true};
  Call call = allgather_call(caller, buffers...);
  return start<Allgather, true, Ps...>(caller, call, algorithm, nullptr);
}

template <class... Ps, class C, class... Buffers>
Persistent prepare_allgather(C&& comm, const Algorithm& algorithm, const Buffers&... buffers) {
  const Caller caller{core_of(comm), Collective::allgather};
  Call call = allgather_call(caller, buffers...);
  return prepare<Allgather, true, Ps...>(caller, call, algorithm, nullptr);
}

}  // namespace detail

/// Gives every rank the contributions of all, in rank order: `out` has size() times as many
/// elements as `in`. Policies and errors as in allreduce.
template <class... Ps, Team C, Buffer In, Buffer Out>
void allgather(C&& comm, const In& in, Out&& out, const Algorithm& algorithm = {}) {
  detail::run_allgather<Ps...>(comm, algorithm, detail::passed<In, Out>(in, out));
}

/// In place: rank r's contribution is part r of size() equal parts of `data`.
template <class... Ps, Team C, Buffer R>
void allgather(C&& comm, R&& data, const Algorithm& algorithm = {}) {
  detail::run_allgather<Ps...>(comm, algorithm, detail::passed<R>(data), detail::InPlace{});
}

/// Pointer and count: each rank contributes `count` elements.
template <class... Ps, Team C, class T, std::integral N>
void allgather(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
               const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::allgather};
  const std::size_t n = detail::checked_block<T>(caller, count);
  detail::run_allgather<Ps...>(comm, algorithm, detail::Passed<T>{in, out, n, n * caller.ranks()});
}

/// Pointer and count, in place: `data` has size() times `count` elements.
template <class... Ps, Team C, class T, std::integral N>
void allgather(C&& comm, T* data, N count, const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::allgather};
  const std::size_t n = detail::checked_block<T>(caller, count);
  detail::run_allgather<Ps...>(comm, algorithm, detail::passed(data, n * caller.ranks()),
                               detail::InPlace{});
}

/// Non-blocking. Runs a static schedule; see Request.
template <class... Ps, Team C, Buffer In, Buffer Out>
[[nodiscard]] Request iallgather(C&& comm, In&& in, Out&& out, const Algorithm& algorithm = {}) {
  return detail::start_allgather<Ps...>(comm, algorithm, detail::passed_to_keep<In, Out>(in, out));
}

/// Non-blocking, in place.
template <class... Ps, Team C, Buffer R>
[[nodiscard]] Request iallgather(C&& comm, R&& data, const Algorithm& algorithm = {}) {
  return detail::start_allgather<Ps...>(comm, algorithm, detail::passed<R>(data),
                                        detail::InPlace{});
}

/// Non-blocking, pointer and count.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Request iallgather(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
                                 const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::allgather, true};
  const std::size_t n = detail::checked_block<T>(caller, count);
  return detail::start_allgather<Ps...>(comm, algorithm,
                                        detail::Passed<T>{in, out, n, n * caller.ranks()});
}

/// Non-blocking, pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Request iallgather(C&& comm, T* data, N count, const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::allgather, true};
  const std::size_t n = detail::checked_block<T>(caller, count);
  return detail::start_allgather<Ps...>(comm, algorithm, detail::passed(data, n * caller.ranks()),
                                        detail::InPlace{});
}

/// Persistent; see there.
template <class... Ps, Team C, Buffer In, Buffer Out>
[[nodiscard]] Persistent allgather_init(C&& comm, In&& in, Out&& out,
                                        const Algorithm& algorithm = {}) {
  return detail::prepare_allgather<Ps...>(comm, algorithm,
                                          detail::passed_to_keep<In, Out>(in, out));
}

/// Persistent, in place.
template <class... Ps, Team C, Buffer R>
[[nodiscard]] Persistent allgather_init(C&& comm, R&& data, const Algorithm& algorithm = {}) {
  return detail::prepare_allgather<Ps...>(comm, algorithm, detail::passed<R>(data),
                                          detail::InPlace{});
}

/// Persistent, pointer and count.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Persistent allgather_init(C&& comm, const T* in, std::type_identity_t<T>* out,
                                        N count, const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::allgather};
  const std::size_t n = detail::checked_block<T>(caller, count);
  return detail::prepare_allgather<Ps...>(comm, algorithm,
                                          detail::Passed<T>{in, out, n, n * caller.ranks()});
}

/// Persistent, pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Persistent allgather_init(C&& comm, T* data, N count,
                                        const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::allgather};
  const std::size_t n = detail::checked_block<T>(caller, count);
  return detail::prepare_allgather<Ps...>(comm, algorithm, detail::passed(data, n * caller.ranks()),
                                          detail::InPlace{});
}

PAPCOLL_WRONG_CALL(detail::NoResult, allgather,
                   ", in, out [, algorithm]) or allgather(comm, data [, algorithm]")
PAPCOLL_WRONG_CALL(Request, iallgather,
                   ", in, out [, algorithm]) or iallgather(comm, data [, algorithm]")
PAPCOLL_WRONG_CALL(Persistent, allgather_init,
                   ", in, out [, algorithm]) or allgather_init(comm, data [, algorithm]")

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
