#pragma once

#include <papcoll/allgather.hpp>
#include <papcoll/entry/block_arguments.hpp>
#include <papcoll/entry/entry.hpp>
#include <papcoll/entry/wrong_call.hpp>
#include <papcoll/persistent.hpp>
#include <papcoll/request.hpp>

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

namespace detail {

template <class... Ps, class C, class T>
void run_allgatherv(C&& comm, const TypedBlocks<T>& a, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::allgather, false, true};
  Call call = allgatherv_call(caller, a.untyped(), blocks_of(caller));
  run<Allgather, true, Ps...>(caller, call, algorithm);
}

template <class... Ps, class C, class T>
Request start_allgatherv(C&& comm, const TypedBlocks<T>& a, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::allgather, true, true};
  auto owned = std::make_shared<CallBlocks>();
  Call call = allgatherv_call(caller, a.untyped(), *owned);
  return start<Allgather, true, Ps...>(caller, call, algorithm, std::move(owned));
}

template <class... Ps, class C, class T>
Persistent prepare_allgatherv(C&& comm, const TypedBlocks<T>& a, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::allgather, false, true};
  auto owned = std::make_shared<CallBlocks>();
  Call call = allgatherv_call(caller, a.untyped(), *owned);
  return prepare<Allgather, true, Ps...>(caller, call, algorithm, std::move(owned));
}

}  // namespace detail

/// Gives every rank the contributions of all, where these differ in length. `each` says for every
/// rank how long its contribution is, the same on all ranks: papcoll::counts{lengths}, one after
/// the other in rank order, or papcoll::blocks{lengths, displacements}, each where this rank wants
/// it; nothing is written between them. Policies and errors as in allreduce.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
void allgatherv(C&& comm, const In& in, Out&& out, const blocks& each,
                const Algorithm& algorithm = {}) {
  using T = element_of<In>;
  detail::run_allgatherv<Ps...>(
      comm,
      detail::TypedBlocks<T>{std::ranges::data(in), std::ranges::size(in),
                             detail::data_out<T, Out>(out), std::ranges::size(out), each},
      algorithm);
}

/// In place: each rank's contribution stands at its place in `data`.
template <class... Ps, Team C, ContiguousRange R>
void allgatherv(C&& comm, R&& data, const blocks& each, const Algorithm& algorithm = {}) {
  using T = element_of<R>;
  T* const p = detail::data_in_place<R>(data);
  const std::size_t n = std::ranges::size(data);
  detail::run_allgatherv<Ps...>(comm, detail::TypedBlocks<T>{p, n, p, n, each, true}, algorithm);
}

/// Pointers: the buffers end where their blocks do.
template <class... Ps, Team C, class T>
void allgatherv(C&& comm, const T* in, std::type_identity_t<T>* out, const blocks& each,
                const Algorithm& algorithm = {}) {
  constexpr std::size_t any = detail::BlockedBuffer::any_length;
  detail::run_allgatherv<Ps...>(comm, detail::TypedBlocks<T>{in, any, out, any, each}, algorithm);
}

/// Pointer, in place.
template <class... Ps, Team C, class T>
void allgatherv(C&& comm, T* data, const blocks& each, const Algorithm& algorithm = {}) {
  constexpr std::size_t any = detail::BlockedBuffer::any_length;
  detail::run_allgatherv<Ps...>(comm, detail::TypedBlocks<T>{data, any, data, any, each, true},
                                algorithm);
}

/// Returns the contributions of all, in rank order: the ranks tell each other first how long they
/// are.
template <class... Ps, Team C, ContiguousRange In>
[[nodiscard]] std::vector<element_of<In>> allgatherv(C&& comm, const In& in,
                                                     const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::allgather, false, true};
  const std::size_t n = std::ranges::size(in);
  caller.require_few_bytes(n, sizeof(element_of<In>));
  detail::check_pointers(caller, std::ranges::data(in), n, nullptr, 0);
  std::vector<std::size_t> lengths(caller.ranks());
  allgather(comm, &n, lengths.data(), 1);
  std::size_t total = 0;
  for (const std::size_t length : lengths) total += length;
  auto all = detail::room_for<element_of<In>>(caller, total);
  allgatherv<Ps...>(comm, in, all, counts{lengths}, algorithm);
  return all;
}

