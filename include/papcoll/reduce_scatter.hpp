#pragma once

#include <papcoll/entry/block_arguments.hpp>
#include <papcoll/entry/entry.hpp>
#include <papcoll/entry/passed.hpp>
#include <papcoll/entry/wrong_call.hpp>
#include <papcoll/persistent.hpp>
#include <papcoll/request.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace papcoll {
inline namespace PAPCOLL_ABI {

namespace detail {

/// The checked call. `each`: elements of every rank, or null for equal blocks of `in`; copied to
/// `numbers`, which the call borrows.
template <class T, class Op>
Call reduce_scatter_call(const Caller& caller, Passed<T> b, const counts* each, const Op& op,
                         CallBlocks* numbers) {
  count_elements(caller, b);
  std::size_t own = b.in_count / caller.ranks();
  if (each == nullptr) caller.require_few_bytes(own, sizeof(T));
  Call call = reduction_of(caller.collective, b.in, b.out, own, op);
  if (each == nullptr) {
    caller.require(
        b.in_count % caller.ranks() == 0,
        "the input does not divide into equal blocks: give it a multiple of size() elements, or "
        "papcoll::counts");
  } else {
    std::size_t* const sizes = room_for_blocks(caller, *numbers, 1);
    std::size_t* const places = sizes + caller.ranks();
    call.count =
        check_blocks(caller, {"input", *each, b.in_count}, sizeof(T), sizes, places, nullptr).total;
    own = sizes[static_cast<std::size_t>(caller.rank())];
    call.counts = sizes;
    call.split = hash_of_counts({sizes, caller.ranks()});
  }
  // In place the output is all of the input, which has been checked.
  caller.require_length(call.in_place() && b.out_count >= own ? own : b.out_count, own,
                        "the output must have as many elements as this rank's block");
  check_buffers(caller, call, b, b.in_count, b.out_count);
  return call;
}

template <class... Ps, class C, class T, class Op>
void run_reduce_scatter(C&& comm, Passed<T> b, const counts* each, const Op& op,
                        const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::reduce_scatter};
  CallBlocks* const numbers = each == nullptr ? nullptr : &blocks_of(caller);
  Call call = reduce_scatter_call(caller, b, each, op, numbers);
  run<ReduceScatter, is_commutative<Op, T>, Ps...>(caller, call, algorithm);
}

template <class... Ps, class C, class T, class Op>
Request start_reduce_scatter(C&& comm, Passed<T> b, const counts* each, const Op& op,
                             const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::reduce_scatter, true};
  auto owned = std::make_shared<const std::decay_t<const Op>>(op);
  CallBlocks numbers;  // a request copies what it needs of them
  Call call = reduce_scatter_call(caller, b, each, *owned, &numbers);
  return start<ReduceScatter, is_commutative<Op, T>, Ps...>(caller, call, algorithm,
                                                            std::move(owned));
}

template <class... Ps, class C, class T, class Op>
Persistent prepare_reduce_scatter(C&& comm, Passed<T> b, const counts* each, const Op& op,
                                  const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::reduce_scatter};
  struct Owned {
    std::decay_t<const Op> op;
    CallBlocks blocks;
  };
  auto owned = std::make_shared<Owned>(Owned{op, {}});
  Call call = reduce_scatter_call(caller, b, each, owned->op, &owned->blocks);
  return prepare<ReduceScatter, is_commutative<Op, T>, Ps...>(caller, call, algorithm,
                                                              std::move(owned));
}

}  // namespace detail

/// Combines the elements of all ranks and gives each rank its block of the result: `in` has size()
/// equal blocks, `out` one. Policies, operator, errors as in allreduce.
template <class... Ps, Team C, Buffer In, Buffer Out, class Op = Sum>
void reduce_scatter(C&& comm, const In& in, Out&& out, const Op& op = {},
                    const Algorithm& algorithm = {}) {
  detail::run_reduce_scatter<Ps...>(comm, detail::passed<In, Out>(in, out), nullptr, op, algorithm);
}

