#pragma once

#include <papcoll/entry/entry.hpp>
#include <papcoll/entry/passed.hpp>
#include <papcoll/entry/wrong_call.hpp>
#include <papcoll/persistent.hpp>
#include <papcoll/request.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace papcoll {
inline namespace PAPCOLL_ABI {

namespace detail {

template <class T, class Op>
Call allreduce_call(const Caller& caller, Passed<T> b, const Op& op) {
  count_elements(caller, b);
  caller.require_few_bytes(b.in_count, sizeof(T));
  Call call = reduction_of(caller.collective, b.in, b.out, b.in_count, op);
  caller.require_length(
      b.out_count, b.in_count,
      "input and output differ in length: an allreduce needs the same number of elements");
  check_buffers(caller, call, b, b.in_count, b.out_count);
  return call;
}

template <class... Ps, class C, class T, class Op>
void run_allreduce(C&& comm, Passed<T> b, const Op& op, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::allreduce};
  Call call = allreduce_call(caller, b, op);
  run<Allreduce, is_commutative<Op, T>, Ps...>(caller, call, algorithm);
}

template <class... Ps, class C, class T, class Op>
Request start_allreduce(C&& comm, Passed<T> b, const Op& op, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::allreduce, true};
  auto owned = std::make_shared<const std::decay_t<const Op>>(op);
  Call call = allreduce_call(caller, b, *owned);
  return start<Allreduce, is_commutative<Op, T>, Ps...>(caller, call, algorithm, std::move(owned));
}

template <class... Ps, class C, class T, class Op>
Persistent prepare_allreduce(C&& comm, Passed<T> b, const Op& op, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::allreduce};
  auto owned = owned_operator(op);
  Call call = allreduce_call(caller, b, *owned);
  return prepare<Allreduce, is_commutative<Op, T>, Ps...>(caller, call, algorithm,
                                                          std::move(owned));
}

}  // namespace detail

/// Combines the elements of all ranks, position by position, and gives every rank the result.
///
/// Policies, in any order: an arrival policy, a schedule, a transport, a contract; what is left out
/// is chosen. Or a run-time `algorithm` as the last argument. `op` combines two elements, the lower
/// ranks' first; default papcoll::sum. All ranks pass the same count, type, operator and algorithm.
///
/// A buffer is a contiguous range, or one whose elements lie apart: strided(), indexed(), an
/// mdspan. Where they lie does not decide what is chosen, and other ranks may have theirs in one
/// piece.
///
/// In place: `data` is contribution and result.
/// Throws argument_error (this rank's call is wrong), peer_error (another rank's), peer_lost,
/// deadline_exceeded, transport_unavailable.
template <class... Ps, Team C, Buffer R, class Op = Sum>
requires(!Buffer<Op>) void allreduce(C&& comm, R&& data, const Op& op = {},
                                     const Algorithm& algorithm = {}) {
  detail::run_allreduce<Ps...>(comm, detail::passed<R>(data), op, algorithm);
}

/// Out of place: `in` is unchanged, `out` has as many elements.
template <class... Ps, Team C, Buffer In, Buffer Out, class Op = Sum>
void allreduce(C&& comm, const In& in, Out&& out, const Op& op = {},
               const Algorithm& algorithm = {}) {
  detail::run_allreduce<Ps...>(comm, detail::passed<In, Out>(in, out), op, algorithm);
}

/// Pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void allreduce(C&& comm, T* data, N count, const Op& op = {}, const Algorithm& algorithm = {}) {
  const std::size_t n =
      detail::checked_count({detail::core_of(comm), Collective::allreduce}, count);
  detail::run_allreduce<Ps...>(comm, detail::passed(data, n), op, algorithm);
}

/// Pointer and count, out of place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void allreduce(C&& comm, const T* in, std::type_identity_t<T>* out, N count, const Op& op = {},
               const Algorithm& algorithm = {}) {
  const std::size_t n =
      detail::checked_count({detail::core_of(comm), Collective::allreduce}, count);
  detail::run_allreduce<Ps...>(comm, detail::Passed<T>{in, out, n, n}, op, algorithm);
}

