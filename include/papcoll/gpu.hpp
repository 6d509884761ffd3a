#pragma once

#include <papcoll/algorithms/static/binomial.hpp>
#include <papcoll/algorithms/static/linear.hpp>
#include <papcoll/algorithms/static/pairwise.hpp>
#include <papcoll/algorithms/static/pipelined_chain.hpp>
#include <papcoll/algorithms/static/recursive_doubling.hpp>
#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/algorithms/static/segmented_ring.hpp>
#include <papcoll/allgather.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/alltoall.hpp>
#include <papcoll/base/joined.hpp>
#include <papcoll/bcast.hpp>
#include <papcoll/entry/entry.hpp>
#include <papcoll/entry/passed.hpp>
#include <papcoll/gather.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/op.hpp>
#include <papcoll/policies/checks.hpp>
#include <papcoll/reduce.hpp>
#include <papcoll/reduce_scatter.hpp>
#include <papcoll/request.hpp>
#include <papcoll/scatter.hpp>
#include <papcoll/transport/gpu/device_transport.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

// Collectives on memory of devices:
//
//     papcoll::gpu::allreduce<papcoll::CudaIpcTransport>(comm, data, count, papcoll::sum, stream);
//
// The host returns when all of the call is in streams; the call is ordered after what is in
// `stream`, and what comes later in it after the call. So the buffers must stay as they are until
// the stream has come that far, as with any other work of a stream.

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace gpu {

namespace detail {

using papcoll::detail::Caller;
using papcoll::detail::core_of;
using papcoll::detail::Passed;

/// What is wrong with a buffer of a call on the device, or nothing.
inline std::string problem_with_buffer(Api& api, const void* buffer, std::size_t bytes) {
  if (buffer == nullptr || bytes == 0) return "";
  const Place place = api.place(buffer);
  if (place.memory == Memory::host || place.memory == Memory::pinned) {
    return "a buffer is in the host's memory, or was freed: pass memory of the device, or call the "
           "collective of this name outside of papcoll::gpu";
  }
  const int own = api.current_device();
  if (place.memory == Memory::device && place.device != own) {
    return papcoll::detail::joined({"a buffer is in the memory of device ", place.device,
                                    ", and this rank uses device ", own,
                                    ": pass memory of that one, or make the other one current"});
  }
  const auto* const at = static_cast<const std::byte*>(buffer);
  if (place.base != nullptr && bytes > place.bytes - static_cast<std::size_t>(at - place.base)) {
    return "a buffer is longer than the memory that it is in: pass the right count";
  }
  return "";
}

/// Bytes of a call's input and output on this rank.
struct BufferBytes {
  std::size_t in = 0;
  std::size_t out = 0;
};

/// Makes a call one of a device's; refuses buffers that are not there.
template <class Transport>
void put_on_device(const Caller& caller, Call& call, BufferBytes bytes, void* stream) {
  using Provider = typename Transport::Provider;
  call.memory = MemoryKind::device;
  call.stream = stream;
  if (!Provider::unavailable().empty()) return;  // the transport will say why
  Api& api = Provider::api();
  std::string problem = problem_with_buffer(api, call.in, bytes.in);
  if (problem.empty()) problem = problem_with_buffer(api, call.out, bytes.out);
  if (problem.empty() && api.is_capturing(static_cast<Stream>(stream))) {
    problem =
        "the stream is being captured as a graph, and a collective waits for other ranks each "
        "time: call it outside of the capture";
  }
  if (!problem.empty()) caller.refuse(problem);
}

/// Is this policy a transport over memory of devices?
template <class P>
inline constexpr bool is_device_transport = requires {
  typename P::Provider;
};

/// The transport over devices among the policies.
template <class... Ps>
struct DeviceTransportOf {};
template <class P, class... Ps>
struct DeviceTransportOf<P, Ps...>
    : std::conditional_t<is_device_transport<P>, std::type_identity<P>, DeviceTransportOf<Ps...>> {
};

template <class... Ps>
struct call_names_a_device_transport {
  static constexpr bool ok = (is_device_transport<Ps> || ...);
  static_assert(ok,
                "papcoll: a collective on memory of devices names the transport that reaches it: "
                "write papcoll::gpu::allreduce<papcoll::CudaIpcTransport>(comm, data, count)");
};

template <class Tag, bool Commutes, class... Ps>
const AlgorithmSpec& device_spec() {
  static const AlgorithmSpec named = papcoll::select<Tag, false, Commutes, Ps...>();
  return named;
}

/// What runs where no schedule is named: few messages for short vectors, little data for long ones.
/// The limits of an allreduce are those of Temuçin et al., HOTI 2021, section V-B.
template <class Tag, bool Commutes, class Transport>
const AlgorithmSpec& default_spec(std::size_t bytes) {
  constexpr std::size_t short_vector = std::size_t{16} << 10U;
  constexpr std::size_t long_vector = std::size_t{4} << 20U;
  constexpr Collective c = Tag::value;
  if constexpr (c == Collective::allreduce && Commutes) {
    if (bytes > long_vector) return device_spec<Tag, Commutes, SegmentedRing, Transport>();
    if (bytes > short_vector) return device_spec<Tag, Commutes, Ring, Transport>();
    return device_spec<Tag, Commutes, RecursiveDoubling, Transport>();
  } else if constexpr (c == Collective::allreduce) {
    return device_spec<Tag, Commutes, RecursiveDoubling, Transport>();
  } else if constexpr (c == Collective::reduce || c == Collective::bcast) {
    if (bytes > long_vector) return device_spec<Tag, Commutes, PipelinedChain, Transport>();
    return device_spec<Tag, Commutes, Binomial, Transport>();
  } else if constexpr (c == Collective::reduce_scatter) {
    return device_spec<Tag, Commutes, std::conditional_t<Commutes, Pairwise, Linear>, Transport>();
  } else if constexpr (c == Collective::alltoall) {
    return device_spec<Tag, Commutes, Pairwise, Transport>();
  } else if constexpr (c == Collective::allgather) {
    return device_spec<Tag, Commutes, Ring, Transport>();
  } else {
    return device_spec<Tag, Commutes, Linear, Transport>();
  }
}

/// Is a schedule named?
template <class... Ps>
inline constexpr bool names_schedule =
    papcoll::detail::named_by<Ps...>() == papcoll::detail::Named::schedule;

template <class Tag, bool Commutes, class... Ps>
const AlgorithmSpec& spec_for(const Call& call) {
  if constexpr (names_schedule<Ps...>) {
    return device_spec<Tag, Commutes, Ps...>();
  } else {
    return default_spec<Tag, Commutes, typename DeviceTransportOf<Ps...>::type>(call.bytes());
  }
}

/// Runs a call that has been made as for buffers of the host.
template <class Tag, bool Commutes, class... Ps>
void run(const Caller& caller, Call call, BufferBytes bytes, void* stream) {
  if constexpr (call_names_a_device_transport<Ps...>::ok) {
    put_on_device<typename DeviceTransportOf<Ps...>::type>(caller, call, bytes, stream);
    papcoll::detail::run_schedule(caller, spec_for<Tag, Commutes, Ps...>(call), call);
  }
}

template <class T, class Op>
inline constexpr bool commutes = is_commutative<Op, T>;

}  // namespace detail

/// Combines the elements of all ranks, position by position, and gives every rank the result, in
/// memory of their devices, in place.
///
/// Policies: a transport over devices and a static schedule, which is chosen by the size if it is
/// left out. `op` is an operator of papcoll. The call is ordered after what is in `stream` (a
/// cudaStream_t of the rank's device), and what comes later in it after the call. All ranks pass
/// the same count, type, operator and policies, and memory of their device.
/// Throws argument_error (memory of the host or of another device, a stream that is captured, an
/// operator that is not papcoll's), transport_unavailable, and what papcoll::allreduce throws.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void allreduce(C&& comm, T* data, N count, const Op& op = {}, void* stream = nullptr) {
  const detail::Caller caller{detail::core_of(comm), Collective::allreduce};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  Call call = papcoll::detail::allreduce_call(caller, papcoll::detail::passed(data, n), op);
  const std::size_t bytes = n * sizeof(T);
  detail::run<Allreduce, detail::commutes<T, Op>, Ps...>(caller, call, {bytes, bytes}, stream);
}

