#pragma once

#include <papcoll/base/pointers.hpp>
#include <papcoll/communicator.hpp>
#include <papcoll/runtime/comm_state.hpp>
#include <papcoll/runtime/mpi_process.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/transport/message_transports.hpp>
#include <papcoll/transport/mpi/link.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>
#include <papcoll/transport/mpi/mpi_endpoint.hpp>
#include <papcoll/transport/transport.hpp>

#include <array>
#include <functional>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {
namespace detail {

PAPCOLL_DECL detail::Shared<TeamCore> core_of_comm(MPI_Comm comm, const Options* options) {
  const detail::Shared<CommState> state = CommState::of(comm, options);
  return {state, &state->core()};
}

PAPCOLL_DECL void offer_mpi_transports(TeamCore& core) {
  static constexpr std::array all{&transport_table<MpiTransport>, &transport_table<RmaTransport>};
  core.offer_transports(all);
}

PAPCOLL_DECL void offer_told_mpi_messages(TeamCore& core) {
  MpiLink* const link = core.surroundings().mpi;
  if (simulated || core.surroundings().messages) return;
  core.offer_messages([link](std::function<void(const TransportOp&)> told) {
    return std::unique_ptr<Endpoint>(new NotifyingMpiEndpoint(*link, std::move(told)));
  });
}

PAPCOLL_DECL CommFacts facts_of(const TeamCore& core) noexcept {
  const TeamEnvironment& s = core.surroundings();
  return {s.nodes,       core.options(),      s.why_no_shared_memory,
          s.why_no_cma,  core.substitution(), core.no_tickets(),
          core.broken(), s.mpi->user()};
}

}  // namespace detail

PAPCOLL_DECL void release_unused_memory() { detail::MpiProcess::get()->known_ranks().forget(); }

}  // namespace papcoll::inline PAPCOLL_ABI
