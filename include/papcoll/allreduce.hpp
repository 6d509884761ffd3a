#pragma once

#include <papcoll/base/joined.hpp>
#include <papcoll/entry/entry.hpp>
#include <papcoll/entry/strided_places.hpp>
#include <papcoll/entry/wrong_call.hpp>
#include <papcoll/persistent.hpp>
#include <papcoll/request.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace papcoll {
inline namespace PAPCOLL_ABI {

namespace detail {

inline void check_same_length(const Caller& caller, std::size_t in_count, std::size_t out_count) {
  caller.require_length(
      out_count, in_count,
      "input and output differ in length: an allreduce needs the same number of elements");
}

template <class T, class Op>
Call allreduce_call(const Caller& caller, const T* in, T* out, std::size_t in_count,
                    std::size_t out_count, const Op& op) {
  caller.require_few_bytes(in_count, sizeof(T));
  Call call = reduction_of(caller.collective, in, out, in_count, op);
  check_same_length(caller, in_count, out_count);
  check_buffers(caller, call, in_count, out_count);
  return call;
}

template <class... Ps, class C, class T, class Op>
void run_allreduce(C&& comm, const T* in, T* out, std::size_t in_count, std::size_t out_count,
                   const Op& op, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::allreduce};
  Call call = allreduce_call(caller, in, out, in_count, out_count, op);
  run<Allreduce, is_commutative<Op, T>, Ps...>(caller, call, algorithm);
}

template <class... Ps, class C, class T, class Op>
Request start_allreduce(C&& comm, const T* in, T* out, std::size_t in_count, std::size_t out_count,
                        const Op& op, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::allreduce, true};
  auto owned = std::make_shared<const std::decay_t<const Op>>(op);
  Call call = allreduce_call(caller, in, out, in_count, out_count, *owned);
  return start<Allreduce, is_commutative<Op, T>, Ps...>(caller, call, algorithm, std::move(owned));
}

/// Where the elements of strided buffers lie, and the operator: what a call on such borrows.
template <class Op>
struct StridedParts {
  Op op;
  DataView in;
  DataView out;
};

template <class T>
DataView checked_view(const Caller& caller, const Strided<T>& s) {
  const std::size_t apart = elements_apart(s);
  caller.require(apart >= s.block,
                 "the blocks of a strided buffer overlap: the stride, in elements, is at least the "
                 "length of a block");
  std::size_t extent = 0;
  if (__builtin_mul_overflow(s.blocks, apart, &extent) ||
      __builtin_mul_overflow(extent, sizeof(T), &extent) || extent > PTRDIFF_MAX) {
    caller.refuse(joined({"a strided buffer of ", s.blocks, " blocks, ", apart,
                          " elements apart, spans more than PTRDIFF_MAX bytes: pass fewer blocks, "
                          "or a shorter stride"}));
  }
  caller.require_few_bytes(s.size(), sizeof(T));
  const auto step = static_cast<std::ptrdiff_t>(apart * sizeof(T));
  return DataView::strided(s.block, s.stride < 0 && s.blocks > 1 ? -step : step);
}

/// Blocks of the one may lie between blocks of the other.
template <class T>
void check_overlap(const Caller& caller, const Strided<const T>& in, const Strided<T>& out) {
  if constexpr (assertion_level == 0) return;
  check_pointers(caller, in.data, in.size(), out.data, out.size());
  const bool in_place = in.data == out.data && in.block == out.block && in.stride == out.stride;
  caller.require(in.size() == 0 || in_place || !share_bytes(places(in), places(out)),
                 "input and output overlap: pass the same strided buffer once (in place), or two "
                 "that have no element in common");
}

/// The checked call, which borrows `parts`.
template <class T, class Op>
Call strided_allreduce_call(const Caller& caller, const Strided<const T>& in, const Strided<T>& out,
                            StridedParts<Op>& parts) {
  parts.in = checked_view(caller, in);
  parts.out = checked_view(caller, out);
  check_same_length(caller, in.size(), out.size());
  check_overlap(caller, in, out);
  Call call = reduction_of(caller.collective, in.data, out.data, in.size(), parts.op);
  if (!is_in_one_piece(in)) call.in_view = &parts.in;
  if (!is_in_one_piece(out)) call.out_view = &parts.out;
  call.apart = call.in_view != nullptr || call.out_view != nullptr;
  return call;
}

template <class... Ps, class C, class T, class Op>
void run_strided_allreduce(C&& comm, const Strided<const T>& in, const Strided<T>& out,
                           const Op& op, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::allreduce};
  StridedParts<const Op&> parts{op, {}, {}};
  Call call = strided_allreduce_call(caller, in, out, parts);
  run<Allreduce, is_commutative<Op, T>, Ps...>(caller, call, algorithm);
}

template <class... Ps, class C, class T, class Op>
Request start_strided_allreduce(C&& comm, const Strided<const T>& in, const Strided<T>& out,
                                const Op& op, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::allreduce, true};
  auto owned = std::make_shared<StridedParts<std::decay_t<const Op>>>(
      StridedParts<std::decay_t<const Op>>{op, {}, {}});
  Call call = strided_allreduce_call(caller, in, out, *owned);
  return start<Allreduce, is_commutative<Op, T>, Ps...>(caller, call, algorithm, std::move(owned));
}