/// With counts, the same on all ranks: rank r gets each[r] elements.
template <class... Ps, Team C, Buffer In, Buffer Out, class Op = Sum>
void reduce_scatter(C&& comm, const In& in, Out&& out, const counts& each, const Op& op = {},
                    const Algorithm& algorithm = {}) {
  detail::run_reduce_scatter<Ps...>(comm, detail::passed<In, Out>(in, out), &each, op, algorithm);
}

/// In place: `data` is the whole input; this rank's block of the result is at its beginning
/// afterwards, and the rest is undefined.
template <class... Ps, Team C, Buffer R, class Op = Sum>
requires(!Buffer<Op>) void reduce_scatter(C&& comm, R&& data, const Op& op = {},
                                          const Algorithm& algorithm = {}) {
  detail::run_reduce_scatter<Ps...>(comm, detail::passed<R>(data), nullptr, op, algorithm);
}

/// In place, with counts.
template <class... Ps, Team C, Buffer R, class Op = Sum>
void reduce_scatter(C&& comm, R&& data, const counts& each, const Op& op = {},
                    const Algorithm& algorithm = {}) {
  detail::run_reduce_scatter<Ps...>(comm, detail::passed<R>(data), &each, op, algorithm);
}

/// Pointer and count: each rank gets `count` elements.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void reduce_scatter(C&& comm, const T* in, std::type_identity_t<T>* out, N count, const Op& op = {},
                    const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::reduce_scatter};
  const std::size_t n = detail::checked_block<T>(caller, count);
  detail::run_reduce_scatter<Ps...>(comm, detail::Passed<T>{in, out, n * caller.ranks(), n},
                                    nullptr, op, algorithm);
}

/// Pointer and count, in place: `data` has size() times `count` elements.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void reduce_scatter(C&& comm, T* data, N count, const Op& op = {},
                    const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::reduce_scatter};
  const std::size_t n = detail::checked_block<T>(caller, count) * caller.ranks();
  detail::run_reduce_scatter<Ps...>(comm, detail::passed(data, n), nullptr, op, algorithm);
}

/// Non-blocking, equal blocks. Runs a static schedule; see Request.
template <class... Ps, Team C, Buffer In, Buffer Out, class Op = Sum>
[[nodiscard]] Request ireduce_scatter(C&& comm, In&& in, Out&& out, const Op& op = {},
                                      const Algorithm& algorithm = {}) {
  return detail::start_reduce_scatter<Ps...>(comm, detail::passed_to_keep<In, Out>(in, out),
                                             nullptr, op, algorithm);
}

/// Non-blocking, with counts, which may be gone when the call returns.
template <class... Ps, Team C, Buffer In, Buffer Out, class Op = Sum>
[[nodiscard]] Request ireduce_scatter(C&& comm, In&& in, Out&& out, const counts& each,
                                      const Op& op = {}, const Algorithm& algorithm = {}) {
  return detail::start_reduce_scatter<Ps...>(comm, detail::passed_to_keep<In, Out>(in, out), &each,
                                             op, algorithm);
}

/// Non-blocking, in place.
template <class... Ps, Team C, Buffer R, class Op = Sum>
requires(!Buffer<Op>) [[nodiscard]] Request
    ireduce_scatter(C&& comm, R&& data, const Op& op = {}, const Algorithm& algorithm = {}) {
  return detail::start_reduce_scatter<Ps...>(comm, detail::passed<R>(data), nullptr, op, algorithm);
}

/// Non-blocking, in place, with counts.
template <class... Ps, Team C, Buffer R, class Op = Sum>
[[nodiscard]] Request ireduce_scatter(C&& comm, R&& data, const counts& each, const Op& op = {},
                                      const Algorithm& algorithm = {}) {
  return detail::start_reduce_scatter<Ps...>(comm, detail::passed<R>(data), &each, op, algorithm);
}

/// Non-blocking, pointer and count.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Request ireduce_scatter(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
                                      const Op& op = {}, const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::reduce_scatter, true};
  const std::size_t n = detail::checked_block<T>(caller, count);
  return detail::start_reduce_scatter<Ps...>(
      comm, detail::Passed<T>{in, out, n * caller.ranks(), n}, nullptr, op, algorithm);
}

