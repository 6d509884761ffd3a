#pragma once

#include <papcoll/entry/entry.hpp>
#include <papcoll/entry/passed.hpp>
#include <papcoll/entry/wrong_call.hpp>
#include <papcoll/persistent.hpp>
#include <papcoll/request.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <utility>

namespace papcoll {
inline namespace PAPCOLL_ABI {

namespace detail {

template <class T, class Op>
Call exscan_call(const Caller& caller, Passed<T> b, const Op& op) {
  count_elements(caller, b);
  caller.require_few_bytes(b.in_count, sizeof(T));
  Call call = reduction_of(caller.collective, b.in, b.out, b.in_count, op);
  caller.require_length(
      b.out_count, b.in_count,
      "input and output differ in length: an exscan needs the same number of elements");
  check_buffers(caller, call, b, b.in_count, b.out_count);
  return call;
}

template <class... Ps, class C, class T, class Op>
void run_exscan(C&& comm, Passed<T> b, const Op& op, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::exscan};
  Call call = exscan_call(caller, b, op);
  run<Exscan, is_commutative<Op, T>, Ps...>(caller, call, algorithm);
}

template <class... Ps, class C, class T, class Op>
Request start_exscan(C&& comm, Passed<T> b, const Op& op, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::exscan, true};
  auto owned = std::make_shared<const std::decay_t<const Op>>(op);
  Call call = exscan_call(caller, b, *owned);
  return start<Exscan, is_commutative<Op, T>, Ps...>(caller, call, algorithm, std::move(owned));
}

template <class... Ps, class C, class T, class Op>
Persistent prepare_exscan(C&& comm, Passed<T> b, const Op& op, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::exscan};
  auto owned = owned_operator(op);
  Call call = exscan_call(caller, b, *owned);
  return prepare<Exscan, is_commutative<Op, T>, Ps...>(caller, call, algorithm, std::move(owned));
}

}  // namespace detail

/// Combines, position by position, the elements of the ranks below this one: rank r gets those of
/// ranks 0 to r − 1, in rank order. Rank 0 gets nothing: its output is left as it is.
/// Policies, operator and errors as in allreduce.
///
/// In place: `data` is contribution and result; on rank 0 the contribution stays.
template <class... Ps, Team C, Buffer R, class Op = Sum>
requires(!Buffer<Op>) void exscan(C&& comm, R&& data, const Op& op = {},
                                  const Algorithm& algorithm = {}) {
  detail::run_exscan<Ps...>(comm, detail::passed<R>(data), op, algorithm);
}

/// Out of place: `in` is unchanged, `out` has as many elements.
template <class... Ps, Team C, Buffer In, Buffer Out, class Op = Sum>
void exscan(C&& comm, const In& in, Out&& out, const Op& op = {}, const Algorithm& algorithm = {}) {
  detail::run_exscan<Ps...>(comm, detail::passed<In, Out>(in, out), op, algorithm);
}

/// Pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void exscan(C&& comm, T* data, N count, const Op& op = {}, const Algorithm& algorithm = {}) {
  const std::size_t n = detail::checked_count({detail::core_of(comm), Collective::exscan}, count);
  detail::run_exscan<Ps...>(comm, detail::passed(data, n), op, algorithm);
}

/// Pointer and count, out of place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void exscan(C&& comm, const T* in, std::type_identity_t<T>* out, N count, const Op& op = {},
            const Algorithm& algorithm = {}) {
  const std::size_t n = detail::checked_count({detail::core_of(comm), Collective::exscan}, count);
  detail::run_exscan<Ps...>(comm, detail::Passed<T>{in, out, n, n}, op, algorithm);
}

