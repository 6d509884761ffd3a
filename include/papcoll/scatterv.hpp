#pragma once

#include <papcoll/entry/block_arguments.hpp>
#include <papcoll/entry/entry.hpp>
#include <papcoll/entry/wrong_call.hpp>
#include <papcoll/persistent.hpp>
#include <papcoll/request.hpp>
#include <papcoll/scatter.hpp>

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
void run_scatterv(C&& comm, root r, const TypedBlocks<T>& a, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::scatter, false, true};
  Call call = scatterv_call(caller, r, a.untyped(), blocks_of(caller));
  run<Scatter, true, Ps...>(caller, call, algorithm);
}

template <class... Ps, class C, class T>
Request start_scatterv(C&& comm, root r, const TypedBlocks<T>& a, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::scatter, true, true};
  auto owned = std::make_shared<CallBlocks>();
  Call call = scatterv_call(caller, r, a.untyped(), *owned);
  return start<Scatter, true, Ps...>(caller, call, algorithm, std::move(owned));
}

template <class... Ps, class C, class T>
Persistent prepare_scatterv(C&& comm, root r, const TypedBlocks<T>& a, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::scatter, false, true};
  auto owned = std::make_shared<CallBlocks>();
  Call call = scatterv_call(caller, r, a.untyped(), *owned);
  return prepare<Scatter, true, Ps...>(caller, call, algorithm, std::move(owned));
}

}  // namespace detail

/// Gives each rank its part of the root's elements, where parts differ in length. On the root
/// `each` says how long every rank's is: papcoll::counts{lengths}, one after the other in rank
/// order, or papcoll::blocks{lengths, displacements}. Elsewhere `each` may be papcoll::counts{},
/// but for schedules that pass parts on (all but Linear and BlockCopies), and `in` is not looked
/// at. `out` is as long as the part. Policies and errors as in allreduce.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
void scatterv(C&& comm, const In& in, Out&& out, const blocks& each, root from,
              const Algorithm& algorithm = {}) {
  using T = element_of<In>;
  detail::run_scatterv<Ps...>(
      comm, from,
      detail::TypedBlocks<T>{std::ranges::data(in), std::ranges::size(in),
                             detail::data_out<T, Out>(out), std::ranges::size(out), each},
      algorithm);
}

/// In place: on the root `data` holds all parts and is unchanged; elsewhere it is the part
/// received.
template <class... Ps, Team C, ContiguousRange R>
void scatterv(C&& comm, R&& data, const blocks& each, root from, const Algorithm& algorithm = {}) {
  using T = element_of<R>;
  T* const p = detail::data_in_place<R>(data);
  const std::size_t n = std::ranges::size(data);
  detail::run_scatterv<Ps...>(comm, from, detail::TypedBlocks<T>{p, n, p, n, each, true},
                              algorithm);
}

/// Pointers: the buffers end where their blocks do, so that all ranks pass counts. The buffer that
/// only the root needs may be null elsewhere.
template <class... Ps, Team C, class T>
void scatterv(C&& comm, const T* in, std::type_identity_t<T>* out, const blocks& each, root from,
              const Algorithm& algorithm = {}) {
  constexpr std::size_t any = detail::BlockedBuffer::any_length;
  detail::run_scatterv<Ps...>(comm, from, detail::TypedBlocks<T>{in, any, out, any, each},
                              algorithm);
}

/// Returns this rank's part: the root tells the others first how long theirs are. Elsewhere `in`
/// and `each` are not looked at, and may be empty. Not by schedules that pass parts on.
template <class... Ps, Team C, ContiguousRange In>
[[nodiscard]] std::vector<element_of<In>> scatterv(C&& comm, const In& in, const blocks& each,
                                                   UnknownCounts, root from,
                                                   const Algorithm& algorithm = {}) {
  using T = element_of<In>;
  const detail::Caller caller{detail::core_of(comm), Collective::scatter, false, true};
  detail::check_root(caller, from);
  std::vector<std::size_t> lengths;
  if (caller.rank() == from.rank) {
    const std::size_t ranks = caller.ranks();
    lengths.resize(3 * ranks);
    const auto checked =
        detail::check_blocks(caller, {"input", each, std::ranges::size(in)}, sizeof(T),
                             lengths.data(), lengths.data() + ranks, lengths.data() + 2 * ranks);
    detail::check_pointers(caller, std::ranges::data(in), checked.total, nullptr, 0);
  }
  std::size_t own = 0;
  scatter(comm, static_cast<const std::size_t*>(lengths.data()), &own, 1, from);
  auto part = detail::room_for<T>(caller, own);
  // Where they are not looked at, they need not be right.
  const blocks mine = caller.rank() == from.rank ? each : blocks{counts{}};
  scatterv<Ps...>(comm, in, part, mine, from, algorithm);
  return part;
}

