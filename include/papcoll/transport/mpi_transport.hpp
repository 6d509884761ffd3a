#pragma once

#include <papcoll/transport/mpi/mpi_endpoint.hpp>
#include <papcoll/transport/transport.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Ranks anywhere: MPI point-to-point messages on a private communicator.
struct MpiTransport {
  using policy_kind = TransportPolicyKind;
  static constexpr std::string_view name = "MpiTransport";
  static constexpr unsigned offers = 0;
  static constexpr bool rings = false;

  static std::string unavailable(const Surroundings& s) {
    return s.mpi != nullptr ? "" : "this team has no MPI communicator: take ThreadTransport";
  }
  static std::unique_ptr<Endpoint> connect(const Surroundings& s) {
    return std::make_unique<MpiEndpoint>(*s.mpi);
  }
};
static_assert(TransportPolicy<MpiTransport>);

}  // namespace papcoll::inline PAPCOLL_ABI
