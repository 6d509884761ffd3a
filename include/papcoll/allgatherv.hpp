#pragma once

#include <papcoll/entry/entry.hpp>
#include <papcoll/entry/wrong_call.hpp>
#include <papcoll/persistent.hpp>
#include <papcoll/request.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

namespace detail {

/// The checked call. `in` null: this rank's contribution stands at its place in the output.
template <class T>
Call allgatherv_call(const Caller& caller, const T* in, T* out, std::size_t in_count,
                     std::size_t out_count, bool in_place, const counts& each) {
  const std::span<const std::size_t> of_rank = each.of_rank;
  const std::size_t total = checked_sum<T>(caller, of_rank);
  const auto me = static_cast<std::size_t>(caller.rank());
  caller.require_length(out_count, total,
                        "the output must have as many elements as papcoll::counts adds up to");
  caller.require_length(
      in_place ? of_rank[me] : in_count, of_rank[me],
      "the input must have as many elements as papcoll::counts says of this rank");
  Call call = call_of(caller.collective, in, out, total);
  call.counts = of_rank.data();
  call.split = hash_of_counts(of_rank);
  call.schedules_only = true;
  check_buffers(caller, call, in_place ? 0 : in_count, out_count);
  if (in_place) {
    for (const std::size_t n : of_rank.first(me)) out += n;
    call.in = reinterpret_cast<const std::byte*>(out);
    call.input_in_output = true;
  }
  return call;
}

template <class... Ps, class C, class T>
void run_allgatherv(C&& comm, const T* in, T* out, std::size_t in_count, std::size_t out_count,
                    bool in_place, const counts& each, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::allgather};
  Call call = allgatherv_call(caller, in, out, in_count, out_count, in_place, each);
  run<Allgather, true, Ps...>(caller, call, algorithm);
}

template <class... Ps, class C, class T>
Request start_allgatherv(C&& comm, const T* in, T* out, std::size_t in_count, std::size_t out_count,
                         bool in_place, const counts& each, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::allgather, true};
  Call call = allgatherv_call(caller, in, out, in_count, out_count, in_place, each);
  return start<Allgather, true, Ps...>(caller, call, algorithm, nullptr);
}

template <class... Ps, class C, class T>
Persistent prepare_allgatherv(C&& comm, const T* in, T* out, std::size_t in_count,
                              std::size_t out_count, bool in_place, const counts& each,
                              const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::allgather};
  Call call = allgatherv_call(caller, in, out, in_count, out_count, in_place, each);
  return prepare<Allgather, true, Ps...>(caller, call, algorithm, nullptr);
}

}  // namespace detail

/// Gives every rank the contributions of all, in rank order, where these differ in length: rank r
/// contributes each.of_rank[r] elements, and `out` has as many as all of them together. Runs a
/// static schedule. Policies and errors as in allreduce.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
void allgatherv(C&& comm, const In& in, Out&& out, const counts& each,
                const Algorithm& algorithm = {}) {
  detail::run_allgatherv<Ps...>(comm, std::ranges::data(in),
                                detail::data_out<element_of<In>, Out>(out), std::ranges::size(in),
                                std::ranges::size(out), false, each, algorithm);
}

/// In place: each rank's contribution stands at its place in `data`.
template <class... Ps, Team C, ContiguousRange R>
void allgatherv(C&& comm, R&& data, const counts& each, const Algorithm& algorithm = {}) {
  auto* const p = detail::data_in_place<R>(data);
  const std::size_t n = std::ranges::size(data);
  detail::run_allgatherv<Ps...>(comm, p, p, 0, n, true, each, algorithm);
}

/// Non-blocking; the counts may be gone when the call returns. See Request.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
[[nodiscard]] Request iallgatherv(C&& comm, const In& in, Out&& out, const counts& each,
                                  const Algorithm& algorithm = {}) {
  return detail::start_allgatherv<Ps...>(
      comm, std::ranges::data(in), detail::data_out<element_of<In>, Out>(out),
      std::ranges::size(in), std::ranges::size(out), false, each, algorithm);
}

/// Non-blocking, in place.
template <class... Ps, Team C, ContiguousRange R>
[[nodiscard]] Request iallgatherv(C&& comm, R&& data, const counts& each,
                                  const Algorithm& algorithm = {}) {
  auto* const p = detail::data_in_place<R>(data);
  const std::size_t n = std::ranges::size(data);
  return detail::start_allgatherv<Ps...>(comm, p, p, 0, n, true, each, algorithm);
}

/// Persistent; the counts may be gone when this returns.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
[[nodiscard]] Persistent allgatherv_init(C&& comm, const In& in, Out&& out, const counts& each,
                                         const Algorithm& algorithm = {}) {
  return detail::prepare_allgatherv<Ps...>(
      comm, std::ranges::data(in), detail::data_out<element_of<In>, Out>(out),
      std::ranges::size(in), std::ranges::size(out), false, each, algorithm);
}

/// Persistent, in place.
template <class... Ps, Team C, ContiguousRange R>
[[nodiscard]] Persistent allgatherv_init(C&& comm, R&& data, const counts& each,
                                         const Algorithm& algorithm = {}) {
  auto* const p = detail::data_in_place<R>(data);
  const std::size_t n = std::ranges::size(data);
  return detail::prepare_allgatherv<Ps...>(comm, p, p, 0, n, true, each, algorithm);
}

PAPCOLL_WRONG_CALL(detail::NoResult, allgatherv,
                   ", in, out, papcoll::counts{sizes} [, algorithm]) or allgatherv(comm, data, "
                   "papcoll::counts{sizes} [, algorithm]")
PAPCOLL_WRONG_CALL(Request, iallgatherv,
                   ", in, out, papcoll::counts{sizes} [, algorithm]) or iallgatherv(comm, data, "
                   "papcoll::counts{sizes} [, algorithm]")
PAPCOLL_WRONG_CALL(
    Persistent, allgatherv_init,
    ", in, out, papcoll::counts{sizes} [, algorithm]) or allgatherv_init(comm, data, "
    "papcoll::counts{sizes} [, algorithm]")

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
