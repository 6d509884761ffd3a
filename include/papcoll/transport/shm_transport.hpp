#pragma once

#include <papcoll/node/node_site.hpp>
#include <papcoll/transport/shm/channel_endpoint.hpp>
#include <papcoll/transport/transport.hpp>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// Ranks are processes of one node: memory that they share.
struct ShmTransport {
  using policy_kind = TransportPolicyKind;
  using Site = NodeSite;
  static constexpr std::string_view name = "ShmTransport";
  static constexpr unsigned offers = capability::node_memory;
  static constexpr bool rings = true;

  static std::string unavailable(const Surroundings& s) {
    if (!s.processes) return "the ranks are threads: take ThreadTransport";
    return s.node ? "" : s.why_no_shared_memory;
  }
  static std::unique_ptr<Endpoint> connect(const Surroundings& s) {
    return detail::connect_channels<>(*s.node);
  }
};
static_assert(TransportPolicy<ShmTransport>);

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
