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
Call gather_call(const Caller& caller, root to, Passed<T> b) {
  count_elements(caller, b, to.rank);
  Call call = call_of(caller.collective, b.in, b.out, b.in_count);
  check_root(caller, to);
  call.root = to.rank;
  const bool is_root = caller.rank() == to.rank;
  const std::size_t total = of_all_ranks<T>(caller, b.in_count);
  caller.require_length(is_root ? b.out_count : total, total,
                        "the root's output must have as many elements as all ranks contribute "
                        "together: size() times the length of the input");
  check_buffers(caller, call, b, b.in_count, is_root ? b.out_count : 0);
  return call;
}

/// In place: on the root its contribution stands at its place in `data`; elsewhere `data` is it.
template <class T>
Call gather_call(const Caller& caller, root to, Passed<T> b, InPlace) {
  if (caller.rank() != to.rank) {
    b.out = nullptr;
    return gather_call(caller, to, b);
  }
  count_elements(caller, b, to.rank);
  Call call = call_of(caller.collective, b.in, b.out, part_of_root<T>(caller, b.in_count));
  check_buffers(caller, call, b, 0, b.in_count);
  call.root = to.rank;
  begin_with_own_block(call, caller.rank());
  return call;
}

template <class... Ps, class C, class... Buffers>
void run_gather(C&& comm, const Algorithm& algorithm, root to, const Buffers&... buffers) {
  const Caller caller{core_of(comm), Collective::gather};
  Call call = gather_call(caller, to, buffers...);
  run<Gather, true, Ps...>(caller, call, algorithm);
}

template <class... Ps, class C, class... Buffers>
Request start_gather(C&& comm, const Algorithm& algorithm, root to, const Buffers&... buffers) {
  const Caller caller{core_of(comm), Collective::gather, true};
  Call call = gather_call(caller, to, buffers...);
  return start<Gather, true, Ps...>(caller, call, algorithm, nullptr);
}

template <class... Ps, class C, class... Buffers>
Persistent prepare_gather(C&& comm, const Algorithm& algorithm, root to,
                          const Buffers&... buffers) {
  const Caller caller{core_of(comm), Collective::gather};
  Call call = gather_call(caller, to, buffers...);
  return prepare<Gather, true, Ps...>(caller, call, algorithm, nullptr);
}

}  // namespace detail

/// Gives the root the contributions of all, in rank order: there `out` has size() times as many
/// elements as `in`; elsewhere it is not looked at. Policies and errors as in allreduce.
template <class... Ps, Team C, Buffer In, Buffer Out>
void gather(C&& comm, const In& in, Out&& out, root to, const Algorithm& algorithm = {}) {
  detail::run_gather<Ps...>(comm, algorithm, to, detail::passed<In, Out>(in, out));
}

/// In place: on the root its own contribution stands at its place in `data`; elsewhere `data` is
/// the contribution.
template <class... Ps, Team C, Buffer R>
void gather(C&& comm, R&& data, root to, const Algorithm& algorithm = {}) {
  detail::run_gather<Ps...>(comm, algorithm, to, detail::passed<R>(data), detail::InPlace{});
}

/// Pointer and count: `count` elements for each rank. The buffer that only the root needs may be
/// null elsewhere.
template <class... Ps, Team C, class T, std::integral N>
void gather(C&& comm, const T* in, std::type_identity_t<T>* out, N count, root to,
            const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::gather};
  const std::size_t n = detail::checked_block<T>(caller, count);
  detail::run_gather<Ps...>(comm, algorithm, to, detail::Passed<T>{in, out, n, n * caller.ranks()});
}

/// Pointer and count, in place: `data` has size() times `count` elements on the root, elsewhere
/// `count`.
template <class... Ps, Team C, class T, std::integral N>
void gather(C&& comm, T* data, N count, root to, const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::gather};
  const std::size_t n = detail::checked_block<T>(caller, count);
  detail::run_gather<Ps...>(comm, algorithm, to,
                            detail::passed(data, caller.rank() == to.rank ? n * caller.ranks() : n),
                            detail::InPlace{});
}

/// Non-blocking. Runs a static schedule; see Request.
template <class... Ps, Team C, Buffer In, Buffer Out>
[[nodiscard]] Request igather(C&& comm, In&& in, Out&& out, root to,
                              const Algorithm& algorithm = {}) {
  return detail::start_gather<Ps...>(comm, algorithm, to, detail::passed_to_keep<In, Out>(in, out));
}

/// Non-blocking, in place.
template <class... Ps, Team C, Buffer R>
[[nodiscard]] Request igather(C&& comm, R&& data, root to, const Algorithm& algorithm = {}) {
  return detail::start_gather<Ps...>(comm, algorithm, to, detail::passed<R>(data),
                                     detail::InPlace{});
}

/// Non-blocking, pointer and count.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Request igather(C&& comm, const T* in, std::type_identity_t<T>* out, N count, root to,
                              const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::gather, true};
  const std::size_t n = detail::checked_block<T>(caller, count);
  return detail::start_gather<Ps...>(comm, algorithm, to,
                                     detail::Passed<T>{in, out, n, n * caller.ranks()});
}

/// Non-blocking, pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Request igather(C&& comm, T* data, N count, root to,
                              const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::gather, true};
  const std::size_t n = detail::checked_block<T>(caller, count);
  return detail::start_gather<Ps...>(
      comm, algorithm, to, detail::passed(data, caller.rank() == to.rank ? n * caller.ranks() : n),
      detail::InPlace{});
}

/// Persistent; see there.
template <class... Ps, Team C, Buffer In, Buffer Out>
[[nodiscard]] Persistent gather_init(C&& comm, In&& in, Out&& out, root to,
                                     const Algorithm& algorithm = {}) {
  return detail::prepare_gather<Ps...>(comm, algorithm, to,
                                       detail::passed_to_keep<In, Out>(in, out));
}

/// Persistent, in place.
template <class... Ps, Team C, Buffer R>
[[nodiscard]] Persistent gather_init(C&& comm, R&& data, root to, const Algorithm& algorithm = {}) {
  return detail::prepare_gather<Ps...>(comm, algorithm, to, detail::passed<R>(data),
                                       detail::InPlace{});
}

/// Persistent, pointer and count.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Persistent gather_init(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
                                     root to, const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::gather};
  const std::size_t n = detail::checked_block<T>(caller, count);
  return detail::prepare_gather<Ps...>(comm, algorithm, to,
                                       detail::Passed<T>{in, out, n, n * caller.ranks()});
}

/// Persistent, pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Persistent gather_init(C&& comm, T* data, N count, root to,
                                     const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::gather};
  const std::size_t n = detail::checked_block<T>(caller, count);
  return detail::prepare_gather<Ps...>(
      comm, algorithm, to, detail::passed(data, caller.rank() == to.rank ? n * caller.ranks() : n),
      detail::InPlace{});
}

PAPCOLL_WRONG_CALL(detail::NoResult, gather,
                   ", in, out, papcoll::root{0} [, algorithm]) or gather(comm, data, "
                   "papcoll::root{0} [, algorithm]")
PAPCOLL_WRONG_CALL(Request, igather,
                   ", in, out, papcoll::root{0} [, algorithm]) or igather(comm, data, "
                   "papcoll::root{0} [, algorithm]")
PAPCOLL_WRONG_CALL(Persistent, gather_init,
                   ", in, out, papcoll::root{0} [, algorithm]) or gather_init(comm, data, "
                   "papcoll::root{0} [, algorithm]")

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
