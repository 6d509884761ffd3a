#pragma once

#include <papcoll/base/op.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/call/request.hpp>
#include <papcoll/call/team_of.hpp>
#include <papcoll/gpu/device_call.hpp>
#include <papcoll/gpu/device_operator.hpp>
#include <papcoll/gpu/device_slices.hpp>
#include <papcoll/gpu/shared_buffer.hpp>
#include <papcoll/gpu/shared_device.hpp>
#include <papcoll/gpu/transport/device_transport.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

// Collectives on memory of devices:
//
//     papcoll::gpu::allreduce<papcoll::CudaIpcTransport>(comm, data, count, papcoll::sum, stream);
//
// Policies: a transport over devices and, optionally, a static schedule, which else is chosen by
// the size, or SharedDevice or DeviceSlices (allreduce and reduce, blocking). `op` is an operator
// of papcoll, or a DeviceOperator. `stream` is a cudaStream_t of the rank's device. The host
// returns when all of the call is in streams; the call is ordered after what is in `stream`, and
// what comes later in it after the call. So the buffers must stay as they are until the stream has
// come that far, as with any other work of a stream. The non-blocking calls return at once; their
// request is complete when all of the call is in streams.
//
// All ranks pass the same count, type, operator and policies, and memory of their device. Throws
// argument_error (memory of the host or of another device, a stream that is captured, an operator
// without a kernel), transport_unavailable, and what the collective of the same name throws on
// buffers of the host.

namespace papcoll::inline PAPCOLL_ABI::gpu {

/// Combines the elements of all ranks, position by position, and gives every rank the result, in
/// place.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void allreduce(C&& comm, T* data, N count, const Op& op = {}, void* stream = nullptr) {
  const detail::Caller caller{detail::core_for_devices(comm), Collective::allreduce};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  detail::run<Allreduce, detail::commutes<T, Op>, Ps...>(
      caller, detail::reduction_of(caller, data, data, n, op), stream);
}

/// Non-blocking.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Request iallreduce(C&& comm, T* data, N count, const Op& op = {},
                                 void* stream = nullptr) {
  const detail::Caller caller{detail::core_for_devices(comm), Collective::allreduce, true};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  auto owned = papcoll::detail::make_shared<const Op>(op);
  return detail::start<Allreduce, detail::commutes<T, Op>, Ps...>(
      caller, detail::reduction_of(caller, data, data, n, *owned), stream, owned);
}

/// Out of place: `in` is unchanged.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void allreduce(C&& comm, const T* in, std::type_identity_t<T>* out, N count, const Op& op = {},
               void* stream = nullptr) {
  const detail::Caller caller{detail::core_for_devices(comm), Collective::allreduce};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  detail::run<Allreduce, detail::commutes<T, Op>, Ps...>(
      caller, detail::reduction_of(caller, in, out, n, op), stream);
}

/// Non-blocking.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Request iallreduce(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
                                 const Op& op = {}, void* stream = nullptr) {
  const detail::Caller caller{detail::core_for_devices(comm), Collective::allreduce, true};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  auto owned = papcoll::detail::make_shared<const Op>(op);
  return detail::start<Allreduce, detail::commutes<T, Op>, Ps...>(
      caller, detail::reduction_of(caller, in, out, n, *owned), stream, owned);
}

/// The root gets the combined elements: there `data` is contribution and result, elsewhere the
/// contribution.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void reduce(C&& comm, T* data, N count, root to, const Op& op = {}, void* stream = nullptr) {
  const detail::Caller caller{detail::core_for_devices(comm), Collective::reduce};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  detail::run<Reduce, detail::commutes<T, Op>, Ps...>(
      caller, detail::reduction_of(caller, data, data, n, op, to), stream);
}

/// Non-blocking.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Request ireduce(C&& comm, T* data, N count, root to, const Op& op = {},
                              void* stream = nullptr) {
  const detail::Caller caller{detail::core_for_devices(comm), Collective::reduce, true};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  auto owned = papcoll::detail::make_shared<const Op>(op);
  return detail::start<Reduce, detail::commutes<T, Op>, Ps...>(
      caller, detail::reduction_of(caller, data, data, n, *owned, to), stream, owned);
}

/// All get the root's elements.
template <class... Ps, Team C, class T, std::integral N>
void bcast(C&& comm, T* data, N count, root from, void* stream = nullptr) {
  const detail::Caller caller{detail::core_for_devices(comm), Collective::bcast};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  detail::run<Bcast, true, Ps...>(caller, detail::movement_of(caller, data, data, n, from), stream);
}