/// Non-blocking; counts and displacements may be gone when the call returns. See Request.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
[[nodiscard]] Request iscatterv(C&& comm, In&& in, Out&& out, const blocks& each, root from,
                                const Algorithm& algorithm = {}) {
  using T = element_of<In>;
  return detail::start_scatterv<Ps...>(
      comm, from,
      detail::TypedBlocks<T>{detail::input_to_keep<In>(in), std::ranges::size(in),
                             detail::data_out<T, Out>(out), std::ranges::size(out), each},
      algorithm);
}

/// Non-blocking, in place.
template <class... Ps, Team C, ContiguousRange R>
[[nodiscard]] Request iscatterv(C&& comm, R&& data, const blocks& each, root from,
                                const Algorithm& algorithm = {}) {
  using T = element_of<R>;
  T* const p = detail::data_in_place<R>(data);
  const std::size_t n = std::ranges::size(data);
  return detail::start_scatterv<Ps...>(comm, from, detail::TypedBlocks<T>{p, n, p, n, each, true},
                                       algorithm);
}

/// Non-blocking, pointers.
template <class... Ps, Team C, class T>
[[nodiscard]] Request iscatterv(C&& comm, const T* in, std::type_identity_t<T>* out,
                                const blocks& each, root from, const Algorithm& algorithm = {}) {
  constexpr std::size_t any = detail::BlockedBuffer::any_length;
  return detail::start_scatterv<Ps...>(comm, from, detail::TypedBlocks<T>{in, any, out, any, each},
                                       algorithm);
}

/// Persistent; counts and displacements may be gone when this returns.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
[[nodiscard]] Persistent scatterv_init(C&& comm, In&& in, Out&& out, const blocks& each, root from,
                                       const Algorithm& algorithm = {}) {
  using T = element_of<In>;
  return detail::prepare_scatterv<Ps...>(
      comm, from,
      detail::TypedBlocks<T>{detail::input_to_keep<In>(in), std::ranges::size(in),
                             detail::data_out<T, Out>(out), std::ranges::size(out), each},
      algorithm);
}

/// Persistent, in place.
template <class... Ps, Team C, ContiguousRange R>
[[nodiscard]] Persistent scatterv_init(C&& comm, R&& data, const blocks& each, root from,
                                       const Algorithm& algorithm = {}) {
  using T = element_of<R>;
  T* const p = detail::data_in_place<R>(data);
  const std::size_t n = std::ranges::size(data);
  return detail::prepare_scatterv<Ps...>(comm, from, detail::TypedBlocks<T>{p, n, p, n, each, true},
                                         algorithm);
}

/// Persistent, pointers.
template <class... Ps, Team C, class T>
[[nodiscard]] Persistent scatterv_init(C&& comm, const T* in, std::type_identity_t<T>* out,
                                       const blocks& each, root from,
                                       const Algorithm& algorithm = {}) {
  constexpr std::size_t any = detail::BlockedBuffer::any_length;
  return detail::prepare_scatterv<Ps...>(
      comm, from, detail::TypedBlocks<T>{in, any, out, any, each}, algorithm);
}

PAPCOLL_WRONG_CALL(
    detail::NoResult, scatterv,
    ", in, out, papcoll::counts{sizes}, papcoll::root{0} [, algorithm]) or scatterv(comm, data, "
    "papcoll::counts{sizes}, papcoll::root{0} [, algorithm]) or scatterv(comm, in, "
    "papcoll::counts{sizes}, papcoll::unknown_counts, papcoll::root{0} [, algorithm]")
PAPCOLL_WRONG_CALL(
    Request, iscatterv,
    ", in, out, papcoll::counts{sizes}, papcoll::root{0} [, algorithm]) or iscatterv(comm, data, "
    "papcoll::counts{sizes}, papcoll::root{0} [, algorithm]")
PAPCOLL_WRONG_CALL(
    Persistent, scatterv_init,
    ", in, out, papcoll::counts{sizes}, papcoll::root{0} [, algorithm]) or scatterv_init(comm, "
    "data, papcoll::counts{sizes}, papcoll::root{0} [, algorithm]")

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
