#pragma once

#include <papcoll/entry/entry.hpp>
#include <papcoll/entry/passed.hpp>
#include <papcoll/entry/wrong_call.hpp>
#include <papcoll/persistent.hpp>
#include <papcoll/request.hpp>

#include <cstddef>

namespace papcoll {
inline namespace PAPCOLL_ABI {

namespace detail {

template <class T>
Call scatter_call(const Caller& caller, root from, Passed<T> b) {
  count_elements(caller, b, from.rank);
  Call call = call_of(caller.collective, b.in, b.out, b.out_count);
  check_root(caller, from);
  call.root = from.rank;
  const bool is_root = caller.rank() == from.rank;
  const std::size_t total = of_all_ranks<T>(caller, b.out_count);
  caller.require_length(
      is_root ? b.in_count : total, total,
      "the root's input must have size() times as many elements as the output of each rank");
  check_buffers(caller, call, b, is_root ? b.in_count : 0, b.out_count);
  return call;
}

/// In place: on the root `data` holds all parts; elsewhere it is the part received.
template <class T>
Call scatter_call(const Caller& caller, root from, Passed<T> b, InPlace) {
  if (caller.rank() != from.rank) {
    b.in = nullptr;
    return scatter_call(caller, from, b);
  }
  count_elements(caller, b, from.rank);
  Call call = call_of(caller.collective, b.in, b.out, part_of_root<T>(caller, b.in_count));
  check_buffers(caller, call, b, b.in_count, 0);
  call.root = from.rank;
  call.input_in_output = true;
  return call;
}

template <class... Ps, class C, class... Buffers>
void run_scatter(C&& comm, const Algorithm& algorithm, root from, const Buffers&... buffers) {
  const Caller caller{core_of(comm), Collective::scatter};
  Call call = scatter_call(caller, from, buffers...);
  run<Scatter, true, Ps...>(caller, call, algorithm);
}

template <class... Ps, class C, class... Buffers>
Request start_scatter(C&& comm, const Algorithm& algorithm, root from, const Buffers&... buffers) {
  const Caller caller{core_of(comm), Collective::scatter, true};
  Call call = scatter_call(caller, from, buffers...);
  return start<Scatter, true, Ps...>(caller, call, algorithm, nullptr);
}

template <class... Ps, class C, class... Buffers>
Persistent prepare_scatter(C&& comm, const Algorithm& algorithm, root from,
                           const Buffers&... buffers) {
  const Caller caller{core_of(comm), Collective::scatter};
  Call call = scatter_call(caller, from, buffers...);
  return prepare<Scatter, true, Ps...>(caller, call, algorithm, nullptr);
}

}  // namespace detail

/// Gives each rank its part of the root's elements: there `in` has size() times as many elements as
/// `out`; elsewhere it is not looked at. Policies and errors as in allreduce.
template <class... Ps, Team C, Buffer In, Buffer Out>
void scatter(C&& comm, const In& in, Out&& out, root from, const Algorithm& algorithm = {}) {
  detail::run_scatter<Ps...>(comm, algorithm, from, detail::passed<In, Out>(in, out));
}

/// In place: on the root `data` holds all parts and is unchanged; elsewhere it is the part
/// received.
template <class... Ps, Team C, Buffer R>
void scatter(C&& comm, R&& data, root from, const Algorithm& algorithm = {}) {
  detail::run_scatter<Ps...>(comm, algorithm, from, detail::passed<R>(data), detail::InPlace{});
}

/// Pointer and count: `count` elements for each rank. The buffer that only the root needs may be
/// null elsewhere.
template <class... Ps, Team C, class T, std::integral N>
void scatter(C&& comm, const T* in, std::type_identity_t<T>* out, N count, root from,
             const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::scatter};
  const std::size_t n = detail::checked_block<T>(caller, count);
  detail::run_scatter<Ps...>(comm, algorithm, from,
                             detail::Passed<T>{in, out, n * caller.ranks(), n});
}

/// Pointer and count, in place: `data` has size() times `count` elements on the root, elsewhere
/// `count`.
template <class... Ps, Team C, class T, std::integral N>
void scatter(C&& comm, T* data, N count, root from, const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::scatter};
  const std::size_t n = detail::checked_block<T>(caller, count);
  detail::run_scatter<Ps...>(
      comm, algorithm, from,
      detail::passed(data, caller.rank() == from.rank ? n * caller.ranks() : n), detail::InPlace{});
}