/// Non-blocking.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Request ibcast(C&& comm, T* data, N count, root from, void* stream = nullptr) {
  const detail::Caller caller{detail::core_for_devices(comm), Collective::bcast, true};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  return detail::start<Bcast, true, Ps...>(caller, detail::movement_of(caller, data, data, n, from),
                                           stream);
}

/// All get the `count` elements of each rank, in rank order: `out` has size() times as many.
template <class... Ps, Team C, class T, std::integral N>
void allgather(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
               void* stream = nullptr) {
  const detail::Caller caller{detail::core_for_devices(comm), Collective::allgather};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  detail::run<Allgather, true, Ps...>(caller, detail::movement_of(caller, in, out, n), stream);
}

/// Non-blocking.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Request iallgather(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
                                 void* stream = nullptr) {
  const detail::Caller caller{detail::core_for_devices(comm), Collective::allgather, true};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  return detail::start<Allgather, true, Ps...>(caller, detail::movement_of(caller, in, out, n),
                                               stream);
}

/// Combines size() blocks of `count` elements and gives each rank one, in rank order.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void reduce_scatter(C&& comm, const T* in, std::type_identity_t<T>* out, N count, const Op& op = {},
                    void* stream = nullptr) {
  const detail::Caller caller{detail::core_for_devices(comm), Collective::reduce_scatter};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  detail::run<ReduceScatter, detail::commutes<T, Op>, Ps...>(
      caller, detail::reduction_of(caller, in, out, n, op), stream);
}

/// Non-blocking.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
[[nodiscard]] Request ireduce_scatter(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
                                      const Op& op = {}, void* stream = nullptr) {
  const detail::Caller caller{detail::core_for_devices(comm), Collective::reduce_scatter, true};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  auto owned = papcoll::detail::make_shared<const Op>(op);
  return detail::start<ReduceScatter, detail::commutes<T, Op>, Ps...>(
      caller, detail::reduction_of(caller, in, out, n, *owned), stream, owned);
}

/// Each rank has `count` elements for each rank, in rank order, and gets as many of each.
template <class... Ps, Team C, class T, std::integral N>
void alltoall(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
              void* stream = nullptr) {
  const detail::Caller caller{detail::core_for_devices(comm), Collective::alltoall};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  detail::run<Alltoall, true, Ps...>(caller, detail::movement_of(caller, in, out, n), stream);
}

/// Non-blocking.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Request ialltoall(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
                                void* stream = nullptr) {
  const detail::Caller caller{detail::core_for_devices(comm), Collective::alltoall, true};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  return detail::start<Alltoall, true, Ps...>(caller, detail::movement_of(caller, in, out, n),
                                              stream);
}

/// The root gets the `count` elements of each rank, in rank order; elsewhere `out` may be null.
template <class... Ps, Team C, class T, std::integral N>
void gather(C&& comm, const T* in, std::type_identity_t<T>* out, N count, root to,
            void* stream = nullptr) {
  const detail::Caller caller{detail::core_for_devices(comm), Collective::gather};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  detail::run<Gather, true, Ps...>(caller, detail::movement_of(caller, in, out, n, to), stream);
}

/// Non-blocking.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Request igather(C&& comm, const T* in, std::type_identity_t<T>* out, N count, root to,
                              void* stream = nullptr) {
  const detail::Caller caller{detail::core_for_devices(comm), Collective::gather, true};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  return detail::start<Gather, true, Ps...>(caller, detail::movement_of(caller, in, out, n, to),
                                            stream);
}

/// Each rank gets `count` of the root's elements, in rank order; elsewhere `in` may be null.
template <class... Ps, Team C, class T, std::integral N>
void scatter(C&& comm, const T* in, std::type_identity_t<T>* out, N count, root from,
             void* stream = nullptr) {
  const detail::Caller caller{detail::core_for_devices(comm), Collective::scatter};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  detail::run<Scatter, true, Ps...>(caller, detail::movement_of(caller, in, out, n, from), stream);
}

/// Non-blocking.
template <class... Ps, Team C, class T, std::integral N>
[[nodiscard]] Request iscatter(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
                               root from, void* stream = nullptr) {
  const detail::Caller caller{detail::core_for_devices(comm), Collective::scatter, true};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  return detail::start<Scatter, true, Ps...>(caller, detail::movement_of(caller, in, out, n, from),
                                             stream);
}

}  // namespace papcoll::inline PAPCOLL_ABI::gpu
