// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/op.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/device_reducer.hpp>
#include <papcoll/gpu/transport/device_endpoint.hpp>
#include <papcoll/gpu/transport/node_device_endpoint.hpp>
#include <papcoll/transport/transport.hpp>

#include <concepts>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// Whose devices a DeviceTransport uses: `transport_name`; `unavailable()`, why this process has
/// none, empty if it has; `api()`, the operations of this process (of a model: of this thread),
/// which stay until all teams have ended; `find_reducer(reducer)`, what combines for a device as
/// the reducer does for the host, throws argument_error if there is nothing. Optional:
/// `needs_processes = true`, if ranks cannot be threads of one process; `paths(from, to)`, the
/// measured gpu::Paths from one device of this process to another, over which long messages are
/// shared out: no host path, or no direct one, where it is not to be used. papcoll-bench --measure
/// links measures them.
template <class P> concept DeviceProvider = requires(const Reducer& r) {
  { P::transport_name } -> std::convertible_to<std::string_view>;
  { P::unavailable() } -> std::same_as<std::string>;
  { P::api() } -> std::same_as<gpu::Api&>;
  { P::find_reducer(r) } -> std::same_as<gpu::DeviceReducer>;
};

/// Memory of devices: ranks of one node map each other's, or, where that is refused on any of them,
/// all of them go through the host; so do messages between nodes. Static schedules, and
/// DeviceAlgorithms within a node whose ranks map the memory. Each rank's device is the one that it
/// uses when the transport is connected, in its first call.
template <DeviceProvider P> struct DeviceTransport {
  using Provider = P;
  using policy_kind = TransportPolicyKind;
  static constexpr std::string_view name = Provider::transport_name;
  static constexpr unsigned offers = capability::device_memory;
  static constexpr bool wakes_receivers = false;

  static std::string unavailable(const TeamEnvironment& environment) {
    if (environment.node == nullptr && !environment.messages) {
      return environment.why_no_shared_memory.empty()
                 ? "its ranks are on several nodes, and there is no MPI"
                 : environment.why_no_shared_memory;
    }
    if (environment.node == nullptr && environment.nodes == 1)
      return environment.why_no_shared_memory;
    if constexpr (requires { requires Provider::needs_processes; }) {
      if (!environment.processes)
        return "the ranks are threads of one process, and it is for processes";
    }
    return Provider::unavailable();
  }

  /// Throws gpu::device_error, which breaks the team.
  static std::unique_ptr<Endpoint> connect(const TeamEnvironment& environment) {
    NodeDeviceEndpoint::FindPaths paths = nullptr;
    if constexpr (requires { &Provider::paths; }) paths = &Provider::paths;
    return std::unique_ptr<Endpoint>(
        new NodeDeviceEndpoint(Provider::api(), environment, &Provider::find_reducer, paths));
  }

  /// The endpoint that connect() made, whose node_context() DeviceAlgorithms run on.
  static DeviceEndpoint& device_endpoint(Endpoint& e) { return static_cast<DeviceEndpoint&>(e); }
};

}  // namespace papcoll::inline PAPCOLL_ABI
