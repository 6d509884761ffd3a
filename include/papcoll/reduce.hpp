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

/// The checked call; `b.out_count` counts only on the root.
template <class T, class Op>
Call reduce_call(const Caller& caller, Passed<T> b, root to, const Op& op) {
  count_elements(caller, b, to.rank);
  caller.require_few_bytes(b.in_count, sizeof(T));
  Call call = reduction_of(caller.collective, b.in, b.out, b.in_count, op);
  check_root(caller, to);
  call.root = to.rank;
  const bool is_root = caller.rank() == to.rank;
  caller.require_length(
      is_root ? b.out_count : b.in_count, b.in_count,
      "input and output of the root differ in length: the result has as many elements as each "
      "contribution");
  check_buffers(caller, call, b, b.in_count, is_root ? b.out_count : 0);
  return call;
}

template <class... Ps, class C, class T, class Op>
void run_reduce(C&& comm, Passed<T> b, root to, const Op& op, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::reduce};
  Call call = reduce_call(caller, b, to, op);
  run<Reduce, is_commutative<Op, T>, Ps...>(caller, call, algorithm);
}

template <class... Ps, class C, class T, class Op>
Request start_reduce(C&& comm, Passed<T> b, root to, const Op& op, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::reduce, true};
  auto owned = std::make_shared<const std::decay_t<const Op>>(op);
  Call call = reduce_call(caller, b, to, *owned);
  return start<Reduce, is_commutative<Op, T>, Ps...>(caller, call, algorithm, std::move(owned));
}

template <class... Ps, class C, class T, class Op>
Persistent prepare_reduce(C&& comm, Passed<T> b, root to, const Op& op,
                          const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::reduce};
  auto owned = owned_operator(op);
  Call call = reduce_call(caller, b, to, *owned);
  return prepare<Reduce, is_commutative<Op, T>, Ps...>(caller, call, algorithm, std::move(owned));
}

}  // namespace detail

/// Combines the elements of all ranks, position by position, and gives the result to the root.
/// Policies, operator, errors as in allreduce.
///
/// In place: on the root `data` is contribution and result; elsewhere it is unchanged.
template <class... Ps, Team C, Buffer R, class Op = Sum>
void reduce(C&& comm, R&& data, root to, const Op& op = {}, const Algorithm& algorithm = {}) {
  detail::run_reduce<Ps...>(comm, detail::passed<R>(data), to, op, algorithm);
}

/// Out of place: `out` has as many elements as `in` on the root, and is not looked at elsewhere.
template <class... Ps, Team C, Buffer In, Buffer Out, class Op = Sum>
void reduce(C&& comm, const In& in, Out&& out, root to, const Op& op = {},
            const Algorithm& algorithm = {}) {
  detail::run_reduce<Ps...>(comm, detail::passed<In, Out>(in, out), to, op, algorithm);
}

/// Pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void reduce(C&& comm, T* data, N count, root to, const Op& op = {},
            const Algorithm& algorithm = {}) {
  const std::size_t n = detail::checked_count({detail::core_of(comm), Collective::reduce}, count);
  detail::run_reduce<Ps...>(comm, detail::passed(data, n), to, op, algorithm);
}

/// Pointer and count, out of place; `out` may be null where this rank is not the root.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void reduce(C&& comm, const T* in, std::type_identity_t<T>* out, N count, root to,
            const Op& op = {}, const Algorithm& algorithm = {}) {
  const std::size_t n = detail::checked_count({detail::core_of(comm), Collective::reduce}, count);
  detail::run_reduce<Ps...>(comm, detail::Passed<T>{in, out, n, n}, to, op, algorithm);
}

/// One element by value: returns the result on the root, and `value` elsewhere.
template <class... Ps, Team C, Element T, class Op = Sum>
[[nodiscard]] T reduce(C&& comm, T value, root to, const Op& op = {},
                       const Algorithm& algorithm = {}) {
  detail::run_reduce<Ps...>(comm, detail::passed(&value, 1), to, op, algorithm);
  return value;
}