/// Non-blocking, pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Request ireduce_scatter(C&& comm, T* data, N count, const Op& op = {},
                                      const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::reduce_scatter, true};
  const std::size_t n = detail::checked_block<T>(caller, count) * caller.ranks();
  return detail::start_reduce_scatter<Ps...>(comm, detail::passed(data, n), nullptr, op, algorithm);
}

/// Persistent, equal blocks; see there.
template <class... Ps, Team C, Buffer In, Buffer Out, class Op = Sum>
[[nodiscard]] Persistent reduce_scatter_init(C&& comm, In&& in, Out&& out, const Op& op = {},
                                             const Algorithm& algorithm = {}) {
  return detail::prepare_reduce_scatter<Ps...>(comm, detail::passed_to_keep<In, Out>(in, out),
                                               nullptr, op, algorithm);
}

/// Persistent, with counts, which may be gone when this returns.
template <class... Ps, Team C, Buffer In, Buffer Out, class Op = Sum>
[[nodiscard]] Persistent reduce_scatter_init(C&& comm, In&& in, Out&& out, const counts& each,
                                             const Op& op = {}, const Algorithm& algorithm = {}) {
  return detail::prepare_reduce_scatter<Ps...>(comm, detail::passed_to_keep<In, Out>(in, out),
                                               &each, op, algorithm);
}

/// Persistent, in place.
template <class... Ps, Team C, Buffer R, class Op = Sum>
requires(!Buffer<Op>) [[nodiscard]] Persistent
    reduce_scatter_init(C&& comm, R&& data, const Op& op = {}, const Algorithm& algorithm = {}) {
  return detail::prepare_reduce_scatter<Ps...>(comm, detail::passed<R>(data), nullptr, op,
                                               algorithm);
}

/// Persistent, in place, with counts.
template <class... Ps, Team C, Buffer R, class Op = Sum>
[[nodiscard]] Persistent reduce_scatter_init(C&& comm, R&& data, const counts& each,
                                             const Op& op = {}, const Algorithm& algorithm = {}) {
  return detail::prepare_reduce_scatter<Ps...>(comm, detail::passed<R>(data), &each, op, algorithm);
}

/// Persistent, pointer and count.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Persistent reduce_scatter_init(C&& comm, const T* in, std::type_identity_t<T>* out,
                                             N count, const Op& op = {},
                                             const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::reduce_scatter};
  const std::size_t n = detail::checked_block<T>(caller, count);
  return detail::prepare_reduce_scatter<Ps...>(
      comm, detail::Passed<T>{in, out, n * caller.ranks(), n}, nullptr, op, algorithm);
}

/// Persistent, pointer and count, in place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Persistent reduce_scatter_init(C&& comm, T* data, N count, const Op& op = {},
                                             const Algorithm& algorithm = {}) {
  const detail::Caller caller{detail::core_of(comm), Collective::reduce_scatter};
  const std::size_t n = detail::checked_block<T>(caller, count) * caller.ranks();
  return detail::prepare_reduce_scatter<Ps...>(comm, detail::passed(data, n), nullptr, op,
                                               algorithm);
}

PAPCOLL_WRONG_CALL(detail::NoResult, reduce_scatter,
                   ", in, out [, papcoll::counts{sizes}] [, op [, algorithm]]) or "
                   "reduce_scatter(comm, data [, papcoll::counts{sizes}] [, op [, algorithm]]")
PAPCOLL_WRONG_CALL(Request, ireduce_scatter,
                   ", in, out [, papcoll::counts{sizes}] [, op [, algorithm]]) or "
                   "ireduce_scatter(comm, data [, papcoll::counts{sizes}] [, op [, algorithm]]")
PAPCOLL_WRONG_CALL(Persistent, reduce_scatter_init,
                   ", in, out [, papcoll::counts{sizes}] [, op [, algorithm]]) or "
                   "reduce_scatter_init(comm, data [, papcoll::counts{sizes}] [, op [, algorithm]]")

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
