#pragma once

#include <papcoll/transport/mpi_transport.hpp>
#include <papcoll/transport/rma/rma_words.hpp>
#include <papcoll/transport/rma/shared_words.hpp>
#include <papcoll/transport/transport.hpp>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// Ranks anywhere: the messages of MpiTransport, and, for ArrivalOrder, an arrival board on rank 0,
/// from which ranks draw tickets without any help by rank 0.
///
/// On one node the board is in memory that the ranks share. Elsewhere it is in an MPI window, and
/// not every MPI can do without rank 0's help: over TCP, and in MPICH without network hardware that
/// does atomic operations, rank 0 has to be inside MPI to answer. The first call under ArrivalOrder
/// on a communicator tries it, once, for 2 ms. Where an operation takes 50 µs or more, calls run in
/// predicted order (SortedLinearTree under PredictedOrder), and Communicator::no_tickets() says
/// why.
struct RmaTransport {
  using policy_kind = TransportPolicyKind;
  static constexpr std::string_view name = "RmaTransport";
  static constexpr unsigned offers = capability::remote_tickets;
  static constexpr bool rings = false;

  static std::string unavailable(const Surroundings& s) {
    return s.mpi != nullptr ? "" : "this team has no MPI communicator: take ThreadTransport";
  }
  static std::unique_ptr<Endpoint> connect(const Surroundings& s) {
    return detail::connect_messages(*s.mpi);
  }
  static std::unique_ptr<RemoteWords> open_words(const Surroundings& s, std::size_t n,
                                                 RemoteTickets tickets) {
    if (s.node != nullptr && tickets != RemoteTickets::never) {
      return std::make_unique<SharedWords>(*s.node, n);
    }
    return detail::open_words<>(*s.mpi, s.nodes, n, tickets);
  }
};
static_assert(TransportPolicy<RmaTransport>);

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