/// Out of place: `in` is unchanged.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void allreduce(C&& comm, const T* in, std::type_identity_t<T>* out, N count, const Op& op = {},
               void* stream = nullptr) {
  const detail::Caller caller{detail::core_of(comm), Collective::allreduce};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  Call call = papcoll::detail::allreduce_call(caller, detail::Passed<T>{in, out, n, n}, op);
  const std::size_t bytes = n * sizeof(T);
  detail::run<Allreduce, detail::commutes<T, Op>, Ps...>(caller, call, {bytes, bytes}, stream);
}

/// The root gets the combined elements, in place: there `data` is contribution and result.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void reduce(C&& comm, T* data, N count, root to, const Op& op = {}, void* stream = nullptr) {
  const detail::Caller caller{detail::core_of(comm), Collective::reduce};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  Call call = papcoll::detail::reduce_call(caller, papcoll::detail::passed(data, n), to, op);
  const std::size_t bytes = n * sizeof(T);
  detail::run<Reduce, detail::commutes<T, Op>, Ps...>(caller, call, {bytes, bytes}, stream);
}

/// All get the root's elements.
template <class... Ps, Team C, class T, std::integral N>
void bcast(C&& comm, T* data, N count, root from, void* stream = nullptr) {
  const detail::Caller caller{detail::core_of(comm), Collective::bcast};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  Call call = papcoll::detail::bcast_call(caller, papcoll::detail::passed(data, n), from);
  const std::size_t bytes = n * sizeof(T);
  detail::run<Bcast, true, Ps...>(caller, call, {bytes, bytes}, stream);
}

