#pragma once

#include <papcoll/node/node_site.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/transport/shm/channel_endpoint.hpp>
#include <papcoll/transport/thread_transport.hpp>
#include <papcoll/transport/transport.hpp>

#include <string>

namespace papcoll::inline PAPCOLL_ABI {

PAPCOLL_DECL std::string ThreadTransport::unavailable(const TeamEnvironment& s) {
  return s.processes ? "the ranks are processes: take ShmTransport" : "";
}
PAPCOLL_DECL std::unique_ptr<Endpoint> ThreadTransport::connect(const TeamEnvironment& s) {
  return detail::connect_channels<>(*s.node);
}

static_assert(TransportPolicy<ThreadTransport>);

namespace detail {
PAPCOLL_COMPILE_ONCE(const TransportTable& table_of_transport<ThreadTransport>() noexcept)
}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