/// Non-blocking. Runs a static schedule; see Request.
template <class... Ps, Team C, Buffer In, Buffer Out>
[[nodiscard]] Request iscatter(C&& comm, In&& in, Out&& out, root from,
                               const Algorithm& algorithm = {}) {
  return detail::start_scatter<Ps...>(comm, algorithm, from,
                                      detail::passed_to_keep<In, Out>(in, out));
}

/// Non-blocking, in place.
template <class... Ps, Team C, Buffer R>
[[nodiscard]] Request iscatter(C&& comm, R&& data, root from, const Algorithm& algorithm = {}) {
  return detail::start_scatter<Ps...>(comm, algorithm, from, detail::passed<R>(data),
                                      detail::InPlace{});
}

/// Non-blocking, pointer and count.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Request iscatter(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
                               root from, const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::scatter, true};
  const std::size_t n = detail::checked_block<T>(caller, count);
  return detail::start_scatter<Ps...>(comm, algorithm, from,
                                      detail::Passed<T>{in, out, n * caller.ranks(), n});
}

/// Non-blocking, pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Request iscatter(C&& comm, T* data, N count, root from,
                               const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::scatter, true};
  const std::size_t n = detail::checked_block<T>(caller, count);
  return detail::start_scatter<Ps...>(
      comm, algorithm, from,
      detail::passed(data, caller.rank() == from.rank ? n * caller.ranks() : n), detail::InPlace{});
}

/// Persistent; see there.
template <class... Ps, Team C, Buffer In, Buffer Out>
[[nodiscard]] Persistent scatter_init(C&& comm, In&& in, Out&& out, root from,
                                      const Algorithm& algorithm = {}) {
  return detail::prepare_scatter<Ps...>(comm, algorithm, from,
                                        detail::passed_to_keep<In, Out>(in, out));
}

/// Persistent, in place.
template <class... Ps, Team C, Buffer R>
[[nodiscard]] Persistent scatter_init(C&& comm, R&& data, root from,
                                      const Algorithm& algorithm = {}) {
  return detail::prepare_scatter<Ps...>(comm, algorithm, from, detail::passed<R>(data),
                                        detail::InPlace{});
}

/// Persistent, pointer and count.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Persistent scatter_init(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
                                      root from, const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::scatter};
  const std::size_t n = detail::checked_block<T>(caller, count);
  return detail::prepare_scatter<Ps...>(comm, algorithm, from,
                                        detail::Passed<T>{in, out, n * caller.ranks(), n});
}

/// Persistent, pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Persistent scatter_init(C&& comm, T* data, N count, root from,
                                      const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::scatter};
  const std::size_t n = detail::checked_block<T>(caller, count);
  return detail::prepare_scatter<Ps...>(
      comm, algorithm, from,
      detail::passed(data, caller.rank() == from.rank ? n * caller.ranks() : n), detail::InPlace{});
}

PAPCOLL_WRONG_CALL(detail::NoResult, scatter,
                   ", in, out, papcoll::root{0} [, algorithm]) or scatter(comm, data, "
                   "papcoll::root{0} [, algorithm]")
PAPCOLL_WRONG_CALL(Request, iscatter,
                   ", in, out, papcoll::root{0} [, algorithm]) or iscatter(comm, data, "
                   "papcoll::root{0} [, algorithm]")
PAPCOLL_WRONG_CALL(Persistent, scatter_init,
                   ", in, out, papcoll::root{0} [, algorithm]) or scatter_init(comm, data, "
                   "papcoll::root{0} [, algorithm]")

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
