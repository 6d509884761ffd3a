// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/transport/transport_policy.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// Ranks are processes of one node: memory that they share.
struct ShmTransport {
  using policy_kind = TransportPolicyKind;
  using Context = NodeContext;
  static constexpr std::string_view name = "ShmTransport";
  static constexpr unsigned offers = capability::node_memory;
  static constexpr bool wakes_receivers = true;

  static std::string unavailable(const TeamEnvironment& environment);
  static std::unique_ptr<Endpoint> connect(const TeamEnvironment& environment);
};

/// Ranks are threads of one process: memory of the process, no MPI.
struct ThreadTransport {
  using policy_kind = TransportPolicyKind;
  using Context = NodeContext;
  static constexpr std::string_view name = "ThreadTransport";
  static constexpr unsigned offers = capability::node_memory;
  static constexpr bool wakes_receivers = true;

  static std::string unavailable(const TeamEnvironment& environment);
  static std::unique_ptr<Endpoint> connect(const TeamEnvironment& environment);
};

/// The transport of a team's calls that name none: the first that serves the team.
PAPCOLL_DECL const TransportTable& default_transport(const TeamEnvironment& environment) noexcept;

/// The one of that name; the default, if the name is empty. Throws transport_unavailable.
PAPCOLL_DECL const TransportTable& find_transport(const TeamEnvironment& environment,
                                                  std::string_view name);

/// Passed as a pointer, so as not to compile all transports.
using FindTransport = decltype(find_transport);

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/node/node_context.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/transport/shm/channel_endpoint.hpp>
#include <papcoll/transport/transport.hpp>

namespace papcoll::inline PAPCOLL_ABI {

PAPCOLL_DECL std::string ShmTransport::unavailable(const TeamEnvironment& environment) {
  if (!environment.processes) return "the ranks are threads: take ThreadTransport";
  return environment.node ? "" : environment.why_no_shared_memory;
}
PAPCOLL_DECL std::unique_ptr<Endpoint> ShmTransport::connect(const TeamEnvironment& environment) {
  return detail::connect_channels<>(*environment.node);
}

PAPCOLL_DECL std::string ThreadTransport::unavailable(const TeamEnvironment& environment) {
  return environment.processes ? "the ranks are processes: take ShmTransport" : "";
}
PAPCOLL_DECL std::unique_ptr<Endpoint> ThreadTransport::connect(
    const TeamEnvironment& environment) {
  return detail::connect_channels<>(*environment.node);
}

static_assert(TransportPolicy<ShmTransport> && TransportPolicy<ThreadTransport>);

namespace detail {
PAPCOLL_COMPILE_ONCE(const TransportTable& table_of_transport<ShmTransport>() noexcept)
PAPCOLL_COMPILE_ONCE(const TransportTable& table_of_transport<ThreadTransport>() noexcept)
}  // namespace detail

PAPCOLL_DECL const TransportTable& default_transport(const TeamEnvironment& environment) noexcept {
  const bool by_memory = environment.processes && environment.node != nullptr;
  return by_memory ? detail::table_of_transport<ShmTransport>() : *environment.transports.front();
}

PAPCOLL_DECL const TransportTable& find_transport(const TeamEnvironment& environment,
                                                  std::string_view name) {
  if (name.empty()) return default_transport(environment);
  if (environment.processes && name == ShmTransport::name)
    return detail::table_of_transport<ShmTransport>();
  for (const TransportTable* t : environment.transports) {
    if (t->name == name) return *t;
  }
  detail::throw_error<transport_unavailable>(
      {"papcoll: ", name, " does not serve this kind of team (rank ", environment.rank, "): take ",
       environment.processes ? ShmTransport::name : environment.transports.front()->name});
}

}  // namespace papcoll::inline PAPCOLL_ABI

#endif
