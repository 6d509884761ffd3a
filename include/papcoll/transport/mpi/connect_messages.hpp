#pragma once

#include <papcoll/config.hpp>
#include <papcoll/plan/endpoint.hpp>
#include <papcoll/transport/mpi/link.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/mpi_endpoint.hpp>
#include <papcoll/transport/smpi/smpi_endpoint.hpp>

#include <memory>
#include <type_traits>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// The endpoint of a team's messages, of real ranks or of simulated ones.
template <class = void>
std::unique_ptr<Endpoint> connect_messages(MpiLink& link) {
  return std::make_unique<std::conditional_t<simulated, SmpiEndpoint, MpiEndpoint>>(link);
}
PAPCOLL_COMPILE_ONCE(std::unique_ptr<Endpoint> connect_messages<>(MpiLink&))

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
