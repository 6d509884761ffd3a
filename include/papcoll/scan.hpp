#pragma once

#include <papcoll/entry/entry.hpp>
#include <papcoll/entry/passed.hpp>
#include <papcoll/entry/wrong_call.hpp>
#include <papcoll/persistent.hpp>
#include <papcoll/request.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace papcoll {
inline namespace PAPCOLL_ABI {

namespace detail {

template <class T, class Op>
Call scan_call(const Caller& caller, Passed<T> b, const Op& op) {
  count_elements(caller, b);
  caller.require_few_bytes(b.in_count, sizeof(T));
  Call call = reduction_of(caller.collective, b.in, b.out, b.in_count, op);
  caller.require_length(
      b.out_count, b.in_count,
      "input and output differ in length: a scan needs the same number of elements");
  check_buffers(caller, call, b, b.in_count, b.out_count);
  return call;
}

template <class... Ps, class C, class T, class Op>
void run_scan(C&& comm, Passed<T> b, const Op& op, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::scan};
  Call call = scan_call(caller, b, op);
  run<Scan, is_commutative<Op, T>, Ps...>(caller, call, algorithm);
}

template <class... Ps, class C, class T, class Op>
Request start_scan(C&& comm, Passed<T> b, const Op& op, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::scan, true};
  auto owned = std::make_shared<const std::decay_t<const Op>>(op);
  Call call = scan_call(caller, b, *owned);
  return start<Scan, is_commutative<Op, T>, Ps...>(caller, call, algorithm, std::move(owned));
}

template <class... Ps, class C, class T, class Op>
Persistent prepare_scan(C&& comm, Passed<T> b, const Op& op, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::scan};
  auto owned = owned_operator(op);
  Call call = scan_call(caller, b, *owned);
  return prepare<Scan, is_commutative<Op, T>, Ps...>(caller, call, algorithm, std::move(owned));
}

}  // namespace detail

/// Combines, position by position, the elements of the ranks up to this one: rank r gets those of
/// ranks 0 to r, in rank order. Policies, operator and errors as in
/// allreduce.
///
/// In place: `data` is contribution and result.
template <class... Ps, Team C, Buffer R, class Op = Sum>
requires(!Buffer<Op>) void scan(C&& comm, R&& data, const Op& op = {},
                                const Algorithm& algorithm = {}) {
  detail::run_scan<Ps...>(comm, detail::passed<R>(data), op, algorithm);
}

/// Out of place: `in` is unchanged, `out` has as many elements.
template <class... Ps, Team C, Buffer In, Buffer Out, class Op = Sum>
void scan(C&& comm, const In& in, Out&& out, const Op& op = {}, const Algorithm& algorithm = {}) {
  detail::run_scan<Ps...>(comm, detail::passed<In, Out>(in, out), op, algorithm);
}

/// Pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void scan(C&& comm, T* data, N count, const Op& op = {}, const Algorithm& algorithm = {}) {
  const std::size_t n = detail::checked_count({detail::core_of(comm), Collective::scan}, count);
  detail::run_scan<Ps...>(comm, detail::passed(data, n), op, algorithm);
}

/// Pointer and count, out of place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void scan(C&& comm, const T* in, std::type_identity_t<T>* out, N count, const Op& op = {},
          const Algorithm& algorithm = {}) {
  const std::size_t n = detail::checked_count({detail::core_of(comm), Collective::scan}, count);
  detail::run_scan<Ps...>(comm, detail::Passed<T>{in, out, n, n}, op, algorithm);
}

/// One element by value: returns the result.
template <class... Ps, Team C, Element T, class Op = Sum>
[[nodiscard]] T scan(C&& comm, T value, const Op& op = {}, const Algorithm& algorithm = {}) {
  detail::run_scan<Ps...>(comm, detail::passed(&value, 1), op, algorithm);
  return value;
}

/// Non-blocking, in place. See Request.
template <class... Ps, Team C, Buffer R, class Op = Sum>
requires(!Buffer<Op>) [[nodiscard]] Request
    iscan(C&& comm, R&& data, const Op& op = {}, const Algorithm& algorithm = {}) {
  return detail::start_scan<Ps...>(comm, detail::passed<R>(data), op, algorithm);
}

/// Non-blocking, out of place.
template <class... Ps, Team C, Buffer In, Buffer Out, class Op = Sum>
[[nodiscard]] Request iscan(C&& comm, In&& in, Out&& out, const Op& op = {},
                            const Algorithm& algorithm = {}) {
  return detail::start_scan<Ps...>(comm, detail::passed_to_keep<In, Out>(in, out), op, algorithm);
}

/// Non-blocking, pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Request iscan(C&& comm, T* data, N count, const Op& op = {},
                            const Algorithm& algorithm = {}) {
  const std::size_t n =
      detail::checked_count({detail::core_of(comm), Collective::scan, true}, count);
  return detail::start_scan<Ps...>(comm, detail::passed(data, n), op, algorithm);
}

/// Non-blocking, pointer and count, out of place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Request iscan(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
                            const Op& op = {}, const Algorithm& algorithm = {}) {
  const std::size_t n =
      detail::checked_count({detail::core_of(comm), Collective::scan, true}, count);
  return detail::start_scan<Ps...>(comm, detail::Passed<T>{in, out, n, n}, op, algorithm);
}

/// Persistent, in place; see there.
template <class... Ps, Team C, Buffer R, class Op = Sum>
requires(!Buffer<Op>) [[nodiscard]] Persistent
    scan_init(C&& comm, R&& data, const Op& op = {}, const Algorithm& algorithm = {}) {
  return detail::prepare_scan<Ps...>(comm, detail::passed<R>(data), op, algorithm);
}

/// Persistent, out of place.
template <class... Ps, Team C, Buffer In, Buffer Out, class Op = Sum>
[[nodiscard]] Persistent scan_init(C&& comm, In&& in, Out&& out, const Op& op = {},
                                   const Algorithm& algorithm = {}) {
  return detail::prepare_scan<Ps...>(comm, detail::passed_to_keep<In, Out>(in, out), op, algorithm);
}

/// Persistent, pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Persistent scan_init(C&& comm, T* data, N count, const Op& op = {},
                                   const Algorithm& algorithm = {}) {
  const std::size_t n = detail::checked_count({detail::core_of(comm), Collective::scan}, count);
  return detail::prepare_scan<Ps...>(comm, detail::passed(data, n), op, algorithm);
}

/// Persistent, pointer and count, out of place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Persistent scan_init(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
                                   const Op& op = {}, const Algorithm& algorithm = {}) {
  const std::size_t n = detail::checked_count({detail::core_of(comm), Collective::scan}, count);
  return detail::prepare_scan<Ps...>(comm, detail::Passed<T>{in, out, n, n}, op, algorithm);
}

PAPCOLL_WRONG_CALL(detail::NoResult, scan,
                   ", data [, op [, algorithm]]) or scan(comm, in, out [, op [, algorithm]]")
PAPCOLL_WRONG_CALL(Request, iscan,
                   ", data [, op [, algorithm]]) or iscan(comm, in, out [, op [, algorithm]]")
PAPCOLL_WRONG_CALL(Persistent, scan_init,
                   ", data [, op [, algorithm]]) or scan_init(comm, in, out [, op [, algorithm]]")

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
