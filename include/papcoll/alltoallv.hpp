#pragma once

#include <papcoll/alltoall.hpp>
#include <papcoll/entry/block_arguments.hpp>
#include <papcoll/entry/entry.hpp>
#include <papcoll/entry/wrong_call.hpp>
#include <papcoll/persistent.hpp>
#include <papcoll/request.hpp>

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

namespace detail {

/// An alltoallv's buffers as the caller passed them. In place: the input is the output.
template <class T>
struct AlltoallvArguments {
  const T* in;
  std::size_t in_length;
  const blocks& sent;
  T* out;
  std::size_t out_length;
  const blocks& received;

  BlocksOfBothBuffers untyped() const noexcept {
    return {in, in_length, sent, out, out_length, received, element_numbers<T>()};
  }
};

template <class... Ps, class C, class T>
void run_alltoallv(C&& comm, const AlltoallvArguments<T>& a, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::alltoall, false, true};
  Call call = alltoallv_call(caller, a.untyped(), blocks_of(caller));
  run<Alltoall, true, Ps...>(caller, call, algorithm);
}

template <class... Ps, class C, class T>
Request start_alltoallv(C&& comm, const AlltoallvArguments<T>& a, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::alltoall, true, true};
  auto owned = std::make_shared<CallBlocks>();
  Call call = alltoallv_call(caller, a.untyped(), *owned);
  return start<Alltoall, true, Ps...>(caller, call, algorithm, std::move(owned));
}

/// In place, what a rank gets of another one stands where what it gave it was.
template <class T>
AlltoallvArguments<T> alltoallv_in_place(T* data, std::size_t length, const blocks& each) {
  return {data, length, each, data, length, each};
}

template <class... Ps, class C, class T>
Persistent prepare_alltoallv(C&& comm, const AlltoallvArguments<T>& a, const Algorithm& algorithm) {
  const Caller caller{core_of(comm), Collective::alltoall, false, true};
  auto owned = std::make_shared<CallBlocks>();
  Call call = alltoallv_call(caller, a.untyped(), *owned);
  return prepare<Alltoall, true, Ps...>(caller, call, algorithm, std::move(owned));
}

}  // namespace detail

/// Gives every rank a block of each rank, of any lengths: of `in` the block that `sent` says for
/// rank r goes to rank r, and what comes from rank r goes to the block of `out` that `received`
/// says for it. `sent` and `received` are papcoll::counts{lengths}, for blocks one after the other
/// in rank order, or papcoll::blocks{lengths, displacements}; nothing is written between blocks.
/// What rank a sends to b must be as long as what b says it receives from a.
///
/// Policies and errors as in allreduce; only schedules that pass no blocks on for others serve it,
/// and Hierarchical.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
void alltoallv(C&& comm, const In& in, const blocks& sent, Out&& out, const blocks& received,
               const Algorithm& algorithm = {}) {
  using T = element_of<In>;
  detail::run_alltoallv<Ps...>(comm,
                               detail::AlltoallvArguments<T>{
                                   std::ranges::data(in), std::ranges::size(in), sent,
                                   detail::data_out<T, Out>(out), std::ranges::size(out), received},
                               algorithm);
}

/// In place: what comes from rank r stands in `data` where what went to it was, and is as long.
template <class... Ps, Team C, ContiguousRange R>
void alltoallv(C&& comm, R&& data, const blocks& each, const Algorithm& algorithm = {}) {
  detail::run_alltoallv<Ps...>(
      comm,
      detail::alltoallv_in_place(detail::data_in_place<R>(data), std::ranges::size(data), each),
      algorithm);
}

/// Pointers: the buffers end where their blocks do.
template <class... Ps, Team C, class T>
void alltoallv(C&& comm, const T* in, const blocks& sent, std::type_identity_t<T>* out,
               const blocks& received, const Algorithm& algorithm = {}) {
  constexpr std::size_t any = detail::BlockedBuffer::any_length;
  detail::run_alltoallv<Ps...>(
      comm, detail::AlltoallvArguments<T>{in, any, sent, out, any, received}, algorithm);
}

/// Pointer, in place.
template <class... Ps, Team C, class T>
void alltoallv(C&& comm, T* data, const blocks& each, const Algorithm& algorithm = {}) {
  detail::run_alltoallv<Ps...>(
      comm, detail::alltoallv_in_place(data, detail::BlockedBuffer::any_length, each), algorithm);
}

/// What came, by rank, where ranks do not know beforehand how much that is.
template <class T>
struct ReceivedBlocks {
  std::vector<T> data;              ///< one block after the other, in rank order
  std::vector<std::size_t> counts;  ///< elements of each
};