/// One element by value: returns the result, and T{} on rank 0, so that the sum of what the ranks
/// below bring is 0 where there are none.
template <class... Ps, Team C, Element T, class Op = Sum>
requires std::default_initializable<T>
[[nodiscard]] T exscan(C&& comm, const T& value, const Op& op = {},
                       const Algorithm& algorithm = {}) {
  T result{};
  detail::run_exscan<Ps...>(comm, detail::Passed<T>{&value, &result, 1, 1}, op, algorithm);
  return result;
}

/// Non-blocking, in place. See Request.
template <class... Ps, Team C, Buffer R, class Op = Sum>
requires(!Buffer<Op>) [[nodiscard]] Request
    iexscan(C&& comm, R&& data, const Op& op = {}, const Algorithm& algorithm = {}) {
  return detail::start_exscan<Ps...>(comm, detail::passed<R>(data), op, algorithm);
}

/// Non-blocking, out of place.
template <class... Ps, Team C, Buffer In, Buffer Out, class Op = Sum>
[[nodiscard]] Request iexscan(C&& comm, In&& in, Out&& out, const Op& op = {},
                              const Algorithm& algorithm = {}) {
  return detail::start_exscan<Ps...>(comm, detail::passed_to_keep<In, Out>(in, out), op, algorithm);
}

/// Non-blocking, pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Request iexscan(C&& comm, T* data, N count, const Op& op = {},
                              const Algorithm& algorithm = {}) {
  const std::size_t n =
      detail::checked_count({detail::core_of(comm), Collective::exscan, true}, count);
  return detail::start_exscan<Ps...>(comm, detail::passed(data, n), op, algorithm);
}

/// Non-blocking, pointer and count, out of place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Request iexscan(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
                              const Op& op = {}, const Algorithm& algorithm = {}) {
  const std::size_t n =
      detail::checked_count({detail::core_of(comm), Collective::exscan, true}, count);
  return detail::start_exscan<Ps...>(comm, detail::Passed<T>{in, out, n, n}, op, algorithm);
}

/// Persistent, in place; see there.
template <class... Ps, Team C, Buffer R, class Op = Sum>
requires(!Buffer<Op>) [[nodiscard]] Persistent
    exscan_init(C&& comm, R&& data, const Op& op = {}, const Algorithm& algorithm = {}) {
  return detail::prepare_exscan<Ps...>(comm, detail::passed<R>(data), op, algorithm);
}

/// Persistent, out of place.
template <class... Ps, Team C, Buffer In, Buffer Out, class Op = Sum>
[[nodiscard]] Persistent exscan_init(C&& comm, In&& in, Out&& out, const Op& op = {},
                                     const Algorithm& algorithm = {}) {
  return detail::prepare_exscan<Ps...>(comm, detail::passed_to_keep<In, Out>(in, out), op,
                                       algorithm);
}

/// Persistent, pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Persistent exscan_init(C&& comm, T* data, N count, const Op& op = {},
                                     const Algorithm& algorithm = {}) {
  const std::size_t n = detail::checked_count({detail::core_of(comm), Collective::exscan}, count);
  return detail::prepare_exscan<Ps...>(comm, detail::passed(data, n), op, algorithm);
}

/// Persistent, pointer and count, out of place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Persistent exscan_init(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
                                     const Op& op = {}, const Algorithm& algorithm = {}) {
  const std::size_t n = detail::checked_count({detail::core_of(comm), Collective::exscan}, count);
  return detail::prepare_exscan<Ps...>(comm, detail::Passed<T>{in, out, n, n}, op, algorithm);
}

PAPCOLL_WRONG_CALL(detail::NoResult, exscan,
                   ", data [, op [, algorithm]]) or exscan(comm, in, out [, op [, algorithm]]")
PAPCOLL_WRONG_CALL(Request, iexscan,
                   ", data [, op [, algorithm]]) or iexscan(comm, in, out [, op [, algorithm]]")
PAPCOLL_WRONG_CALL(Persistent, exscan_init,
                   ", data [, op [, algorithm]]) or exscan_init(comm, in, out [, op [, algorithm]]")

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
