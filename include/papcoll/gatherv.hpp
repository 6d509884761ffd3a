#pragma once

#include <papcoll/entry/block_arguments.hpp>
#include <papcoll/entry/entry.hpp>
#include <papcoll/entry/wrong_call.hpp>
#include <papcoll/gather.hpp>
#include <papcoll/persistent.hpp>
#include <papcoll/request.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

namespace detail {

template <class... Ps, class C, class T>
void run_gatherv(C&& comm, root r, const TypedBlocks<T>& a, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::gather, false, true};
  Call call = gatherv_call(caller, r, a.untyped(), blocks_of(caller));
  run<Gather, true, Ps...>(caller, call, algorithm);
}

template <class... Ps, class C, class T>
Request start_gatherv(C&& comm, root r, const TypedBlocks<T>& a, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::gather, true, true};
  auto owned = std::make_shared<CallBlocks>();
  Call call = gatherv_call(caller, r, a.untyped(), *owned);
  return start<Gather, true, Ps...>(caller, call, algorithm, std::move(owned));
}

template <class... Ps, class C, class T>
Persistent prepare_gatherv(C&& comm, root r, const TypedBlocks<T>& a, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::gather, false, true};
  auto owned = std::make_shared<CallBlocks>();
  Call call = gatherv_call(caller, r, a.untyped(), *owned);
  return prepare<Gather, true, Ps...>(caller, call, algorithm, std::move(owned));
}

}  // namespace detail

/// Gives the root the contributions of all, where these differ in length. There `each` says for
/// every rank how long its contribution is: papcoll::counts{lengths}, one after the other in rank
/// order, or papcoll::blocks{lengths, displacements}; nothing is written between them. Elsewhere
/// `each` may be papcoll::counts{}, but for schedules that pass contributions on (all but Linear
/// and BlockCopies), and `out` is not looked at. Policies and errors as in allreduce.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
void gatherv(C&& comm, const In& in, Out&& out, const blocks& each, root to,
             const Algorithm& algorithm = {}) {
  using T = element_of<In>;
  detail::run_gatherv<Ps...>(
      comm, to,
      detail::TypedBlocks<T>{std::ranges::data(in), std::ranges::size(in),
                             detail::data_out<T, Out>(out), std::ranges::size(out), each},
      algorithm);
}

/// In place: on the root its contribution stands at its place in `data`; elsewhere `data` is the
/// contribution.
template <class... Ps, Team C, ContiguousRange R>
void gatherv(C&& comm, R&& data, const blocks& each, root to, const Algorithm& algorithm = {}) {
  using T = element_of<R>;
  T* const p = detail::data_in_place<R>(data);
  const std::size_t n = std::ranges::size(data);
  detail::run_gatherv<Ps...>(comm, to, detail::TypedBlocks<T>{p, n, p, n, each, true}, algorithm);
}

/// Pointers: the buffers end where their blocks do, so that all ranks pass counts. The buffer that
/// only the root needs may be null elsewhere.
template <class... Ps, Team C, class T>
void gatherv(C&& comm, const T* in, std::type_identity_t<T>* out, const blocks& each, root to,
             const Algorithm& algorithm = {}) {
  constexpr std::size_t any = detail::BlockedBuffer::any_length;
  detail::run_gatherv<Ps...>(comm, to, detail::TypedBlocks<T>{in, any, out, any, each}, algorithm);
}

/// Returns on the root the contributions of all, in rank order, elsewhere nothing: the ranks tell
/// it first how long they are. Not by schedules that pass contributions on.
template <class... Ps, Team C, ContiguousRange In>
[[nodiscard]] std::vector<element_of<In>> gatherv(C&& comm, const In& in, root to,
                                                  const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::gather, false, true};
  detail::check_root(caller, to);
  const std::size_t n = std::ranges::size(in);
  caller.require_few_bytes(n, sizeof(element_of<In>));
  detail::check_pointers(caller, std::ranges::data(in), n, nullptr, 0);
  const bool is_root = caller.rank() == to.rank;
  std::vector<std::size_t> lengths(is_root ? caller.ranks() : 0);
  gather(comm, &n, lengths.data(), 1, to);
  std::size_t total = 0;
  for (const std::size_t length : lengths) total += length;
  auto all = detail::room_for<element_of<In>>(caller, total);
  gatherv<Ps...>(comm, in, all, is_root ? counts{lengths} : counts{}, to, algorithm);
  return all;
}

