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
Call alltoall_call(const Caller& caller, const T* in, T* out, std::size_t in_count,
                   std::size_t out_count) {
  caller.require(in_count % caller.ranks() == 0,
                 "the input does not divide into size() equal blocks, one for each rank");
  caller.require_length(out_count, in_count,
                        "input and output differ in length: an alltoall gives and takes a block "
                        "for each rank, all of the same length");
  // Schedules count the blocks of all pairs of ranks.
  caller.require_few_bytes(in_count, sizeof(T));
  Call call = call_of(caller.collective, in, out, in_count / caller.ranks());
  check_buffers(caller, call, in_count, out_count);
  return call;
}

template <class... Ps, class C, class T>
void run_alltoall(C&& comm, const T* in, T* out, std::size_t in_count, std::size_t out_count,
                  const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::alltoall};
  Call call = alltoall_call(caller, in, out, in_count, out_count);
  run<Alltoall, true, Ps...>(caller, call, algorithm);
}

template <class... Ps, class C, class T>
Request start_alltoall(C&& comm, const T* in, T* out, std::size_t in_count, std::size_t out_count,
                       const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::alltoall, true};
  Call call = alltoall_call(caller, in, out, in_count, out_count);
  return start<Alltoall, true, Ps...>(caller, call, algorithm, nullptr);
}

template <class... Ps, class C, class T>
Persistent prepare_alltoall(C&& comm, const T* in, T* out, std::size_t in_count,
                            std::size_t out_count, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::alltoall};
  Call call = alltoall_call(caller, in, out, in_count, out_count);
  return prepare<Alltoall, true, Ps...>(caller, call, algorithm, nullptr);
}

}  // namespace detail

/// Gives every rank a block of each rank: `in` has size() blocks, block r for rank r; `out` has as
/// many, block r from rank r. Policies and errors as in allreduce.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
void alltoall(C&& comm, const In& in, Out&& out, const Algorithm& algorithm = {}) {
  detail::run_alltoall<Ps...>(comm, std::ranges::data(in),
                              detail::data_out<element_of<In>, Out>(out), std::ranges::size(in),
                              std::ranges::size(out), algorithm);
}

/// In place: block r of `data` goes to rank r, and what came from rank r stands there afterwards.
template <class... Ps, Team C, ContiguousRange R>
void alltoall(C&& comm, R&& data, const Algorithm& algorithm = {}) {
  auto* const p = detail::data_in_place<R>(data);
  const std::size_t n = std::ranges::size(data);
  detail::run_alltoall<Ps...>(comm, p, p, n, n, algorithm);
}

/// Pointer and count: `count` elements for each rank.
template <class... Ps, Team C, class T, std::integral N>
void alltoall(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
              const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::alltoall};
  const std::size_t n = detail::checked_block<T>(caller, count) * caller.ranks();
  detail::run_alltoall<Ps...>(comm, in, out, n, n, algorithm);
}

/// Pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N>
void alltoall(C&& comm, T* data, N count, const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::alltoall};
  const std::size_t n = detail::checked_block<T>(caller, count) * caller.ranks();
  detail::run_alltoall<Ps...>(comm, data, data, n, n, algorithm);
}

/// Non-blocking; see Request.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
[[nodiscard]] Request ialltoall(C&& comm, const In& in, Out&& out,
                                const Algorithm& algorithm = {}) {
  return detail::start_alltoall<Ps...>(comm, std::ranges::data(in),
                                       detail::data_out<element_of<In>, Out>(out),
                                       std::ranges::size(in), std::ranges::size(out), algorithm);
}

/// Non-blocking, in place.
template <class... Ps, Team C, ContiguousRange R>
[[nodiscard]] Request ialltoall(C&& comm, R&& data, const Algorithm& algorithm = {}) {
  auto* const p = detail::data_in_place<R>(data);
  const std::size_t n = std::ranges::size(data);
  return detail::start_alltoall<Ps...>(comm, p, p, n, n, algorithm);
}

/// Non-blocking, pointer and count.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Request ialltoall(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
                                const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::alltoall, true};
  const std::size_t n = detail::checked_block<T>(caller, count) * caller.ranks();
  return detail::start_alltoall<Ps...>(comm, in, out, n, n, algorithm);
}

/// Non-blocking, pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Request ialltoall(C&& comm, T* data, N count, const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::alltoall, true};
  const std::size_t n = detail::checked_block<T>(caller, count) * caller.ranks();
  return detail::start_alltoall<Ps...>(comm, data, data, n, n, algorithm);
}

/// Persistent; see there.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
[[nodiscard]] Persistent alltoall_init(C&& comm, const In& in, Out&& out,
                                       const Algorithm& algorithm = {}) {
  return detail::prepare_alltoall<Ps...>(comm, std::ranges::data(in),
                                         detail::data_out<element_of<In>, Out>(out),
                                         std::ranges::size(in), std::ranges::size(out), algorithm);
}

/// Persistent, in place.
template <class... Ps, Team C, ContiguousRange R>
[[nodiscard]] Persistent alltoall_init(C&& comm, R&& data, const Algorithm& algorithm = {}) {
  auto* const p = detail::data_in_place<R>(data);
  const std::size_t n = std::ranges::size(data);
  return detail::prepare_alltoall<Ps...>(comm, p, p, n, n, algorithm);
}

/// Persistent, pointer and count.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Persistent alltoall_init(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
                                       const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::alltoall};
  const std::size_t n = detail::checked_block<T>(caller, count) * caller.ranks();
  return detail::prepare_alltoall<Ps...>(comm, in, out, n, n, algorithm);
}

/// Persistent, pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Persistent alltoall_init(C&& comm, T* data, N count,
                                       const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::alltoall};
  const std::size_t n = detail::checked_block<T>(caller, count) * caller.ranks();
  return detail::prepare_alltoall<Ps...>(comm, data, data, n, n, algorithm);
}

PAPCOLL_WRONG_CALL(detail::NoResult, alltoall,
                   ", in, out [, algorithm]) or alltoall(comm, data [, algorithm]")
PAPCOLL_WRONG_CALL(Request, ialltoall,
                   ", in, out [, algorithm]) or ialltoall(comm, data [, algorithm]")
PAPCOLL_WRONG_CALL(Persistent, alltoall_init,
                   ", in, out [, algorithm]) or alltoall_init(comm, data [, algorithm]")

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
