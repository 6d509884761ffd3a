#pragma once

#include <papcoll/node/node_site.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/transport/shm/channel_endpoint.hpp>
#include <papcoll/transport/shm_transport.hpp>
#include <papcoll/transport/transport.hpp>

#include <string>

namespace papcoll::inline PAPCOLL_ABI {

PAPCOLL_DECL std::string ShmTransport::unavailable(const TeamEnvironment& s) {
  if (!s.processes) return "the ranks are threads: take ThreadTransport";
  return s.node ? "" : s.why_no_shared_memory;
}
PAPCOLL_DECL std::unique_ptr<Endpoint> ShmTransport::connect(const TeamEnvironment& s) {
  return detail::connect_channels<>(*s.node);
}

static_assert(TransportPolicy<ShmTransport>);

namespace detail {
PAPCOLL_COMPILE_ONCE(const TransportTable& table_of_transport<ShmTransport>() noexcept)
}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
