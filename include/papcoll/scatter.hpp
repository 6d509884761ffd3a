#pragma once

#include <papcoll/entry.hpp>
#include <papcoll/request.hpp>

#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

template <class T>
Call scatter_call(TeamCore& core, const T* in, T* out, std::size_t in_count, std::size_t out_count,
                  root from) {
  const auto ranks = static_cast<std::size_t>(core.size());
  Call call = call_of(Collective::scatter, in, out, out_count);
  check_root(core, call.collective, from.rank);
  call.root = from.rank;
  const bool is_root = core.rank() == from.rank;
  require(core, call.collective, !is_root || out_count * ranks == in_count,
          "the root's input must have size() times as many elements as the output of each rank");
  check_buffers(core, call, is_root ? in_count : 0, out_count);
  return call;
}

template <class... Ps, class C, class T>
void run_scatter(C&& comm, const T* in, T* out, std::size_t in_count, std::size_t out_count,
                 root from, const Algorithm& algorithm) {
  TeamCore& core = core_of(comm);
  Call call = scatter_call(core, in, out, in_count, out_count, from);
  execute(core, selection_of<Scatter, false, true, Ps...>(algorithm), call,
          &choose<Collective::scatter>);
}

}  // namespace detail

/// Gives each rank its part of the root's elements: there `in` has size() times as many elements as
/// `out`; elsewhere it is not looked at. Policies and errors as in allreduce.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
void scatter(C&& comm, const In& in, Out&& out, root from, const Algorithm& algorithm = {}) {
  static_assert(is_writable<Out> && OutputRange<Out&&>, PAPCOLL_NOT_WRITABLE);
  static_assert(std::same_as<element_of<In>, element_of<Out>>, PAPCOLL_TYPES_DIFFER);
  detail::run_scatter<Ps...>(comm, std::ranges::data(in), std::ranges::data(out),
                             std::ranges::size(in), std::ranges::size(out), from, algorithm);
}

/// In place: on the root `data` holds all parts and is unchanged; elsewhere it is the part received.
template <class... Ps, Team C, ContiguousRange R>
void scatter(C&& comm, R&& data, root from, const Algorithm& algorithm = {}) {
  static_assert(is_writable<R> && OutputRange<R&&>, PAPCOLL_NOT_WRITABLE_IN_PLACE);
  TeamCore& core = detail::core_of(comm);
  auto* const p = std::ranges::data(data);
  const std::size_t all = std::ranges::size(data);
  if (core.rank() != from.rank) {
    return detail::run_scatter<Ps...>(comm, p, p, 0, all, from, algorithm);
  }
  const auto ranks = static_cast<std::size_t>(core.size());
  detail::require(core, Collective::scatter, all % ranks == 0,
                  "the root's data do not divide into size() equal parts");
  Call call = detail::call_of(Collective::scatter, p, p, all / ranks);
  call.root = from.rank;
  call.input_in_output = true;
  detail::execute(core, detail::selection_of<Scatter, false, true, Ps...>(algorithm), call,
                  &choose<Collective::scatter>);
}

/// Pointer and count: `count` elements for each rank. The buffer that only the root needs may be
/// null elsewhere.
template <class... Ps, Team C, class T, std::integral N>
void scatter(C&& comm, const T* in, std::type_identity_t<T>* out, N count, root from,
             const Algorithm& algorithm = {}) {
  TeamCore& core = detail::core_of(comm);
  const std::size_t n =
      detail::checked_count(core, Collective::scatter, static_cast<std::ptrdiff_t>(count));
  const std::size_t all = n * static_cast<std::size_t>(core.size());
  detail::run_scatter<Ps...>(comm, in, out, all, n, from, algorithm);
}

/// Non-blocking. Runs on the plan floor; see Request.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
[[nodiscard]] Request iscatter(C&& comm, const In& in, Out&& out, root from,
                               const Algorithm& algorithm = {}) {
  static_assert(is_writable<Out> && OutputRange<Out&&>, PAPCOLL_NOT_WRITABLE);
  static_assert(std::same_as<element_of<In>, element_of<Out>>, PAPCOLL_TYPES_DIFFER);
  TeamCore& core = detail::core_of(comm);
  Call call = detail::scatter_call(core, std::ranges::data(in), std::ranges::data(out),
                                   std::ranges::size(in), std::ranges::size(out), from);
  return detail::start(core, detail::selection_of<Scatter, true, true, Ps...>(algorithm), call,
                       &choose<Collective::scatter>, nullptr);
}

}  // namespace papcoll::inline PAPCOLL_ABI
