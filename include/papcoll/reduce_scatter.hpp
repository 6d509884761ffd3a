#pragma once

#include <papcoll/entry.hpp>
#include <papcoll/request.hpp>

#include <cstddef>
#include <memory>
#include <span>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// The checked call. `each`: elements of every rank, or empty for equal blocks of `in`.
template <class T, class Op>
Call reduce_scatter_call(TeamCore& core, const T* in, T* out, std::size_t in_count,
                         std::size_t out_count, std::span<const std::size_t> each, const Op& op) {
  const auto ranks = static_cast<std::size_t>(core.size());
  const auto me = static_cast<std::size_t>(core.rank());
  Call call = reduction_of(Collective::reduce_scatter, in, out, in_count / ranks, op);
  std::size_t own = call.count;
  if (each.empty()) {
    require(
        core, call.collective, in_count % ranks == 0,
        "the input does not divide into equal blocks: give it a multiple of size() elements, or "
        "papcoll::counts");
  } else {
    require(core, call.collective, each.size() == ranks,
            "papcoll::counts needs one number for each rank");
    std::size_t total = 0;
    for (const std::size_t n : each) total += n;
    require(core, call.collective, total == in_count,
            "the input must have as many elements as papcoll::counts adds up to");
    own = each[me];
    call.counts = each.data();
    // Peers compare what the counts add up to; each of them where messages meet.
    call.count = total;
  }
  require(core, call.collective, call.in_place() ? out_count >= own : out_count == own,
          "the output must have as many elements as this rank's block");
  check_buffers(core, call, in_count, call.in_place() ? in_count : out_count);
  return call;
}

template <class... Ps, class C, class T, class Op>
void run_reduce_scatter(C&& comm, const T* in, T* out, std::size_t in_count, std::size_t out_count,
                        std::span<const std::size_t> each, const Op& op,
                        const Algorithm& algorithm) {
  TeamCore& core = core_of(comm);
  Call call = reduce_scatter_call(core, in, out, in_count, out_count, each, op);
  execute(core, selection_of<ReduceScatter, false, is_commutative<Op, T>, Ps...>(algorithm), call,
          &choose<Collective::reduce_scatter>);
}

template <class... Ps, class C, class T, class Op>
Request start_reduce_scatter(C&& comm, const T* in, T* out, std::size_t in_count,
                             std::size_t out_count, std::span<const std::size_t> each, const Op& op,
                             const Algorithm& algorithm) {
  TeamCore& core = core_of(comm);
  auto owned = std::make_shared<const Op>(op);
  Call call = reduce_scatter_call(core, in, out, in_count, out_count, each, *owned);
  return start(core, selection_of<ReduceScatter, true, is_commutative<Op, T>, Ps...>(algorithm),
               call, &choose<Collective::reduce_scatter>, std::move(owned));
}

}  // namespace detail

/// Combines the elements of all ranks and gives each rank its block of the result: `in` has size()
/// equal blocks, `out` one. Policies, operator, errors as in allreduce.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out, class Op = Sum>
requires(!std::same_as<std::remove_cvref_t<Out>, counts>) void reduce_scatter(
    C&& comm, const In& in, Out&& out, const Op& op = {}, const Algorithm& algorithm = {}) {
  static_assert(is_writable<Out> && OutputRange<Out&&>, PAPCOLL_NOT_WRITABLE);
  static_assert(std::same_as<element_of<In>, element_of<Out>>, PAPCOLL_TYPES_DIFFER);
  detail::run_reduce_scatter<Ps...>(comm, std::ranges::data(in), std::ranges::data(out),
                                    std::ranges::size(in), std::ranges::size(out), {}, op,
                                    algorithm);
}