/// One element by value: returns the result.
template <class... Ps, Team C, Element T, class Op = Sum>
[[nodiscard]] T allreduce(C&& comm, T value, const Op& op = {}, const Algorithm& algorithm = {}) {
  detail::run_allreduce<Ps...>(comm, detail::passed(&value, 1), op, algorithm);
  return value;
}

/// Non-blocking, in place. Runs a static schedule; see Request.
template <class... Ps, Team C, Buffer R, class Op = Sum>
requires(!Buffer<Op>) [[nodiscard]] Request
    iallreduce(C&& comm, R&& data, const Op& op = {}, const Algorithm& algorithm = {}) {
  return detail::start_allreduce<Ps...>(comm, detail::passed<R>(data), op, algorithm);
}

/// Non-blocking, out of place.
template <class... Ps, Team C, Buffer In, Buffer Out, class Op = Sum>
[[nodiscard]] Request iallreduce(C&& comm, In&& in, Out&& out, const Op& op = {},
                                 const Algorithm& algorithm = {}) {
  return detail::start_allreduce<Ps...>(comm, detail::passed_to_keep<In, Out>(in, out), op,
                                        algorithm);
}

/// Non-blocking, pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Request iallreduce(C&& comm, T* data, N count, const Op& op = {},
                                 const Algorithm& algorithm = {}) {
  const std::size_t n =
      detail::checked_count({detail::core_of(comm), Collective::allreduce, true}, count);
  return detail::start_allreduce<Ps...>(comm, detail::passed(data, n), op, algorithm);
}

/// Non-blocking, pointer and count, out of place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Request iallreduce(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
                                 const Op& op = {}, const Algorithm& algorithm = {}) {
  const std::size_t n =
      detail::checked_count({detail::core_of(comm), Collective::allreduce, true}, count);
  return detail::start_allreduce<Ps...>(comm, detail::Passed<T>{in, out, n, n}, op, algorithm);
}

/// Persistent, in place; see there.
template <class... Ps, Team C, Buffer R, class Op = Sum>
requires(!Buffer<Op>) [[nodiscard]] Persistent
    allreduce_init(C&& comm, R&& data, const Op& op = {}, const Algorithm& algorithm = {}) {
  return detail::prepare_allreduce<Ps...>(comm, detail::passed<R>(data), op, algorithm);
}

/// Persistent, out of place.
template <class... Ps, Team C, Buffer In, Buffer Out, class Op = Sum>
[[nodiscard]] Persistent allreduce_init(C&& comm, In&& in, Out&& out, const Op& op = {},
                                        const Algorithm& algorithm = {}) {
  return detail::prepare_allreduce<Ps...>(comm, detail::passed_to_keep<In, Out>(in, out), op,
                                          algorithm);
}

/// Persistent, pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Persistent allreduce_init(C&& comm, T* data, N count, const Op& op = {},
                                        const Algorithm& algorithm = {}) {
  const std::size_t n =
      detail::checked_count({detail::core_of(comm), Collective::allreduce}, count);
  return detail::prepare_allreduce<Ps...>(comm, detail::passed(data, n), op, algorithm);
}

/// Persistent, pointer and count, out of place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Persistent allreduce_init(C&& comm, const T* in, std::type_identity_t<T>* out,
                                        N count, const Op& op = {},
                                        const Algorithm& algorithm = {}) {
  const std::size_t n =
      detail::checked_count({detail::core_of(comm), Collective::allreduce}, count);
  return detail::prepare_allreduce<Ps...>(comm, detail::Passed<T>{in, out, n, n}, op, algorithm);
}

PAPCOLL_WRONG_CALL(detail::NoResult, allreduce,
                   ", data [, op [, algorithm]]) or allreduce(comm, in, out [, op [, algorithm]]")
PAPCOLL_WRONG_CALL(Request, iallreduce,
                   ", data [, op [, algorithm]]) or iallreduce(comm, in, out [, op [, algorithm]]")
PAPCOLL_WRONG_CALL(
    Persistent, allreduce_init,
    ", data [, op [, algorithm]]) or allreduce_init(comm, in, out [, op [, algorithm]]")

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
