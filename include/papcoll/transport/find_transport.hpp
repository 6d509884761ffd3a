#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/transport/transport_policy.hpp>

#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// The transport of a team's calls that name none: the first that serves the team.
PAPCOLL_DECL const TransportTable& default_transport(const TeamEnvironment& s) noexcept;

/// The one of that name; the default, if the name is empty. Throws transport_unavailable.
PAPCOLL_DECL const TransportTable& find_transport(const TeamEnvironment& s, std::string_view name);

using FindTransport = decltype(find_transport);

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/transport/find_transport.ipp>
#endif
