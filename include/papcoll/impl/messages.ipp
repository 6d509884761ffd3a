#pragma once

#include <papcoll/transport/mpi/messages.hpp>
#ifdef SMPI_H
#include <papcoll/transport/smpi/smpi_endpoint.hpp>
#else
#include <papcoll/transport/mpi/mpi_endpoint.hpp>
#endif

#include <functional>
#include <memory>
#include <utility>

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

PAPCOLL_DECL std::unique_ptr<Endpoint> connect_told_messages(
    MpiLink& link, std::function<void(const TransportOp&)> told) {
#ifdef SMPI_H
  static_cast<void>(told);
  return std::make_unique<SmpiEndpoint>(link);
#else
  return std::make_unique<ToldMpiEndpoint>(link, std::move(told));
#endif
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
