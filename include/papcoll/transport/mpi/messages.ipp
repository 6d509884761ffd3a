#pragma once

#include <papcoll/transport/mpi/messages.hpp>
#ifdef SMPI_H
#include <papcoll/transport/smpi/smpi_endpoint.hpp>
#else
#include <papcoll/transport/mpi/mpi_endpoint.hpp>
#endif

#include <functional>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI::detail {

PAPCOLL_DECL std::unique_ptr<Endpoint> connect_messages(MpiLink& link) {
#ifdef SMPI_H
  return std::unique_ptr<Endpoint>(new SmpiEndpoint(link));
#else
  return std::unique_ptr<Endpoint>(new MpiEndpoint(link));
#endif
}

PAPCOLL_DECL std::unique_ptr<Endpoint> connect_notifying_messages(
    MpiLink& link, std::function<void(const TransportOp&)> told) {
#ifdef SMPI_H
  static_cast<void>(told);
  return std::unique_ptr<Endpoint>(new SmpiEndpoint(link));
#else
  return std::unique_ptr<Endpoint>(new NotifyingMpiEndpoint(link, std::move(told)));
#endif
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
