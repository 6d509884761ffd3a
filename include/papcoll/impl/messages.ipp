#pragma once

#include <papcoll/transport/mpi_transport.hpp>
#ifdef SMPI_H
#include <papcoll/transport/smpi/smpi_endpoint.hpp>
#else
#include <papcoll/transport/mpi/mpi_endpoint.hpp>
#endif

#include <memory>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

PAPCOLL_DECL std::unique_ptr<Endpoint> connect_messages(MpiLink& link) {
#ifdef SMPI_H
  return std::make_unique<SmpiEndpoint>(link);
#else
  return std::make_unique<MpiEndpoint>(link);
#endif
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
