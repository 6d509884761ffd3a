#pragma once

#include <papcoll/transport/transport_policy.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// Ranks are processes of one node: memory that they share.
struct ShmTransport {
  using policy_kind = TransportPolicyKind;
  using Site = NodeSite;
  static constexpr std::string_view name = "ShmTransport";
  static constexpr unsigned offers = capability::node_memory;
  static constexpr bool rings = true;

  static std::string unavailable(const TeamEnvironment& s);
  static std::unique_ptr<Endpoint> connect(const TeamEnvironment& s);
};

/// Ranks are threads of one process: memory of the process, no MPI.
struct ThreadTransport {
  using policy_kind = TransportPolicyKind;
  using Site = NodeSite;
  static constexpr std::string_view name = "ThreadTransport";
  static constexpr unsigned offers = capability::node_memory;
  static constexpr bool rings = true;

  static std::string unavailable(const TeamEnvironment& s);
  static std::unique_ptr<Endpoint> connect(const TeamEnvironment& s);
};

/// The transport of a team's calls that name none: the first that serves the team.
PAPCOLL_DECL const TransportTable& default_transport(const TeamEnvironment& s) noexcept;

/// The one of that name; the default, if the name is empty. Throws transport_unavailable.
PAPCOLL_DECL const TransportTable& find_transport(const TeamEnvironment& s, std::string_view name);

/// Passed as a pointer, so as not to compile all transports.
using FindTransport = decltype(find_transport);

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/transport/memory_transports.ipp>
#endif