template <class... Ps, class C, class T, class Op>
Persistent prepare_allreduce(C&& comm, const T* in, T* out, std::size_t in_count,
                             std::size_t out_count, const Op& op, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::allreduce};
  auto owned = owned_operator(op);
  Call call = allreduce_call(caller, in, out, in_count, out_count, *owned);
  return prepare<Allreduce, is_commutative<Op, T>, Ps...>(caller, call, algorithm,
                                                          std::move(owned));
}

template <class... Ps, class C, class T, class Op>
Persistent prepare_strided_allreduce(C&& comm, const Strided<const T>& in, const Strided<T>& out,
                                     const Op& op, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::allreduce};
  auto owned = std::make_shared<StridedParts<std::decay_t<const Op>>>(
      StridedParts<std::decay_t<const Op>>{op, {}, {}});
  Call call = strided_allreduce_call(caller, in, out, *owned);
  return prepare<Allreduce, is_commutative<Op, T>, Ps...>(caller, call, algorithm,
                                                          std::move(owned));
}

template <class T>
Strided<const T> constant(const Strided<T>& s) noexcept {
  return {s.data, s.blocks, s.block, s.stride};
}

}  // namespace detail

/// Combines the elements of all ranks, position by position, and gives every rank the result.
///
/// Policies, in any order: an arrival policy, a schedule, a transport, a contract; what is left out
/// is chosen. Or a run-time `algorithm` as the last argument. `op` combines two elements, the lower
/// ranks' first; default papcoll::sum. All ranks pass the same count, type, operator and algorithm.
///
/// In place: `data` is contribution and result.
/// Throws argument_error (this rank's call is wrong), peer_error (another rank's), peer_lost,
/// deadline_exceeded, transport_unavailable.
template <class... Ps, Team C, ContiguousRange R, class Op = Sum>
requires(!ContiguousRange<Op>) void allreduce(C&& comm, R&& data, const Op& op = {},
                                              const Algorithm& algorithm = {}) {
  auto* const p = detail::data_in_place<R>(data);
  const std::size_t n = std::ranges::size(data);
  detail::run_allreduce<Ps...>(comm, p, p, n, n, op, algorithm);
}

/// Out of place: `in` is unchanged, `out` has as many elements.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out, class Op = Sum>
void allreduce(C&& comm, const In& in, Out&& out, const Op& op = {},
               const Algorithm& algorithm = {}) {
  detail::run_allreduce<Ps...>(comm, std::ranges::data(in),
                               detail::data_out<element_of<In>, Out>(out), std::ranges::size(in),
                               std::ranges::size(out), op, algorithm);
}

/// Pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void allreduce(C&& comm, T* data, N count, const Op& op = {}, const Algorithm& algorithm = {}) {
  const std::size_t n =
      detail::checked_count({detail::core_of(comm), Collective::allreduce}, count);
  detail::run_allreduce<Ps...>(comm, data, data, n, n, op, algorithm);
}

/// Pointer and count, out of place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void allreduce(C&& comm, const T* in, std::type_identity_t<T>* out, N count, const Op& op = {},
               const Algorithm& algorithm = {}) {
  const std::size_t n =
      detail::checked_count({detail::core_of(comm), Collective::allreduce}, count);
  detail::run_allreduce<Ps...>(comm, in, out, n, n, op, algorithm);
}

/// One element by value: returns the result.
template <class... Ps, Team C, Element T, class Op = Sum>
[[nodiscard]] T allreduce(C&& comm, T value, const Op& op = {}, const Algorithm& algorithm = {}) {
  detail::run_allreduce<Ps...>(comm, &value, &value, 1, 1, op, algorithm);
  return value;
}

/// Elements that lie apart, in place: allreduce(comm, strided(column, rows, 1, columns)). What is
/// chosen does not depend on where they lie, so that other ranks may have theirs in one piece.
template <class... Ps, Team C, class T, class Op = Sum>
requires(!std::is_const_v<T>) void allreduce(C&& comm, Strided<T> data, const Op& op = {},
                                             const Algorithm& algorithm = {}) {
  detail::run_strided_allreduce<Ps...>(comm, detail::constant(data), data, op, algorithm);
}

/// Elements that lie apart, out of place; blocks and strides of input and output may differ.
template <class... Ps, Team C, class T, class U, class Op = Sum>
requires(std::same_as<const T, const U> &&
         !std::is_const_v<U>) void allreduce(C&& comm, Strided<T> in, Strided<U> out,
                                             const Op& op = {}, const Algorithm& algorithm = {}) {
  detail::run_strided_allreduce<Ps...>(comm, detail::constant(in), out, op, algorithm);
}

