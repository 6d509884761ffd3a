#pragma once

#include <papcoll/transport/transport_policy.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

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

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/transport/thread_transport.ipp>
#endif
