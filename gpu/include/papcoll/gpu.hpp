// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/op.hpp>
#include <papcoll/call/request.hpp>
#include <papcoll/call/team_of.hpp>
#include <papcoll/gpu/device_call.hpp>
#include <papcoll/gpu/device_operator.hpp>
#include <papcoll/gpu/device_slices.hpp>
#include <papcoll/gpu/shared_buffer.hpp>
#include <papcoll/gpu/shared_device.hpp>
#include <papcoll/gpu/transport/device_transport.hpp>

#include <concepts>
#include <type_traits>

// Collectives on memory of devices:
//
//     papcoll::gpu::allreduce<papcoll::CudaIpcTransport>(comm, data, count, papcoll::sum, stream);
//
// Policies: a transport over devices and, optionally, a static schedule (by default one is chosen
// by the size), or SharedDevice or DeviceSlices (allreduce and reduce, blocking). The host returns
// when all of the call is in streams. The call begins after what is in `stream`, and later work of
// the stream begins after the call; until then the buffers must not be used otherwise. The
// non-blocking functions return at once; their request is complete when all of the call is in
// streams.
//
// All ranks pass the same count, type, operator and policies, and memory of their device. Throws
// argument_error (memory of the host or of another device, a stream that is captured, an operator
// without a kernel), transport_unavailable, and what the collective of the same name throws on
// buffers of the host.

namespace papcoll::inline PAPCOLL_ABI::gpu {

// name() runs a call, iname() starts a non-blocking one. Behind the parameters of both stand input,
// output, operator and root, and further parameters of the templates.
// clang-format off
#define PAPCOLL_GPU(name, Tag, parameters, in, out, op, at, ...)                      \
  template <class... Ps, Team C, class T, std::integral N __VA_OPT__(,) __VA_ARGS__>  \
  void name parameters {                                                              \
    detail::run<Tag, Ps...>(comm, in, out, count, op, at, stream);                    \
  }                                                                                   \
  template <class... Ps, Team C, class T, std::integral N __VA_OPT__(,) __VA_ARGS__>  \
  [[nodiscard]] Request i##name parameters {                                          \
    return detail::start<Tag, Ps...>(comm, in, out, count, op, at, stream);           \
  }

/// Combines the `count` elements of all ranks, position by position, and gives every rank the
/// result, in place.
///
/// - data: memory of the rank's device. op: an operator of papcoll, or a DeviceOperator. stream: a
///   cudaStream_t of the device; null: the default stream.
///
/// The other functions take the same, and, if they have a root, papcoll::root{r}.
PAPCOLL_GPU(allreduce, Allreduce,
            (C&& comm, T* data, N count, const Op& op = {}, void* stream = nullptr),
            data, data, op, root{0}, class Op = Sum)

/// As above, out of place: `in` is not modified.
PAPCOLL_GPU(allreduce, Allreduce,
            (C&& comm, const T* in, std::type_identity_t<T>* out, N count, const Op& op = {},
             void* stream = nullptr),
            in, out, op, root{0}, class Op = Sum)

/// Combines the `count` elements of all ranks and gives the result to the root: there `data` is
/// contribution and result, elsewhere the contribution.
PAPCOLL_GPU(reduce, Reduce,
            (C&& comm, T* data, N count, root to, const Op& op = {}, void* stream = nullptr),
            data, data, op, to, class Op = Sum)

/// Gives every rank the root's `count` elements.
PAPCOLL_GPU(bcast, Bcast, (C&& comm, T* data, N count, root from, void* stream = nullptr),
            data, data, detail::Moves{}, from)

/// Gives every rank the `count` elements of each, in rank order: `out` has size() times as many.
PAPCOLL_GPU(allgather, Allgather,
            (C&& comm, const T* in, std::type_identity_t<T>* out, N count, void* stream = nullptr),
            in, out, detail::Moves{}, root{0})

/// Combines size() blocks of `count` elements, and gives each rank one block of the result, in rank
/// order.
PAPCOLL_GPU(reduce_scatter, ReduceScatter,
            (C&& comm, const T* in, std::type_identity_t<T>* out, N count, const Op& op = {},
             void* stream = nullptr),
            in, out, op, root{0}, class Op = Sum)

/// Sends block r of `in` to rank r, and receives block r of `out` from rank r, each of `count`
/// elements.
PAPCOLL_GPU(alltoall, Alltoall,
            (C&& comm, const T* in, std::type_identity_t<T>* out, N count, void* stream = nullptr),
            in, out, detail::Moves{}, root{0})

/// Gives the root the `count` elements of each rank, in rank order; elsewhere `out` may be null.
PAPCOLL_GPU(gather, Gather,
            (C&& comm, const T* in, std::type_identity_t<T>* out, N count, root to,
             void* stream = nullptr),
            in, out, detail::Moves{}, to)

/// Gives each rank `count` of the root's elements, in rank order; elsewhere `in` may be null.
PAPCOLL_GPU(scatter, Scatter,
            (C&& comm, const T* in, std::type_identity_t<T>* out, N count, root from,
             void* stream = nullptr),
            in, out, detail::Moves{}, from)
// clang-format on

#undef PAPCOLL_GPU

}  // namespace papcoll::inline PAPCOLL_ABI::gpu