/// Non-blocking; counts and displacements may be gone when the call returns. See Request.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
[[nodiscard]] Request iallgatherv(C&& comm, In&& in, Out&& out, const blocks& each,
                                  const Algorithm& algorithm = {}) {
  using T = element_of<In>;
  return detail::start_allgatherv<Ps...>(
      comm,
      detail::TypedBlocks<T>{detail::input_to_keep<In>(in), std::ranges::size(in),
                             detail::data_out<T, Out>(out), std::ranges::size(out), each},
      algorithm);
}

/// Non-blocking, in place.
template <class... Ps, Team C, ContiguousRange R>
[[nodiscard]] Request iallgatherv(C&& comm, R&& data, const blocks& each,
                                  const Algorithm& algorithm = {}) {
  using T = element_of<R>;
  T* const p = detail::data_in_place<R>(data);
  const std::size_t n = std::ranges::size(data);
  return detail::start_allgatherv<Ps...>(comm, detail::TypedBlocks<T>{p, n, p, n, each, true},
                                         algorithm);
}

/// Non-blocking, pointers.
template <class... Ps, Team C, class T>
[[nodiscard]] Request iallgatherv(C&& comm, const T* in, std::type_identity_t<T>* out,
                                  const blocks& each, const Algorithm& algorithm = {}) {
  constexpr std::size_t any = detail::BlockedBuffer::any_length;
  return detail::start_allgatherv<Ps...>(comm, detail::TypedBlocks<T>{in, any, out, any, each},
                                         algorithm);
}

/// Persistent; counts and displacements may be gone when this returns.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
[[nodiscard]] Persistent allgatherv_init(C&& comm, In&& in, Out&& out, const blocks& each,
                                         const Algorithm& algorithm = {}) {
  using T = element_of<In>;
  return detail::prepare_allgatherv<Ps...>(
      comm,
      detail::TypedBlocks<T>{detail::input_to_keep<In>(in), std::ranges::size(in),
                             detail::data_out<T, Out>(out), std::ranges::size(out), each},
      algorithm);
}

/// Persistent, in place.
template <class... Ps, Team C, ContiguousRange R>
[[nodiscard]] Persistent allgatherv_init(C&& comm, R&& data, const blocks& each,
                                         const Algorithm& algorithm = {}) {
  using T = element_of<R>;
  T* const p = detail::data_in_place<R>(data);
  const std::size_t n = std::ranges::size(data);
  return detail::prepare_allgatherv<Ps...>(comm, detail::TypedBlocks<T>{p, n, p, n, each, true},
                                           algorithm);
}

/// Persistent, pointers.
template <class... Ps, Team C, class T>
[[nodiscard]] Persistent allgatherv_init(C&& comm, const T* in, std::type_identity_t<T>* out,
                                         const blocks& each, const Algorithm& algorithm = {}) {
  constexpr std::size_t any = detail::BlockedBuffer::any_length;
  return detail::prepare_allgatherv<Ps...>(comm, detail::TypedBlocks<T>{in, any, out, any, each},
                                           algorithm);
}

PAPCOLL_WRONG_CALL(detail::NoResult, allgatherv,
                   ", in, out, papcoll::counts{sizes} [, algorithm]) or allgatherv(comm, data, "
                   "papcoll::counts{sizes} [, algorithm]) or, where ranks do not know the counts, "
                   "allgatherv(comm, in [, algorithm]")
PAPCOLL_WRONG_CALL(Request, iallgatherv,
                   ", in, out, papcoll::counts{sizes} [, algorithm]) or iallgatherv(comm, data, "
                   "papcoll::counts{sizes} [, algorithm]")
PAPCOLL_WRONG_CALL(
    Persistent, allgatherv_init,
    ", in, out, papcoll::counts{sizes} [, algorithm]) or allgatherv_init(comm, data, "
    "papcoll::counts{sizes} [, algorithm]")

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
