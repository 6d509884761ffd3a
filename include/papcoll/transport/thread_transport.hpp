#pragma once

#include <papcoll/node/node_site.hpp>
#include <papcoll/transport/shm/channel_endpoint.hpp>
#include <papcoll/transport/transport.hpp>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// Ranks are threads of one process: memory of the process, no MPI.
struct ThreadTransport {
  using policy_kind = TransportPolicyKind;
  using Site = NodeSite;
  static constexpr std::string_view name = "ThreadTransport";
  static constexpr unsigned offers = capability::node_memory;
  static constexpr bool rings = true;

  static std::string unavailable(const Surroundings& s) {
    return s.processes ? "the ranks are processes: take ShmTransport" : "";
  }
  static std::unique_ptr<Endpoint> connect(const Surroundings& s) {
    return detail::connect_channels<>(*s.node);
  }
};
static_assert(TransportPolicy<ThreadTransport>);

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
