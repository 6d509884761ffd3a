#pragma once

#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/transport/mpi/messages.hpp>
#include <papcoll/transport/mpi_transport.hpp>
#include <papcoll/transport/transport.hpp>

#include <string>

namespace papcoll::inline PAPCOLL_ABI {

PAPCOLL_DECL std::string MpiTransport::unavailable(const TeamEnvironment& s) {
  return s.mpi != nullptr ? "" : "this team has no MPI communicator: take ThreadTransport";
}
PAPCOLL_DECL std::unique_ptr<Endpoint> MpiTransport::connect(const TeamEnvironment& s) {
  return detail::connect_messages(*s.mpi);
}

static_assert(TransportPolicy<MpiTransport>);

namespace detail {
PAPCOLL_COMPILE_ONCE(const TransportTable& table_of_transport<MpiTransport>() noexcept)
}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
