// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/transport/transport_policy.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// Ranks anywhere: MPI point-to-point messages on a private communicator.
///
/// Calls of different lengths show when a message is received, if MPI lets them: of one that is too
/// long Open MPI 4.1 may write what is too much, and MPICH 4.0 ends the job. PAPCOLL_ASSERTIONS=2
/// compares blocking calls before anything is sent.
struct MpiTransport {
  using policy_kind = TransportPolicyKind;
  static constexpr std::string_view name = "MpiTransport";
  static constexpr unsigned offers = 0;
  static constexpr bool wakes_receivers = false;

  static std::string unavailable(const TeamEnvironment& environment);
  static std::unique_ptr<Endpoint> connect(const TeamEnvironment& environment);
};

/// Ranks anywhere: the messages of MpiTransport, and, for ArrivalOrder, a counter of tickets on
/// rank 0, from which ranks draw tickets without any help by rank 0.
///
/// On one node the counter is in memory that the ranks share. Elsewhere it is in an MPI window, and
/// not every MPI can do without rank 0's help: over TCP, and in MPICH without network hardware that
/// does atomic operations, rank 0 has to be inside MPI to answer. The first call under ArrivalOrder
/// on a communicator tries it, once, for 2 ms. Where an operation takes 50 µs or more, calls run in
/// predicted order (SortedLinearTree under PredictedOrder), and Communicator::why_no_tickets() says
/// why.
struct RmaTransport : MpiTransport {
  static constexpr std::string_view name = "RmaTransport";
  static constexpr unsigned offers = capability::remote_tickets;

  static std::unique_ptr<RemoteAtomics> open_atomics(const TeamEnvironment& environment,
                                                     std::size_t n, RemoteTickets tickets);
};

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/topology/options.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/mpi_endpoint.hpp>
#include <papcoll/transport/rma/remote_atomics.hpp>
#include <papcoll/transport/rma/rma_atomics.hpp>
#include <papcoll/transport/transport.hpp>

#ifdef SMPI_H
#include <papcoll/simulate/smpi/smpi_endpoint.hpp>
#endif

namespace papcoll::inline PAPCOLL_ABI {

PAPCOLL_DECL std::string MpiTransport::unavailable(const TeamEnvironment& environment) {
  return environment.mpi != nullptr ? ""
                                    : "this team has no MPI communicator: take ThreadTransport";
}
PAPCOLL_DECL std::unique_ptr<Endpoint> MpiTransport::connect(const TeamEnvironment& environment) {
#ifdef SMPI_H
  return std::unique_ptr<Endpoint>(new SmpiEndpoint(*environment.mpi));
#else
  return std::unique_ptr<Endpoint>(new MpiEndpoint(*environment.mpi));
#endif
}

[[gnu::cold]] PAPCOLL_DECL std::unique_ptr<RemoteAtomics> RmaTransport::open_atomics(
    const TeamEnvironment& environment, std::size_t n, RemoteTickets tickets) {
  if (environment.node != nullptr && tickets != RemoteTickets::never) {
    return std::unique_ptr<RemoteAtomics>(new SharedWords(*environment.node, n));
  }
  return detail::open_atomics<>(*environment.mpi, environment.nodes, n, tickets);
}

static_assert(TransportPolicy<MpiTransport> && TransportPolicy<RmaTransport>);

namespace detail {
PAPCOLL_COMPILE_ONCE(const TransportTable& table_of_transport<MpiTransport>() noexcept)
PAPCOLL_COMPILE_ONCE(const TransportTable& table_of_transport<RmaTransport>() noexcept)
}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI

#endif