/// All get the `count` elements of each rank, in rank order: `out` has size() times as many.
template <class... Ps, Team C, class T, std::integral N>
void allgather(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
               void* stream = nullptr) {
  const detail::Caller caller{detail::core_of(comm), Collective::allgather};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  const std::size_t all = papcoll::detail::of_all_ranks<T>(caller, n);
  Call call = papcoll::detail::allgather_call(caller, detail::Passed<T>{in, out, n, all});
  detail::run<Allgather, true, Ps...>(caller, call, {n * sizeof(T), all * sizeof(T)}, stream);
}

/// Combines size() blocks of `count` elements and gives each rank one, in rank order.
template <class... Ps, Team C, class T, std::integral N, class Op = Sum>
void reduce_scatter(C&& comm, const T* in, std::type_identity_t<T>* out, N count, const Op& op = {},
                    void* stream = nullptr) {
  const detail::Caller caller{detail::core_of(comm), Collective::reduce_scatter};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  const std::size_t all = papcoll::detail::of_all_ranks<T>(caller, n);
  Call call = papcoll::detail::reduce_scatter_call(caller, detail::Passed<T>{in, out, all, n},
                                                   nullptr, op, nullptr);
  detail::run<ReduceScatter, detail::commutes<T, Op>, Ps...>(
      caller, call, {all * sizeof(T), n * sizeof(T)}, stream);
}

/// Each rank has `count` elements for each rank, in rank order, and gets as many of each.
template <class... Ps, Team C, class T, std::integral N>
void alltoall(C&& comm, const T* in, std::type_identity_t<T>* out, N count,
              void* stream = nullptr) {
  const detail::Caller caller{detail::core_of(comm), Collective::alltoall};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  const std::size_t all = papcoll::detail::of_all_ranks<T>(caller, n);
  Call call = papcoll::detail::alltoall_call(caller, detail::Passed<T>{in, out, all, all});
  detail::run<Alltoall, true, Ps...>(caller, call, {all * sizeof(T), all * sizeof(T)}, stream);
}

/// The root gets the `count` elements of each rank, in rank order; elsewhere `out` may be null.
template <class... Ps, Team C, class T, std::integral N>
void gather(C&& comm, const T* in, std::type_identity_t<T>* out, N count, root to,
            void* stream = nullptr) {
  const detail::Caller caller{detail::core_of(comm), Collective::gather};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  const std::size_t all = papcoll::detail::of_all_ranks<T>(caller, n);
  const std::size_t out_n = caller.rank() == to.rank ? all : 0;
  Call call = papcoll::detail::gather_call(caller, to, detail::Passed<T>{in, out, n, out_n});
  detail::run<Gather, true, Ps...>(caller, call, {n * sizeof(T), out_n * sizeof(T)}, stream);
}

/// Each rank gets `count` of the root's elements, in rank order; elsewhere `in` may be null.
template <class... Ps, Team C, class T, std::integral N>
void scatter(C&& comm, const T* in, std::type_identity_t<T>* out, N count, root from,
             void* stream = nullptr) {
  const detail::Caller caller{detail::core_of(comm), Collective::scatter};
  const std::size_t n = papcoll::detail::checked_count(caller, count);
  const std::size_t all = papcoll::detail::of_all_ranks<T>(caller, n);
  const std::size_t in_n = caller.rank() == from.rank ? all : 0;
  Call call = papcoll::detail::scatter_call(caller, from, detail::Passed<T>{in, out, in_n, n});
  detail::run<Scatter, true, Ps...>(caller, call, {in_n * sizeof(T), n * sizeof(T)}, stream);
}

}  // namespace gpu
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
