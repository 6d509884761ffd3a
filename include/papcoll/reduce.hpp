#pragma once

#include <papcoll/entry.hpp>
#include <papcoll/request.hpp>

#include <cstddef>
#include <memory>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// The checked call of a reduce; `out_count` counts only on the root.
template <class T, class Op>
Call reduce_call(TeamCore& core, const T* in, T* out, std::size_t in_count, std::size_t out_count,
                 root to, const Op& op) {
  Call call = reduction_of(Collective::reduce, in, out, in_count, op);
  check_root(core, call.collective, to.rank);
  call.root = to.rank;
  const bool is_root = core.rank() == to.rank;
  require(core, call.collective, !is_root || in_count == out_count,
          "input and output of the root differ in length: the result has as many elements as each "
          "contribution");
  check_buffers(core, call, in_count, is_root ? out_count : 0);
  return call;
}

template <class... Ps, class C, class T, class Op>
void run_reduce(C&& comm, const T* in, T* out, std::size_t in_count, std::size_t out_count, root to,
                const Op& op, const Algorithm& algorithm) {
  TeamCore& core = core_of(comm);
  Call call = reduce_call(core, in, out, in_count, out_count, to, op);
  execute(core, selection_of<Reduce, false, is_commutative<Op, T>, Ps...>(algorithm), call,
          &choose<Collective::reduce>);
}

template <class... Ps, class C, class T, class Op>
Request start_reduce(C&& comm, const T* in, T* out, std::size_t in_count, std::size_t out_count,
                     root to, const Op& op, const Algorithm& algorithm) {
  TeamCore& core = core_of(comm);
  auto owned = std::make_shared<const Op>(op);
  Call call = reduce_call(core, in, out, in_count, out_count, to, *owned);
  return start(core, selection_of<Reduce, true, is_commutative<Op, T>, Ps...>(algorithm), call,
               &choose<Collective::reduce>, std::move(owned));
}

}  // namespace detail

/// Combines the elements of all ranks, position by position, and gives the result to the root.
/// Policies, operator, errors as in allreduce.
///
/// In place: on the root `data` is contribution and result; elsewhere it is unchanged.
template <class... Ps, Team C, ContiguousRange R, class Op = Sum>
void reduce(C&& comm, R&& data, root to, const Op& op = {}, const Algorithm& algorithm = {}) {
  static_assert(is_writable<R> && OutputRange<R&&>, PAPCOLL_NOT_WRITABLE_IN_PLACE);
  auto* const p = std::ranges::data(data);
  detail::run_reduce<Ps...>(comm, p, p, std::ranges::size(data), std::ranges::size(data), to, op,
                            algorithm);
}

/// Out of place: `out` has as many elements as `in` on the root, and is not looked at elsewhere.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out, class Op = Sum>
void reduce(C&& comm, const In& in, Out&& out, root to, const Op& op = {},
            const Algorithm& algorithm = {}) {
  static_assert(is_writable<Out> && OutputRange<Out&&>, PAPCOLL_NOT_WRITABLE);
  static_assert(std::same_as<element_of<In>, element_of<Out>>, PAPCOLL_TYPES_DIFFER);
  detail::run_reduce<Ps...>(comm, std::ranges::data(in), std::ranges::data(out),
                            std::ranges::size(in), std::ranges::size(out), to, op, algorithm);
}

/// Pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void reduce(C&& comm, T* data, N count, root to, const Op& op = {},
            const Algorithm& algorithm = {}) {
  const std::size_t n = detail::checked_count(detail::core_of(comm), Collective::reduce,
                                              static_cast<std::ptrdiff_t>(count));
  detail::run_reduce<Ps...>(comm, data, data, n, n, to, op, algorithm);
}

/// Pointer and count, out of place; `out` may be null where this rank is not the root.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void reduce(C&& comm, const T* in, std::type_identity_t<T>* out, N count, root to,
            const Op& op = {}, const Algorithm& algorithm = {}) {
  const std::size_t n = detail::checked_count(detail::core_of(comm), Collective::reduce,
                                              static_cast<std::ptrdiff_t>(count));
  detail::run_reduce<Ps...>(comm, in, out, n, n, to, op, algorithm);
}

/// One number: returns the result on the root, and `value` elsewhere.
template <class... Ps, Team C, class T, class Op = Sum>
requires std::is_arithmetic_v<T>
[[nodiscard]] T reduce(C&& comm, T value, root to, const Op& op = {},
                       const Algorithm& algorithm = {}) {
  detail::run_reduce<Ps...>(comm, &value, &value, 1, 1, to, op, algorithm);
  return value;
}

/// Non-blocking, in place. Runs on the plan floor; see Request.
template <class... Ps, Team C, ContiguousRange R, class Op = Sum>
[[nodiscard]] Request ireduce(C&& comm, R&& data, root to, const Op& op = {},
                              const Algorithm& algorithm = {}) {
  static_assert(is_writable<R> && OutputRange<R&&>, PAPCOLL_NOT_WRITABLE_IN_PLACE);
  auto* const p = std::ranges::data(data);
  return detail::start_reduce<Ps...>(comm, p, p, std::ranges::size(data), std::ranges::size(data),
                                     to, op, algorithm);
}

/// Non-blocking, out of place.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out, class Op = Sum>
[[nodiscard]] Request ireduce(C&& comm, const In& in, Out&& out, root to, const Op& op = {},
                              const Algorithm& algorithm = {}) {
  static_assert(is_writable<Out> && OutputRange<Out&&>, PAPCOLL_NOT_WRITABLE);
  static_assert(std::same_as<element_of<In>, element_of<Out>>, PAPCOLL_TYPES_DIFFER);
  return detail::start_reduce<Ps...>(comm, std::ranges::data(in), std::ranges::data(out),
                                     std::ranges::size(in), std::ranges::size(out), to, op,
                                     algorithm);
}

}  // namespace papcoll::inline PAPCOLL_ABI