/// Returns what comes: the ranks tell each other first how much that is. As in
/// alltoallv(comm, in, papcoll::counts{sent}, papcoll::unknown_counts).
template <class... Ps, Team C, ContiguousRange In>
[[nodiscard]] ReceivedBlocks<element_of<In>> alltoallv(C&& comm, const In& in, const blocks& sent,
                                                       UnknownCounts,
                                                       const Algorithm& algorithm = {}) {
  using T = element_of<In>;
  const detail::Caller caller{detail::core_of(comm), Collective::alltoall, false, true};
  const std::size_t ranks = caller.ranks();
  ReceivedBlocks<T> result;
  // Checked before the others hear of them.
  std::vector<std::size_t> given(3 * ranks);
  const auto checked =
      detail::check_blocks(caller, {"input", sent, std::ranges::size(in)}, sizeof(T), given.data(),
                           given.data() + ranks, given.data() + 2 * ranks);
  detail::check_pointers(caller, std::ranges::data(in), checked.total, nullptr, 0);
  result.counts.resize(ranks);
  alltoall(comm, static_cast<const std::size_t*>(given.data()), result.counts.data(), 1);
  std::size_t total = 0;
  for (const std::size_t n : result.counts) total += n;
  result.data = detail::room_for<T>(caller, total);
  alltoallv<Ps...>(comm, in, sent, result.data, counts{result.counts}, algorithm);
  return result;
}

/// Non-blocking; counts and displacements may be gone when the call returns. See Request.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
[[nodiscard]] Request ialltoallv(C&& comm, In&& in, const blocks& sent, Out&& out,
                                 const blocks& received, const Algorithm& algorithm = {}) {
  using T = element_of<In>;
  return detail::start_alltoallv<Ps...>(
      comm,
      detail::AlltoallvArguments<T>{detail::input_to_keep<In>(in), std::ranges::size(in), sent,
                                    detail::data_out<T, Out>(out), std::ranges::size(out),
                                    received},
      algorithm);
}

/// Non-blocking, in place.
template <class... Ps, Team C, ContiguousRange R>
[[nodiscard]] Request ialltoallv(C&& comm, R&& data, const blocks& each,
                                 const Algorithm& algorithm = {}) {
  return detail::start_alltoallv<Ps...>(
      comm,
      detail::alltoallv_in_place(detail::data_in_place<R>(data), std::ranges::size(data), each),
      algorithm);
}

/// Non-blocking, pointers.
template <class... Ps, Team C, class T>
[[nodiscard]] Request ialltoallv(C&& comm, const T* in, const blocks& sent,
                                 std::type_identity_t<T>* out, const blocks& received,
                                 const Algorithm& algorithm = {}) {
  constexpr std::size_t any = detail::BlockedBuffer::any_length;
  return detail::start_alltoallv<Ps...>(
      comm, detail::AlltoallvArguments<T>{in, any, sent, out, any, received}, algorithm);
}

/// Persistent; counts and displacements may be gone when this returns.
template <class... Ps, Team C, ContiguousRange In, ContiguousRange Out>
[[nodiscard]] Persistent alltoallv_init(C&& comm, In&& in, const blocks& sent, Out&& out,
                                        const blocks& received, const Algorithm& algorithm = {}) {
  using T = element_of<In>;
  return detail::prepare_alltoallv<Ps...>(
      comm,
      detail::AlltoallvArguments<T>{detail::input_to_keep<In>(in), std::ranges::size(in), sent,
                                    detail::data_out<T, Out>(out), std::ranges::size(out),
                                    received},
      algorithm);
}

/// Persistent, in place.
template <class... Ps, Team C, ContiguousRange R>
[[nodiscard]] Persistent alltoallv_init(C&& comm, R&& data, const blocks& each,
                                        const Algorithm& algorithm = {}) {
  return detail::prepare_alltoallv<Ps...>(
      comm,
      detail::alltoallv_in_place(detail::data_in_place<R>(data), std::ranges::size(data), each),
      algorithm);
}

/// Persistent, pointers.
template <class... Ps, Team C, class T>
[[nodiscard]] Persistent alltoallv_init(C&& comm, const T* in, const blocks& sent,
                                        std::type_identity_t<T>* out, const blocks& received,
                                        const Algorithm& algorithm = {}) {
  constexpr std::size_t any = detail::BlockedBuffer::any_length;
  return detail::prepare_alltoallv<Ps...>(
      comm, detail::AlltoallvArguments<T>{in, any, sent, out, any, received}, algorithm);
}

PAPCOLL_WRONG_CALL(detail::NoResult, alltoallv,
                   ", in, papcoll::counts{sent}, out, papcoll::counts{received} [, algorithm]) or "
                   "alltoallv(comm, data, papcoll::counts{each} [, algorithm]) or "
                   "alltoallv(comm, in, papcoll::counts{sent}, papcoll::unknown_counts "
                   "[, algorithm]")
PAPCOLL_WRONG_CALL(Request, ialltoallv,
                   ", in, papcoll::counts{sent}, out, papcoll::counts{received} [, algorithm]) or "
                   "ialltoallv(comm, data, papcoll::counts{each} [, algorithm]")
PAPCOLL_WRONG_CALL(Persistent, alltoallv_init,
                   ", in, papcoll::counts{sent}, out, papcoll::counts{received} [, algorithm]) or "
                   "alltoallv_init(comm, data, papcoll::counts{each} [, algorithm]")

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