/// Non-blocking; counts and displacements may be gone when the call returns. See Request.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
[[nodiscard]] Request igatherv(C&& comm, In&& in, Out&& out, const blocks& each, root to,
                               const Algorithm& algorithm = {}) {
  using T = element_of<In>;
  return detail::start_gatherv<Ps...>(
      comm, to,
      detail::TypedBlocks<T>{detail::input_to_keep<In>(in), std::ranges::size(in),
                             detail::data_out<T, Out>(out), std::ranges::size(out), each},
      algorithm);
}

/// Non-blocking, in place.
template <class... Ps, Team C, ContiguousRange R>
[[nodiscard]] Request igatherv(C&& comm, R&& data, const blocks& each, root to,
                               const Algorithm& algorithm = {}) {
  using T = element_of<R>;
  T* const p = detail::data_in_place<R>(data);
  const std::size_t n = std::ranges::size(data);
  return detail::start_gatherv<Ps...>(comm, to, detail::TypedBlocks<T>{p, n, p, n, each, true},
                                      algorithm);
}

/// Non-blocking, pointers.
template <class... Ps, Team C, class T>
[[nodiscard]] Request igatherv(C&& comm, const T* in, std::type_identity_t<T>* out,
                               const blocks& each, root to, const Algorithm& algorithm = {}) {
  constexpr std::size_t any = detail::BlockedBuffer::any_length;
  return detail::start_gatherv<Ps...>(comm, to, detail::TypedBlocks<T>{in, any, out, any, each},
                                      algorithm);
}

/// Persistent; counts and displacements may be gone when this returns.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
[[nodiscard]] Persistent gatherv_init(C&& comm, In&& in, Out&& out, const blocks& each, root to,
                                      const Algorithm& algorithm = {}) {
  using T = element_of<In>;
  return detail::prepare_gatherv<Ps...>(
      comm, to,
      detail::TypedBlocks<T>{detail::input_to_keep<In>(in), std::ranges::size(in),
                             detail::data_out<T, Out>(out), std::ranges::size(out), each},
      algorithm);
}

/// Persistent, in place.
template <class... Ps, Team C, ContiguousRange R>
[[nodiscard]] Persistent gatherv_init(C&& comm, R&& data, const blocks& each, root to,
                                      const Algorithm& algorithm = {}) {
  using T = element_of<R>;
  T* const p = detail::data_in_place<R>(data);
  const std::size_t n = std::ranges::size(data);
  return detail::prepare_gatherv<Ps...>(comm, to, detail::TypedBlocks<T>{p, n, p, n, each, true},
                                        algorithm);
}

/// Persistent, pointers.
template <class... Ps, Team C, class T>
[[nodiscard]] Persistent gatherv_init(C&& comm, const T* in, std::type_identity_t<T>* out,
                                      const blocks& each, root to,
                                      const Algorithm& algorithm = {}) {
  constexpr std::size_t any = detail::BlockedBuffer::any_length;
  return detail::prepare_gatherv<Ps...>(comm, to, detail::TypedBlocks<T>{in, any, out, any, each},
                                        algorithm);
}

PAPCOLL_WRONG_CALL(
    detail::NoResult, gatherv,
    ", in, out, papcoll::counts{sizes}, papcoll::root{0} [, algorithm]) or gatherv(comm, data, "
    "papcoll::counts{sizes}, papcoll::root{0} [, algorithm]) or, where the root does not know the "
    "counts, gatherv(comm, in, papcoll::root{0} [, algorithm]")
PAPCOLL_WRONG_CALL(
    Request, igatherv,
    ", in, out, papcoll::counts{sizes}, papcoll::root{0} [, algorithm]) or igatherv(comm, data, "
    "papcoll::counts{sizes}, papcoll::root{0} [, algorithm]")
PAPCOLL_WRONG_CALL(
    Persistent, gatherv_init,
    ", in, out, papcoll::counts{sizes}, papcoll::root{0} [, algorithm]) or gatherv_init(comm, "
    "data, papcoll::counts{sizes}, papcoll::root{0} [, algorithm]")

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