/// With counts: rank r gets each.of_rank[r] elements.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out, class Op = Sum>
void reduce_scatter(C&& comm, const In& in, Out&& out, const counts& each, const Op& op = {},
                    const Algorithm& algorithm = {}) {
  static_assert(is_writable<Out> && OutputRange<Out&&>, PAPCOLL_NOT_WRITABLE);
  static_assert(std::same_as<element_of<In>, element_of<Out>>, PAPCOLL_TYPES_DIFFER);
  detail::run_reduce_scatter<Ps...>(comm, std::ranges::data(in), std::ranges::data(out),
                                    std::ranges::size(in), std::ranges::size(out), each.of_rank, op,
                                    algorithm);
}

/// In place: `data` is the whole input; this rank's block of the result is at its beginning
/// afterwards, and the rest is undefined.
template <class... Ps, Team C, ContiguousRange R, class Op = Sum>
requires(!ContiguousRange<Op> &&
         !std::same_as<Op, counts>) void reduce_scatter(C&& comm, R&& data, const Op& op = {},
                                                        const Algorithm& algorithm = {}) {
  static_assert(is_writable<R> && OutputRange<R&&>, PAPCOLL_NOT_WRITABLE_IN_PLACE);
  auto* const p = std::ranges::data(data);
  detail::run_reduce_scatter<Ps...>(comm, p, p, std::ranges::size(data), std::ranges::size(data),
                                    {}, op, algorithm);
}

/// In place, with counts.
template <class... Ps, Team C, ContiguousRange R, class Op = Sum>
void reduce_scatter(C&& comm, R&& data, const counts& each, const Op& op = {},
                    const Algorithm& algorithm = {}) {
  static_assert(is_writable<R> && OutputRange<R&&>, PAPCOLL_NOT_WRITABLE_IN_PLACE);
  auto* const p = std::ranges::data(data);
  detail::run_reduce_scatter<Ps...>(comm, p, p, std::ranges::size(data), std::ranges::size(data),
                                    each.of_rank, op, algorithm);
}

/// Pointer and count: each rank gets `count` elements.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void reduce_scatter(C&& comm, const T* in, std::type_identity_t<T>* out, N count, const Op& op = {},
                    const Algorithm& algorithm = {}) {
  TeamCore& core = detail::core_of(comm);
  const std::size_t n =
      detail::checked_count(core, Collective::reduce_scatter, static_cast<std::ptrdiff_t>(count));
  detail::run_reduce_scatter<Ps...>(comm, in, out, n * static_cast<std::size_t>(core.size()), n, {},
                                    op, algorithm);
}

/// Non-blocking, equal blocks. Runs on the plan floor; see Request.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out, class Op = Sum>
[[nodiscard]] Request ireduce_scatter(C&& comm, const In& in, Out&& out, const Op& op = {},
                                      const Algorithm& algorithm = {}) {
  static_assert(is_writable<Out> && OutputRange<Out&&>, PAPCOLL_NOT_WRITABLE);
  static_assert(std::same_as<element_of<In>, element_of<Out>>, PAPCOLL_TYPES_DIFFER);
  return detail::start_reduce_scatter<Ps...>(comm, std::ranges::data(in), std::ranges::data(out),
                                             std::ranges::size(in), std::ranges::size(out), {}, op,
                                             algorithm);
}

/// Non-blocking, with counts, which may be gone when the call returns.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out, class Op = Sum>
[[nodiscard]] Request ireduce_scatter(C&& comm, const In& in, Out&& out, const counts& each,
                                      const Op& op = {}, const Algorithm& algorithm = {}) {
  static_assert(is_writable<Out> && OutputRange<Out&&>, PAPCOLL_NOT_WRITABLE);
  static_assert(std::same_as<element_of<In>, element_of<Out>>, PAPCOLL_TYPES_DIFFER);
  return detail::start_reduce_scatter<Ps...>(comm, std::ranges::data(in), std::ranges::data(out),
                                             std::ranges::size(in), std::ranges::size(out),
                                             each.of_rank, op, algorithm);
}

}  // namespace papcoll::inline PAPCOLL_ABI
