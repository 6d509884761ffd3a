#pragma once

#include <papcoll/entry.hpp>
#include <papcoll/request.hpp>

#include <cstddef>
#include <memory>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

template <class... Ps, class C, class T, class Op>
void run_allreduce(C&& comm, const T* in, T* out, std::size_t in_count, std::size_t out_count,
                   const Op& op, const Algorithm& algorithm) {
  TeamCore& core = core_of(comm);
  Call call = reduction_of(Collective::allreduce, in, out, in_count, op);
  require(core, call.collective, in_count == out_count,
          "input and output differ in length: an allreduce needs the same number of elements");
  check_buffers(core, call, in_count, out_count);
  execute(core, selection_of<Allreduce, false, is_commutative<Op, T>, Ps...>(algorithm), call,
          &choose<Collective::allreduce>);
}

template <class... Ps, class C, class T, class Op>
Request start_allreduce(C&& comm, const T* in, T* out, std::size_t in_count, std::size_t out_count,
                        const Op& op, const Algorithm& algorithm) {
  TeamCore& core = core_of(comm);
  auto owned = std::make_shared<const Op>(op);
  Call call = reduction_of(Collective::allreduce, in, out, in_count, *owned);
  require(core, call.collective, in_count == out_count,
          "input and output differ in length: an allreduce needs the same number of elements");
  check_buffers(core, call, in_count, out_count);
  return start(core, selection_of<Allreduce, true, is_commutative<Op, T>, Ps...>(algorithm), call,
               &choose<Collective::allreduce>, std::move(owned));
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
  static_assert(is_writable<R> && OutputRange<R&&>, PAPCOLL_NOT_WRITABLE_IN_PLACE);
  auto* const p = std::ranges::data(data);
  detail::run_allreduce<Ps...>(comm, p, p, std::ranges::size(data), std::ranges::size(data), op,
                               algorithm);
}

/// Out of place: `in` is unchanged, `out` has as many elements.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out, class Op = Sum>
void allreduce(C&& comm, const In& in, Out&& out, const Op& op = {},
               const Algorithm& algorithm = {}) {
  static_assert(is_writable<Out> && OutputRange<Out&&>, PAPCOLL_NOT_WRITABLE);
  static_assert(std::same_as<element_of<In>, element_of<Out>>, PAPCOLL_TYPES_DIFFER);
  detail::run_allreduce<Ps...>(comm, std::ranges::data(in), std::ranges::data(out),
                               std::ranges::size(in), std::ranges::size(out), op, algorithm);
}

/// Pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void allreduce(C&& comm, T* data, N count, const Op& op = {}, const Algorithm& algorithm = {}) {
  const std::size_t n = detail::checked_count(detail::core_of(comm), Collective::allreduce,
                                              static_cast<std::ptrdiff_t>(count));
  detail::run_allreduce<Ps...>(comm, data, data, n, n, op, algorithm);
}

/// Pointer and count, out of place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void allreduce(C&& comm, const T* in, std::type_identity_t<T>* out, N count, const Op& op = {},
               const Algorithm& algorithm = {}) {
  const std::size_t n = detail::checked_count(detail::core_of(comm), Collective::allreduce,
                                              static_cast<std::ptrdiff_t>(count));
  detail::run_allreduce<Ps...>(comm, in, out, n, n, op, algorithm);
}

/// One number: returns the result.
template <class... Ps, Team C, class T, class Op = Sum>
requires std::is_arithmetic_v<T>
[[nodiscard]] T allreduce(C&& comm, T value, const Op& op = {}, const Algorithm& algorithm = {}) {
  detail::run_allreduce<Ps...>(comm, &value, &value, 1, 1, op, algorithm);
  return value;
}

/// Non-blocking, in place. Runs on the plan floor; see Request.
template <class... Ps, Team C, ContiguousRange R, class Op = Sum>
requires(!ContiguousRange<Op>) [[nodiscard]] Request
    iallreduce(C&& comm, R&& data, const Op& op = {}, const Algorithm& algorithm = {}) {
  static_assert(
      is_writable<R> && OutputRange<R&&>,
      "papcoll: an in-place collective writes its buffer: pass an lvalue or a std::span of "
      "non-const elements");
  auto* const p = std::ranges::data(data);
  return detail::start_allreduce<Ps...>(comm, p, p, std::ranges::size(data),
                                        std::ranges::size(data), op, algorithm);
}

/// Non-blocking, out of place.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out, class Op = Sum>
[[nodiscard]] Request iallreduce(C&& comm, const In& in, Out&& out, const Op& op = {},
                                 const Algorithm& algorithm = {}) {
  static_assert(is_writable<Out> && OutputRange<Out&&>, PAPCOLL_NOT_WRITABLE);
  static_assert(std::same_as<element_of<In>, element_of<Out>>, PAPCOLL_TYPES_DIFFER);
  return detail::start_allreduce<Ps...>(comm, std::ranges::data(in), std::ranges::data(out),
                                        std::ranges::size(in), std::ranges::size(out), op,
                                        algorithm);
}

}  // namespace papcoll::inline PAPCOLL_ABI
