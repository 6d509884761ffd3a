#pragma once

#include <papcoll/entry.hpp>
#include <papcoll/request.hpp>

#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// `in` null: in place, this rank's contribution stands at its place in `out`.
template <class T>
Call allgather_call(TeamCore& core, const T* in, T* out, std::size_t in_count,
                    std::size_t out_count, bool in_place) {
  const auto ranks = static_cast<std::size_t>(core.size());
  require(
      core, Collective::allgather,
      in_place ? out_count % ranks == 0 : in_count * ranks == out_count,
      "the output must have as many elements as all ranks contribute together: size() times the "
      "length of the input");
  const std::size_t each = out_count / ranks;
  const T* const own = in_place ? out + static_cast<std::size_t>(core.rank()) * each : in;
  Call call = call_of(Collective::allgather, own, out, each);
  if (in_place) {
    check_buffers(core, call_of(Collective::allgather, out, out, each), out_count, out_count);
    // To the floors below, in place means that input and output are one buffer.
    call.in = call.out + static_cast<std::size_t>(core.rank()) * each * sizeof(T);
    call.input_in_output = true;
  } else {
    check_buffers(core, call, in_count, out_count);
  }
  return call;
}

template <class... Ps, class C, class T>
void run_allgather(C&& comm, const T* in, T* out, std::size_t in_count, std::size_t out_count,
                   bool in_place, const Algorithm& algorithm) {
  TeamCore& core = core_of(comm);
  Call call = allgather_call(core, in, out, in_count, out_count, in_place);
  execute(core, selection_of<Allgather, false, true, Ps...>(algorithm), call,
          &choose<Collective::allgather>);
}

template <class... Ps, class C, class T>
Request start_allgather(C&& comm, const T* in, T* out, std::size_t in_count, std::size_t out_count,
                        bool in_place, const Algorithm& algorithm) {
  TeamCore& core = core_of(comm);
  Call call = allgather_call(core, in, out, in_count, out_count, in_place);
  return start(core, selection_of<Allgather, true, true, Ps...>(algorithm), call,
               &choose<Collective::allgather>, nullptr);
}

}  // namespace detail

/// Gives every rank the contributions of all, in rank order: `out` has size() times as many elements
/// as `in`. Policies and errors as in allreduce.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
void allgather(C&& comm, const In& in, Out&& out, const Algorithm& algorithm = {}) {
  static_assert(is_writable<Out> && OutputRange<Out&&>, PAPCOLL_NOT_WRITABLE);
  static_assert(std::same_as<element_of<In>, element_of<Out>>, PAPCOLL_TYPES_DIFFER);
  detail::run_allgather<Ps...>(comm, std::ranges::data(in), std::ranges::data(out),
                               std::ranges::size(in), std::ranges::size(out), false, algorithm);
}

/// In place: rank r's contribution is part r of size() equal parts of `data`.
template <class... Ps, Team C, ContiguousRange R>
void allgather(C&& comm, R&& data, const Algorithm& algorithm = {}) {
  static_assert(is_writable<R> && OutputRange<R&&>, PAPCOLL_NOT_WRITABLE_IN_PLACE);
  auto* const p = std::ranges::data(data);
  detail::run_allgather<Ps...>(comm, p, p, 0, std::ranges::size(data), true, algorithm);
}

/// Pointer and count: each rank contributes `count` elements.
template <class... Ps, Team C, class T, std::integral N>
void allgather(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
               const Algorithm& algorithm = {}) {
  TeamCore& core = detail::core_of(comm);
  const std::size_t n =
      detail::checked_count(core, Collective::allgather, static_cast<std::ptrdiff_t>(count));
  detail::run_allgather<Ps...>(comm, in, out, n, n * static_cast<std::size_t>(core.size()), false,
                               algorithm);
}

/// Non-blocking. Runs on the plan floor; see Request.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
[[nodiscard]] Request iallgather(C&& comm, const In& in, Out&& out,
                                 const Algorithm& algorithm = {}) {
  static_assert(is_writable<Out> && OutputRange<Out&&>, PAPCOLL_NOT_WRITABLE);
  static_assert(std::same_as<element_of<In>, element_of<Out>>, PAPCOLL_TYPES_DIFFER);
  return detail::start_allgather<Ps...>(comm, std::ranges::data(in), std::ranges::data(out),
                                        std::ranges::size(in), std::ranges::size(out), false,
                                        algorithm);
}

/// Non-blocking, in place.
template <class... Ps, Team C, ContiguousRange R>
[[nodiscard]] Request iallgather(C&& comm, R&& data, const Algorithm& algorithm = {}) {
  static_assert(is_writable<R> && OutputRange<R&&>, PAPCOLL_NOT_WRITABLE_IN_PLACE);
  auto* const p = std::ranges::data(data);
  return detail::start_allgather<Ps...>(comm, p, p, 0, std::ranges::size(data), true, algorithm);
}

}  // namespace papcoll::inline PAPCOLL_ABI
