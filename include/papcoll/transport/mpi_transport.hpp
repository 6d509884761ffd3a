#pragma once

#include <papcoll/transport/transport_policy.hpp>

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
  static constexpr bool rings = false;

  static std::string unavailable(const TeamEnvironment& s);
  static std::unique_ptr<Endpoint> connect(const TeamEnvironment& s);
};

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/transport/mpi_transport.ipp>
#endif
