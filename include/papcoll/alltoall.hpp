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
Call alltoall_call(const Caller& caller, Passed<T> b) {
  count_elements(caller, b);
  caller.require(b.in_count % caller.ranks() == 0,
                 "the input does not divide into size() equal blocks, one for each rank");
  caller.require_length(b.out_count, b.in_count,
                        "input and output differ in length: an alltoall gives and takes a block "
                        "for each rank, all of the same length");
  // Schedules count the blocks of all pairs of ranks.
  caller.require_few_bytes(b.in_count, sizeof(T));
  Call call = call_of(caller.collective, b.in, b.out, b.in_count / caller.ranks());
  check_buffers(caller, call, b, b.in_count, b.out_count);
  return call;
}

template <class... Ps, class C, class T>
void run_alltoall(C&& comm, Passed<T> b, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::alltoall};
  Call call = alltoall_call(caller, b);
  run<Alltoall, true, Ps...>(caller, call, algorithm);
}

template <class... Ps, class C, class T>
Request start_alltoall(C&& comm, Passed<T> b, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::alltoall, true};
  Call call = alltoall_call(caller, b);
  return start<Alltoall, true, Ps...>(caller, call, algorithm, nullptr);
}

template <class... Ps, class C, class T>
Persistent prepare_alltoall(C&& comm, Passed<T> b, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::alltoall};
  Call call = alltoall_call(caller, b);
  return prepare<Alltoall, true, Ps...>(caller, call, algorithm, nullptr);
}

}  // namespace detail

/// Gives every rank a block of each rank: `in` has size() blocks, block r for rank r; `out` has as
/// many, block r from rank r. Policies and errors as in allreduce.
template <class... Ps, Team C, Buffer In, Buffer Out>
void alltoall(C&& comm, const In& in, Out&& out, const Algorithm& algorithm = {}) {
  detail::run_alltoall<Ps...>(comm, detail::passed<In, Out>(in, out), algorithm);
}

/// In place: block r of `data` goes to rank r, and what came from rank r stands there afterwards.
template <class... Ps, Team C, Buffer R>
void alltoall(C&& comm, R&& data, const Algorithm& algorithm = {}) {
  detail::run_alltoall<Ps...>(comm, detail::passed<R>(data), algorithm);
}

/// Pointer and count: `count` elements for each rank.
template <class... Ps, Team C, class T, std::integral N>
void alltoall(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
              const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::alltoall};
  const std::size_t n = detail::checked_block<T>(caller, count) * caller.ranks();
  detail::run_alltoall<Ps...>(comm, detail::Passed<T>{in, out, n, n}, algorithm);
}

/// Pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N>
void alltoall(C&& comm, T* data, N count, const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::alltoall};
  const std::size_t n = detail::checked_block<T>(caller, count) * caller.ranks();
  detail::run_alltoall<Ps...>(comm, detail::passed(data, n), algorithm);
}

/// Non-blocking; see Request.
template <class... Ps, Team C, Buffer In, Buffer Out>
[[nodiscard]] Request ialltoall(C&& comm, In&& in, Out&& out, const Algorithm& algorithm = {}) {
  return detail::start_alltoall<Ps...>(comm, detail::passed_to_keep<In, Out>(in, out), algorithm);
}

/// Non-blocking, in place.
template <class... Ps, Team C, Buffer R>
[[nodiscard]] Request ialltoall(C&& comm, R&& data, const Algorithm& algorithm = {}) {
  return detail::start_alltoall<Ps...>(comm, detail::passed<R>(data), algorithm);
}

/// Non-blocking, pointer and count.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Request ialltoall(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
                                const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::alltoall, true};
  const std::size_t n = detail::checked_block<T>(caller, count) * caller.ranks();
  return detail::start_alltoall<Ps...>(comm, detail::Passed<T>{in, out, n, n}, algorithm);
}

/// Non-blocking, pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Request ialltoall(C&& comm, T* data, N count, const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::alltoall, true};
  const std::size_t n = detail::checked_block<T>(caller, count) * caller.ranks();
  return detail::start_alltoall<Ps...>(comm, detail::passed(data, n), algorithm);
}

/// Persistent; see there.
template <class... Ps, Team C, Buffer In, Buffer Out>
[[nodiscard]] Persistent alltoall_init(C&& comm, In&& in, Out&& out,
                                       const Algorithm& algorithm = {}) {
  return detail::prepare_alltoall<Ps...>(comm, detail::passed_to_keep<In, Out>(in, out), algorithm);
}

/// Persistent, in place.
template <class... Ps, Team C, Buffer R>
[[nodiscard]] Persistent alltoall_init(C&& comm, R&& data, const Algorithm& algorithm = {}) {
  return detail::prepare_alltoall<Ps...>(comm, detail::passed<R>(data), algorithm);
}

/// Persistent, pointer and count.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Persistent alltoall_init(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
                                       const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::alltoall};
  const std::size_t n = detail::checked_block<T>(caller, count) * caller.ranks();
  return detail::prepare_alltoall<Ps...>(comm, detail::Passed<T>{in, out, n, n}, algorithm);
}

/// Persistent, pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Persistent alltoall_init(C&& comm, T* data, N count,
                                       const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::alltoall};
  const std::size_t n = detail::checked_block<T>(caller, count) * caller.ranks();
  return detail::prepare_alltoall<Ps...>(comm, detail::passed(data, n), algorithm);
}

PAPCOLL_WRONG_CALL(detail::NoResult, alltoall,
                   ", in, out [, algorithm]) or alltoall(comm, data [, algorithm]")
PAPCOLL_WRONG_CALL(Request, ialltoall,
                   ", in, out [, algorithm]) or ialltoall(comm, data [, algorithm]")
PAPCOLL_WRONG_CALL(Persistent, alltoall_init,
                   ", in, out [, algorithm]) or alltoall_init(comm, data [, algorithm]")

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
