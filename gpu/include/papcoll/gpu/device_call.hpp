// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/static/binomial.hpp>
#include <papcoll/algorithms/static/linear.hpp>
#include <papcoll/algorithms/static/pairwise.hpp>
#include <papcoll/algorithms/static/pipelined.hpp>
#include <papcoll/algorithms/static/recursive_doubling.hpp>
#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/base/op.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/call/call_arguments.hpp>
#include <papcoll/call/request.hpp>
#include <papcoll/call/route.hpp>
#include <papcoll/choice/policies/algorithm_spec.hpp>
#include <papcoll/choice/policies/policy_checks.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/device_algorithm.hpp>
#include <papcoll/gpu/device_nodes.hpp>
#include <papcoll/gpu/device_operator.hpp>
#include <papcoll/gpu/on_device.hpp>
#include <papcoll/gpu/transport/device_endpoint.hpp>
#include <papcoll/gpu/transport/device_node_context.hpp>
#include <papcoll/node/waiting/waiter.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/topology/machine.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

// From the typed call of papcoll::gpu to the runtime: the Call is made as for buffers of the host,
// and then marked as a device's.

namespace papcoll::inline PAPCOLL_ABI::gpu {
namespace detail {

using papcoll::detail::CallArguments;
using papcoll::detail::CallOrigin;
using papcoll::detail::core_for_devices;

/// Returns what is wrong with a buffer of a call on the device; empty if nothing is.
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

/// A call, and the bytes of its input and output on this rank.
struct SizedCall {
  Call call;
  std::size_t in = 0;
  std::size_t out = 0;
};

/// Makes a call of host buffers one of a device's; refuses buffers that are not there.
template <class Transport>
void put_on_device(const CallOrigin& origin, SizedCall& made, void* stream) {
  using Provider = typename Transport::Provider;
  Call& call = made.call;
  call.memory = MemoryKind::device;
  call.types |= types_on_device;
  call.stream = stream;
  if (!Provider::unavailable().empty()) return;  // the transport will say why
  Api& api = Provider::api();
  std::string problem = problem_with_buffer(api, call.in, made.in);
  if (problem.empty()) problem = problem_with_buffer(api, call.out, made.out);
  if (problem.empty() && api.is_capturing(static_cast<Stream>(stream))) {
    problem =
        "the stream is being captured as a graph, and a collective waits for other ranks each "
        "time: call it outside of the capture";
  }
  if (!problem.empty()) origin.refuse(problem);
}

/// True if the policy is a transport over device memory.
template <class P> inline constexpr bool is_device_transport = requires { typename P::Provider; };

/// The transport over devices among the policies.
template <class... Ps> struct DeviceTransportOf {};
template <class P, class... Ps>
struct DeviceTransportOf<P, Ps...>
    : std::conditional_t<is_device_transport<P>, std::type_identity<P>, DeviceTransportOf<Ps...>> {
};

template <class... Ps> struct call_names_a_device_transport {
  static constexpr bool ok = (is_device_transport<Ps> || ...);
  static_assert(ok,
                "papcoll: a collective on memory of devices names the transport that reaches it: "
                "write papcoll::gpu::allreduce<papcoll::CudaIpcTransport>(comm, data, count)");
};

template <class Tag, bool Commutes, class... Ps> const AlgorithmSpec& device_spec() {
  static const AlgorithmSpec named = papcoll::select<Tag, false, Commutes, Ps...>();
  return named;
}

/// Returns what runs where no schedule is named, as choose_on_device() says.
template <class Tag, bool Commutes, class... Ps>
const AlgorithmSpec& default_spec(std::size_t bytes) {
  constexpr Collective c = Tag::value;
  if constexpr (c == Collective::allreduce && Commutes) {
    if (bytes > device_long_bytes) return device_spec<Tag, Commutes, SegmentedRing, Ps...>();
    if (bytes > device_short_bytes) return device_spec<Tag, Commutes, Ring, Ps...>();
    return device_spec<Tag, Commutes, RecursiveDoubling, Ps...>();
  } else if constexpr (c == Collective::allreduce) {
    return device_spec<Tag, Commutes, RecursiveDoubling, Ps...>();
  } else if constexpr (c == Collective::reduce || c == Collective::bcast) {
    if (bytes > device_long_bytes) return device_spec<Tag, Commutes, PipelinedChain, Ps...>();
    return device_spec<Tag, Commutes, Binomial, Ps...>();
  } else if constexpr (c == Collective::reduce_scatter) {
    return device_spec<Tag, Commutes, std::conditional_t<Commutes, Pairwise, Linear>, Ps...>();
  } else if constexpr (c == Collective::alltoall) {
    return device_spec<Tag, Commutes, Pairwise, Ps...>();
  } else if constexpr (c == Collective::allgather) {
    return device_spec<Tag, Commutes, Ring, Ps...>();
  } else {
    return device_spec<Tag, Commutes, Linear, Ps...>();
  }
}

/// True if the policies name an arrival-driven algorithm on device memory.
template <class... Ps>
inline constexpr bool names_device_algorithm =
    DeviceAlgorithm<papcoll::detail::pick_policy<SchedulePolicyKind, void, Ps...>>;

/// Returns true if a team on several nodes runs this call by an arrival-driven algorithm within
/// each of them.
inline bool runs_across_nodes(const Machine& machine, const Call& call) {
  if (call.collective != Collective::allreduce) return false;
  if (!call.rank_order && call.reducer.commutative) return true;
  std::vector<int> nodes;  // whose ranks must have consecutive numbers
  for (const papcoll::Place& p : machine.places()) {
    const bool known = std::find(nodes.begin(), nodes.end(), p.node) != nodes.end();
    if (known && nodes.back() != p.node) return false;
    if (!known) nodes.push_back(p.node);
  }
  return true;
}

/// Moves a call by one, on the endpoint of the transport, to its end. Does nothing if the ranks of
/// one node find that their devices share no memory.
template <DeviceAlgorithm A, class Transport>
void run_at(Endpoint& endpoint, std::uint32_t sequence, Waiter& waiter, const Call& call) {
  DeviceEndpoint& devices = Transport::device_endpoint(endpoint);
  waiter.until(
      [&] {
        if (!devices.is_decided()) devices.progress();
        return devices.is_decided();
      },
      Naps::none);
  if (devices.nodes() != nullptr) {
    RunAcrossNodes<A> run;
    waiter.until(
        [&] {
          devices.progress();
          return run.step(devices, call, sequence);
        },
        Naps::none);
    return;
  }
  DeviceNodeContext* const context = devices.node_context();
  if (context == nullptr) return;
  context->begin(call, sequence, device_algorithm_id<A>);
  typename A::Run run;
  waiter.until(
      [&] {
        devices.progress();
        return run.step(*context, call);
      },
      Naps::none);
  context->end();
}

template <class Tag, bool Commutes, class... Ps> const AlgorithmSpec& spec_for(const Call& call) {
  if constexpr (papcoll::detail::named_by<Ps...>() == papcoll::detail::Named::nothing) {
    return default_spec<Tag, Commutes, Ps...>(call.bytes());
  } else {
    return device_spec<Tag, Commutes, Ps...>();
  }
}

/// Runs a call that has been made as for buffers of the host.
template <class Tag, bool Commutes, class... Ps>
void run_made(const CallOrigin& origin, SizedCall made, void* stream) {
  if constexpr (call_names_a_device_transport<Ps...>::ok) {
    using Transport = typename DeviceTransportOf<Ps...>::type;
    put_on_device<Transport>(origin, made, stream);
    if constexpr (names_device_algorithm<Ps...>) {
      using A = papcoll::detail::pick_policy<SchedulePolicyKind, void, Ps...>;
      const auto& spec = device_spec<Tag, Commutes, Ps...>();
      const Machine* const nodes = papcoll::detail::several_nodes_of(origin.core);
      bool by_schedule = nodes != nullptr && !runs_across_nodes(*nodes, made.call);
      if (!by_schedule) {
        papcoll::detail::run_at_endpoint(origin, spec, made.call, device_algorithm_id<A>, A::name,
                                         run_at<A, Transport>);
        // Only behind that do all ranks know if memory is shared; without elements none has asked.
        by_schedule = nodes == nullptr && made.call.count != 0 &&
                      !papcoll::detail::why_no_ipc_of(origin.core).empty();
      }
      if (by_schedule) {
        using Contract = papcoll::detail::pick_policy<ContractPolicyKind, RankConsistent, Ps...>;
        const auto& other = default_spec<Tag, Commutes, Transport, Contract>(made.call.bytes());
        papcoll::detail::run_spec(origin, other, made.call);
      }
    } else {
      papcoll::detail::run_spec(origin, spec_for<Tag, Commutes, Ps...>(made.call), made.call);
    }
  }
}

/// Starts one. `owned` keeps alive what the call's reducer points to.
template <class Tag, bool Commutes, class... Ps>
Request start_made(const CallOrigin& origin, SizedCall made, void* stream,
                   const papcoll::detail::Shared<const void>& owned) {
  if constexpr (call_names_a_device_transport<Ps...>::ok) {
    if constexpr (names_device_algorithm<Ps...>) {
      static_cast<void>(papcoll::select<Tag, true, Commutes, Ps...>());  // refuses it
      return {};
    } else {
      put_on_device<typename DeviceTransportOf<Ps...>::type>(origin, made, stream);
      return papcoll::detail::start_spec(origin, spec_for<Tag, Commutes, Ps...>(made.call),
                                         made.call, owned);
    }
  } else {
    return {};
  }
}

/// Makes a call of `n` elements of each rank, or for each, and notes the bytes of its buffers.
inline SizedCall make_call(const CallOrigin& origin, CallArguments& a, std::size_t n) {
  SizedCall made;
  a.by_count = true;
  a.count = n;
  papcoll::detail::make_even_call(origin, a);
  made.call = a;
  const bool is_root = !is_rooted(origin.collective) || origin.rank() == a.root;
  const auto [in, out] = buffers_of(origin.collective, is_root);
  made.in = papcoll::detail::length_of(origin, in, n) * a.reducer.size;
  made.out = papcoll::detail::length_of(origin, out, n) * a.reducer.size;
  return made;
}

/// In place of an operator: elements are only moved.
struct Moves {};

template <class Op, class T> inline constexpr bool commutes = is_commutative<Op, T>;
template <class T> inline constexpr bool commutes<Moves, T> = true;

/// An operator that is one's own on devices says so in the call.
template <class T, class Op>
SizedCall make_call(const CallOrigin& origin, const T* in, T* out, std::size_t n, const Op& op,
                    root at) {
  CallArguments a{origin.collective};
  a.in = reinterpret_cast<const std::byte*>(in);
  a.out = reinterpret_cast<std::byte*>(out);
  a.root = at.rank;
  if constexpr (std::same_as<Op, Moves>) {
    a.reducer.size = sizeof(T);
    a.types = papcoll::detail::element_bits<T>();
  } else {
    a.reducer = papcoll::reducer<T>(op);
    a.types = papcoll::detail::types_of_reduction<T, Op>(a.reducer);
  }
  if constexpr (is_device_operator<Op>) {
    static_assert(std::same_as<typename Op::Element, T>,
                  "papcoll: this DeviceOperator is for elements of another type");
    a.reducer.built_in = device_operator_mark;
  }
  return make_call(origin, a, n);
}

/// Runs a call of the collective `Tag`.
template <class Tag, class... Ps, class C, class T, class N, class Op>
void run(C&& comm, const T* in, T* out, N count, const Op& op, root at, void* stream) {
  const CallOrigin origin{core_for_devices(comm), Tag::value};
  const std::size_t n = papcoll::detail::checked_count(origin, count);
  run_made<Tag, commutes<Op, T>, Ps...>(origin, make_call(origin, in, out, n, op, at), stream);
}

/// Starts one, which has an operator of its own.
template <class Tag, class... Ps, class C, class T, class N, class Op>
Request start(C&& comm, const T* in, T* out, N count, const Op& op, root at, void* stream) {
  const CallOrigin origin{core_for_devices(comm), Tag::value, true};
  const std::size_t n = papcoll::detail::checked_count(origin, count);
  papcoll::detail::Shared<const Op> own;
  if constexpr (!std::same_as<Op, Moves>) own = papcoll::detail::make_shared<const Op>(op);
  const SizedCall made = make_call(origin, in, out, n, own == nullptr ? op : *own, at);
  return start_made<Tag, commutes<Op, T>, Ps...>(origin, made, stream, own);
}

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI::gpu
