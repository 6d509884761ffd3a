#pragma once

#include <papcoll/entry/entry.hpp>
#include <papcoll/entry/wrong_call.hpp>
#include <papcoll/persistent.hpp>
#include <papcoll/request.hpp>

#include <cstddef>

namespace papcoll {
inline namespace PAPCOLL_ABI {

namespace detail {

template <class T>
Call allgather_call(const Caller& caller, const T* in, T* out, std::size_t in_count,
                    std::size_t out_count) {
  caller.require_length(out_count, of_all_ranks<T>(caller, in_count),
                        "the output must have as many elements as all ranks contribute together: "
                        "size() times the length of the input");
  Call call = call_of(caller.collective, in, out, in_count);
  check_buffers(caller, call, in_count, out_count);
  return call;
}

/// In place: this rank's contribution stands at its place in `data`.
template <class T>
Call allgather_call(const Caller& caller, T* data, std::size_t count) {
  caller.require(count % caller.ranks() == 0,
                 "the data do not divide into size() equal parts, one of each rank");
  const std::size_t each = count / caller.ranks();
  caller.require_few_bytes(each, sizeof(T));
  Call call = call_of<T>(caller.collective, data, data, each);
  check_buffers(caller, call, 0, count);
  call.in += static_cast<std::size_t>(caller.rank()) * call.bytes();
  call.input_in_output = true;
  return call;
}

template <class... Ps, class C, class... Buffers>
void run_allgather(C&& comm, const Algorithm& algorithm, Buffers... buffers) {
  const Caller caller{core_of(comm), Collective::allgather};
  Call call = allgather_call(caller, buffers...);
  run<Allgather, true, Ps...>(caller, call, algorithm);
}

template <class... Ps, class C, class... Buffers>
Request start_allgather(C&& comm, const Algorithm& algorithm, Buffers... buffers) {
  const Caller caller{core_of(comm), Collective::allgather, true};
  Call call = allgather_call(caller, buffers...);
  return start<Allgather, true, Ps...>(caller, call, algorithm, nullptr);
}

template <class... Ps, class C, class... Buffers>
Persistent prepare_allgather(C&& comm, const Algorithm& algorithm, Buffers... buffers) {
  const Caller caller{core_of(comm), Collective::allgather};
  Call call = allgather_call(caller, buffers...);
  return prepare<Allgather, true, Ps...>(caller, call, algorithm, nullptr);
}

}  // namespace detail

/// Gives every rank the contributions of all, in rank order: `out` has size() times as many
/// elements as `in`. Policies and errors as in allreduce.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
void allgather(C&& comm, const In& in, Out&& out, const Algorithm& algorithm = {}) {
  detail::run_allgather<Ps...>(comm, algorithm, std::ranges::data(in),
                               detail::data_out<element_of<In>, Out>(out), std::ranges::size(in),
                               std::ranges::size(out));
}

/// In place: rank r's contribution is part r of size() equal parts of `data`.
template <class... Ps, Team C, ContiguousRange R>
void allgather(C&& comm, R&& data, const Algorithm& algorithm = {}) {
  detail::run_allgather<Ps...>(comm, algorithm, detail::data_in_place<R>(data),
                               std::ranges::size(data));
}

/// Pointer and count: each rank contributes `count` elements.
template <class... Ps, Team C, class T, std::integral N>
void allgather(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
               const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::allgather};
  const std::size_t n = detail::checked_block<T>(caller, count);
  detail::run_allgather<Ps...>(comm, algorithm, in, out, n, n * caller.ranks());
}

/// Pointer and count, in place: `data` has size() times `count` elements.
template <class... Ps, Team C, class T, std::integral N>
void allgather(C&& comm, T* data, N count, const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::allgather};
  const std::size_t n = detail::checked_block<T>(caller, count);
  detail::run_allgather<Ps...>(comm, algorithm, data, n * caller.ranks());
}

/// Non-blocking. Runs a static schedule; see Request.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
[[nodiscard]] Request iallgather(C&& comm, const In& in, Out&& out,
                                 const Algorithm& algorithm = {}) {
  return detail::start_allgather<Ps...>(comm, algorithm, std::ranges::data(in),
                                        detail::data_out<element_of<In>, Out>(out),
                                        std::ranges::size(in), std::ranges::size(out));
}

/// Non-blocking, in place.
template <class... Ps, Team C, ContiguousRange R>
[[nodiscard]] Request iallgather(C&& comm, R&& data, const Algorithm& algorithm = {}) {
  return detail::start_allgather<Ps...>(comm, algorithm, detail::data_in_place<R>(data),
                                        std::ranges::size(data));
}

/// Non-blocking, pointer and count.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Request iallgather(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
                                 const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::allgather, true};
  const std::size_t n = detail::checked_block<T>(caller, count);
  return detail::start_allgather<Ps...>(comm, algorithm, in, out, n, n * caller.ranks());
}

/// Non-blocking, pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Request iallgather(C&& comm, T* data, N count, const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::allgather, true};
  const std::size_t n = detail::checked_block<T>(caller, count);
  return detail::start_allgather<Ps...>(comm, algorithm, data, n * caller.ranks());
}

/// Persistent; see there.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
[[nodiscard]] Persistent allgather_init(C&& comm, const In& in, Out&& out,
                                        const Algorithm& algorithm = {}) {
  return detail::prepare_allgather<Ps...>(comm, algorithm, std::ranges::data(in),
                                          detail::data_out<element_of<In>, Out>(out),
                                          std::ranges::size(in), std::ranges::size(out));
}

/// Persistent, in place.
template <class... Ps, Team C, ContiguousRange R>
[[nodiscard]] Persistent allgather_init(C&& comm, R&& data, const Algorithm& algorithm = {}) {
  return detail::prepare_allgather<Ps...>(comm, algorithm, detail::data_in_place<R>(data),
                                          std::ranges::size(data));
}

/// Persistent, pointer and count.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Persistent allgather_init(C&& comm, const T* in, std::type_identity_t<T>* out,
                                        N count, const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::allgather};
  const std::size_t n = detail::checked_block<T>(caller, count);
  return detail::prepare_allgather<Ps...>(comm, algorithm, in, out, n, n * caller.ranks());
}

/// Persistent, pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Persistent allgather_init(C&& comm, T* data, N count,
                                        const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::allgather};
  const std::size_t n = detail::checked_block<T>(caller, count);
  return detail::prepare_allgather<Ps...>(comm, algorithm, data, n * caller.ranks());
}

PAPCOLL_WRONG_CALL(detail::NoResult, allgather,
                   ", in, out [, algorithm]) or allgather(comm, data [, algorithm]")
PAPCOLL_WRONG_CALL(Request, iallgather,
                   ", in, out [, algorithm]) or iallgather(comm, data [, algorithm]")
PAPCOLL_WRONG_CALL(Persistent, allgather_init,
                   ", in, out [, algorithm]) or allgather_init(comm, data [, algorithm]")

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