/// Non-blocking, in place. Runs a static schedule; see Request.
template <class... Ps, Team C, ContiguousRange R, class Op = Sum>
requires(!ContiguousRange<Op>) [[nodiscard]] Request
    iallreduce(C&& comm, R&& data, const Op& op = {}, const Algorithm& algorithm = {}) {
  auto* const p = detail::data_in_place<R>(data);
  const std::size_t n = std::ranges::size(data);
  return detail::start_allreduce<Ps...>(comm, p, p, n, n, op, algorithm);
}

/// Non-blocking, out of place.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out, class Op = Sum>
[[nodiscard]] Request iallreduce(C&& comm, const In& in, Out&& out, const Op& op = {},
                                 const Algorithm& algorithm = {}) {
  return detail::start_allreduce<Ps...>(
      comm, std::ranges::data(in), detail::data_out<element_of<In>, Out>(out),
      std::ranges::size(in), std::ranges::size(out), op, algorithm);
}

/// Non-blocking, pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Request iallreduce(C&& comm, T* data, N count, const Op& op = {},
                                 const Algorithm& algorithm = {}) {
  const std::size_t n =
      detail::checked_count({detail::core_of(comm), Collective::allreduce, true}, count);
  return detail::start_allreduce<Ps...>(comm, data, data, n, n, op, algorithm);
}

/// Non-blocking, pointer and count, out of place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Request iallreduce(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
                                 const Op& op = {}, const Algorithm& algorithm = {}) {
  const std::size_t n =
      detail::checked_count({detail::core_of(comm), Collective::allreduce, true}, count);
  return detail::start_allreduce<Ps...>(comm, in, out, n, n, op, algorithm);
}

/// Non-blocking, elements that lie apart, in place.
template <class... Ps, Team C, class T, class Op = Sum>
requires(!std::is_const_v<T>) [[nodiscard]] Request
    iallreduce(C&& comm, Strided<T> data, const Op& op = {}, const Algorithm& algorithm = {}) {
  return detail::start_strided_allreduce<Ps...>(comm, detail::constant(data), data, op, algorithm);
}

/// Non-blocking, elements that lie apart, out of place.
template <class... Ps, Team C, class T, class U, class Op = Sum>
requires(std::same_as<const T, const U> && !std::is_const_v<U>) [[nodiscard]] Request
    iallreduce(C&& comm, Strided<T> in, Strided<U> out, const Op& op = {},
               const Algorithm& algorithm = {}) {
  return detail::start_strided_allreduce<Ps...>(comm, detail::constant(in), out, op, algorithm);
}

/// Persistent, in place; see there.
template <class... Ps, Team C, ContiguousRange R, class Op = Sum>
requires(!ContiguousRange<Op>) [[nodiscard]] Persistent
    allreduce_init(C&& comm, R&& data, const Op& op = {}, const Algorithm& algorithm = {}) {
  auto* const p = detail::data_in_place<R>(data);
  const std::size_t n = std::ranges::size(data);
  return detail::prepare_allreduce<Ps...>(comm, p, p, n, n, op, algorithm);
}

/// Persistent, out of place.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out, class Op = Sum>
[[nodiscard]] Persistent allreduce_init(C&& comm, const In& in, Out&& out, const Op& op = {},
                                        const Algorithm& algorithm = {}) {
  return detail::prepare_allreduce<Ps...>(
      comm, std::ranges::data(in), detail::data_out<element_of<In>, Out>(out),
      std::ranges::size(in), std::ranges::size(out), op, algorithm);
}

/// Persistent, pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Persistent allreduce_init(C&& comm, T* data, N count, const Op& op = {},
                                        const Algorithm& algorithm = {}) {
  const std::size_t n =
      detail::checked_count({detail::core_of(comm), Collective::allreduce}, count);
  return detail::prepare_allreduce<Ps...>(comm, data, data, n, n, op, algorithm);
}

/// Persistent, pointer and count, out of place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Persistent allreduce_init(C&& comm, const T* in, std::type_identity_t<T>* out,
                                        N count, const Op& op = {},
                                        const Algorithm& algorithm = {}) {
  const std::size_t n =
      detail::checked_count({detail::core_of(comm), Collective::allreduce}, count);
  return detail::prepare_allreduce<Ps...>(comm, in, out, n, n, op, algorithm);
}

/// Persistent, elements that lie apart, in place.
template <class... Ps, Team C, class T, class Op = Sum>
requires(!std::is_const_v<T>) [[nodiscard]] Persistent
    allreduce_init(C&& comm, Strided<T> data, const Op& op = {}, const Algorithm& algorithm = {}) {
  return detail::prepare_strided_allreduce<Ps...>(comm, detail::constant(data), data, op,
                                                  algorithm);
}

/// Persistent, elements that lie apart, out of place.
template <class... Ps, Team C, class T, class U, class Op = Sum>
requires(std::same_as<const T, const U> && !std::is_const_v<U>) [[nodiscard]] Persistent
    allreduce_init(C&& comm, Strided<T> in, Strided<U> out, const Op& op = {},
                   const Algorithm& algorithm = {}) {
  return detail::prepare_strided_allreduce<Ps...>(comm, detail::constant(in), out, op, algorithm);
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
