#pragma once

#include <papcoll/plan/endpoint.hpp>
#include <papcoll/transport/transport.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace papcoll {
inline namespace PAPCOLL_ABI {

namespace detail {
/// The endpoint of plans over MPI's messages.
PAPCOLL_DECL std::unique_ptr<Endpoint> connect_messages(MpiLink& link);
/// The same, which tells a function of messages that are complete. Not with SimGrid.
PAPCOLL_DECL std::unique_ptr<Endpoint> connect_told_messages(
    MpiLink& link, std::function<void(const TransportOp&)> told);
}  // namespace detail

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

  static std::string unavailable(const Surroundings& s) {
    return s.mpi != nullptr ? "" : "this team has no MPI communicator: take ThreadTransport";
  }
  static std::unique_ptr<Endpoint> connect(const Surroundings& s) {
    return detail::connect_messages(*s.mpi);
  }
};
static_assert(TransportPolicy<MpiTransport>);

}  // namespace PAPCOLL_ABI
}  // namespace papcoll

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/impl/messages.ipp>
#endif
