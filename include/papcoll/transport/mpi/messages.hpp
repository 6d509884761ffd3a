#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/schedule/endpoint.hpp>

#include <functional>
#include <memory>

namespace papcoll::inline PAPCOLL_ABI {

class MpiLink;

namespace detail {
/// The endpoint of plans over MPI's messages.
PAPCOLL_DECL std::unique_ptr<Endpoint> connect_messages(MpiLink& link);
/// The same, which tells a function of messages that are complete. Not with SimGrid.
PAPCOLL_DECL std::unique_ptr<Endpoint> connect_notifying_messages(
    MpiLink& link, std::function<void(const TransportOp&)> told);
}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/transport/mpi/messages.ipp>
#endif
