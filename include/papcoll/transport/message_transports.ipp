#pragma once

#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/topology/options.hpp>
#include <papcoll/transport/message_transports.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/rma/remote_atomics.hpp>
#include <papcoll/transport/rma/rma_atomics.hpp>
#include <papcoll/transport/transport.hpp>
#ifdef SMPI_H
#include <papcoll/transport/smpi/smpi_endpoint.hpp>
#else
#include <papcoll/transport/mpi/mpi_endpoint.hpp>
#endif

#include <cstddef>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {

PAPCOLL_DECL std::string MpiTransport::unavailable(const TeamEnvironment& s) {
  return s.mpi != nullptr ? "" : "this team has no MPI communicator: take ThreadTransport";
}
PAPCOLL_DECL std::unique_ptr<Endpoint> MpiTransport::connect(const TeamEnvironment& s) {
#ifdef SMPI_H
  return std::unique_ptr<Endpoint>(new SmpiEndpoint(*s.mpi));
#else
  return std::unique_ptr<Endpoint>(new MpiEndpoint(*s.mpi));
#endif
}

[[gnu::cold]] PAPCOLL_DECL std::unique_ptr<RemoteAtomics> RmaTransport::open_atomics(
    const TeamEnvironment& s, std::size_t n, RemoteTickets tickets) {
  if (s.node != nullptr && tickets != RemoteTickets::never) {
    return std::unique_ptr<RemoteAtomics>(new SharedWords(*s.node, n));
  }
  return detail::open_atomics<>(*s.mpi, s.nodes, n, tickets);
}

static_assert(TransportPolicy<MpiTransport> && TransportPolicy<RmaTransport>);

namespace detail {
PAPCOLL_COMPILE_ONCE(const TransportTable& table_of_transport<MpiTransport>() noexcept)
PAPCOLL_COMPILE_ONCE(const TransportTable& table_of_transport<RmaTransport>() noexcept)
}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
