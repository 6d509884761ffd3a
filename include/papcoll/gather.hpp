#pragma once

#include <papcoll/entry.hpp>
#include <papcoll/request.hpp>

#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

template <class T>
Call gather_call(TeamCore& core, const T* in, T* out, std::size_t in_count, std::size_t out_count,
                 root to) {
  const auto ranks = static_cast<std::size_t>(core.size());
  Call call = call_of(Collective::gather, in, out, in_count);
  check_root(core, call.collective, to.rank);
  call.root = to.rank;
  const bool is_root = core.rank() == to.rank;
  require(core, call.collective, !is_root || in_count * ranks == out_count,
          "the root's output must have as many elements as all ranks contribute together: size() "
          "times the "
          "length of the input");
  check_buffers(core, call, in_count, is_root ? out_count : 0);
  return call;
}

template <class... Ps, class C, class T>
void run_gather(C&& comm, const T* in, T* out, std::size_t in_count, std::size_t out_count, root to,
                const Algorithm& algorithm) {
  TeamCore& core = core_of(comm);
  Call call = gather_call(core, in, out, in_count, out_count, to);
  execute(core, selection_of<Gather, false, true, Ps...>(algorithm), call,
          &choose<Collective::gather>);
}

}  // namespace detail

/// Gives the root the contributions of all, in rank order: there `out` has size() times as many
/// elements as `in`; elsewhere it is not looked at. Policies and errors as in allreduce.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
void gather(C&& comm, const In& in, Out&& out, root to, const Algorithm& algorithm = {}) {
  static_assert(is_writable<Out> && OutputRange<Out&&>, PAPCOLL_NOT_WRITABLE);
  static_assert(std::same_as<element_of<In>, element_of<Out>>, PAPCOLL_TYPES_DIFFER);
  detail::run_gather<Ps...>(comm, std::ranges::data(in), std::ranges::data(out),
                            std::ranges::size(in), std::ranges::size(out), to, algorithm);
}

/// In place: on the root its own contribution stands at its place in `data`; elsewhere `data` is the
/// contribution.
template <class... Ps, Team C, ContiguousRange R>
void gather(C&& comm, R&& data, root to, const Algorithm& algorithm = {}) {
  static_assert(is_writable<R> && OutputRange<R&&>, PAPCOLL_NOT_WRITABLE_IN_PLACE);
  TeamCore& core = detail::core_of(comm);
  auto* const p = std::ranges::data(data);
  const std::size_t all = std::ranges::size(data);
  if (core.rank() != to.rank) {
    return detail::run_gather<Ps...>(comm, p, p, all, 0, to, algorithm);
  }
  const auto ranks = static_cast<std::size_t>(core.size());
  detail::require(core, Collective::gather, all % ranks == 0,
                  "the root's data do not divide into size() equal parts");
  Call call = detail::call_of(Collective::gather, p, p, all / ranks);
  call.root = to.rank;
  call.in += static_cast<std::size_t>(to.rank) * call.bytes();
  call.input_in_output = true;
  detail::execute(core, detail::selection_of<Gather, false, true, Ps...>(algorithm), call,
                  &choose<Collective::gather>);
}

/// Pointer and count: `count` elements for each rank. The buffer that only the root needs may be
/// null elsewhere.
template <class... Ps, Team C, class T, std::integral N>
void gather(C&& comm, const T* in, std::type_identity_t<T>* out, N count, root to,
            const Algorithm& algorithm = {}) {
  TeamCore& core = detail::core_of(comm);
  const std::size_t n =
      detail::checked_count(core, Collective::gather, static_cast<std::ptrdiff_t>(count));
  const std::size_t all = n * static_cast<std::size_t>(core.size());
  detail::run_gather<Ps...>(comm, in, out, n, all, to, algorithm);
}

/// Non-blocking. Runs on the plan floor; see Request.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
[[nodiscard]] Request igather(C&& comm, const In& in, Out&& out, root to,
                              const Algorithm& algorithm = {}) {
  static_assert(is_writable<Out> && OutputRange<Out&&>, PAPCOLL_NOT_WRITABLE);
  static_assert(std::same_as<element_of<In>, element_of<Out>>, PAPCOLL_TYPES_DIFFER);
  TeamCore& core = detail::core_of(comm);
  Call call = detail::gather_call(core, std::ranges::data(in), std::ranges::data(out),
                                  std::ranges::size(in), std::ranges::size(out), to);
  return detail::start(core, detail::selection_of<Gather, true, true, Ps...>(algorithm), call,
                       &choose<Collective::gather>, nullptr);
}

}  // namespace papcoll::inline PAPCOLL_ABI