/// Non-blocking, in place. Runs a static schedule; see Request.
template <class... Ps, Team C, Buffer R, class Op = Sum>
[[nodiscard]] Request ireduce(C&& comm, R&& data, root to, const Op& op = {},
                              const Algorithm& algorithm = {}) {
  return detail::start_reduce<Ps...>(comm, detail::passed<R>(data), to, op, algorithm);
}

/// Non-blocking, out of place.
template <class... Ps, Team C, Buffer In, Buffer Out, class Op = Sum>
[[nodiscard]] Request ireduce(C&& comm, In&& in, Out&& out, root to, const Op& op = {},
                              const Algorithm& algorithm = {}) {
  return detail::start_reduce<Ps...>(comm, detail::passed_to_keep<In, Out>(in, out), to, op,
                                     algorithm);
}

/// Non-blocking, pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Request ireduce(C&& comm, T* data, N count, root to, const Op& op = {},
                              const Algorithm& algorithm = {}) {
  const std::size_t n =
      detail::checked_count({detail::core_of(comm), Collective::reduce, true}, count);
  return detail::start_reduce<Ps...>(comm, detail::passed(data, n), to, op, algorithm);
}

/// Non-blocking, pointer and count, out of place; `out` may be null where this rank is not the
/// root.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Request ireduce(C&& comm, const T* in, std::type_identity_t<T>* out, N count, root to,
                              const Op& op = {}, const Algorithm& algorithm = {}) {
  const std::size_t n =
      detail::checked_count({detail::core_of(comm), Collective::reduce, true}, count);
  return detail::start_reduce<Ps...>(comm, detail::Passed<T>{in, out, n, n}, to, op, algorithm);
}

/// Persistent, in place; see there.
template <class... Ps, Team C, Buffer R, class Op = Sum>
[[nodiscard]] Persistent reduce_init(C&& comm, R&& data, root to, const Op& op = {},
                                     const Algorithm& algorithm = {}) {
  return detail::prepare_reduce<Ps...>(comm, detail::passed<R>(data), to, op, algorithm);
}

/// Persistent, out of place.
template <class... Ps, Team C, Buffer In, Buffer Out, class Op = Sum>
[[nodiscard]] Persistent reduce_init(C&& comm, In&& in, Out&& out, root to, const Op& op = {},
                                     const Algorithm& algorithm = {}) {
  return detail::prepare_reduce<Ps...>(comm, detail::passed_to_keep<In, Out>(in, out), to, op,
                                       algorithm);
}

/// Persistent, pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Persistent reduce_init(C&& comm, T* data, N count, root to, const Op& op = {},
                                     const Algorithm& algorithm = {}) {
  const std::size_t n = detail::checked_count({detail::core_of(comm), Collective::reduce}, count);
  return detail::prepare_reduce<Ps...>(comm, detail::passed(data, n), to, op, algorithm);
}

/// Persistent, pointer and count, out of place; `out` may be null where this rank is not the
/// root.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Persistent reduce_init(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
                                     root to, const Op& op = {}, const Algorithm& algorithm = {}) {
  const std::size_t n = detail::checked_count({detail::core_of(comm), Collective::reduce}, count);
  return detail::prepare_reduce<Ps...>(comm, detail::Passed<T>{in, out, n, n}, to, op, algorithm);
}

PAPCOLL_WRONG_CALL(detail::NoResult, reduce,
                   ", data, papcoll::root{0} [, op [, algorithm]]) or reduce(comm, in, out, "
                   "papcoll::root{0} [, op [, algorithm]]")
PAPCOLL_WRONG_CALL(Request, ireduce,
                   ", data, papcoll::root{0} [, op [, algorithm]]) or ireduce(comm, in, out, "
                   "papcoll::root{0} [, op [, algorithm]]")
PAPCOLL_WRONG_CALL(Persistent, reduce_init,
                   ", data, papcoll::root{0} [, op [, algorithm]]) or reduce_init(comm, in, out, "
                   "papcoll::root{0} [, op [, algorithm]]")

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
