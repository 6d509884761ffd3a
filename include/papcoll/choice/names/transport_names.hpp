#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/policy.hpp>

#include <array>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// A transport as names and listings know it, without its header.
struct TransportName {
  std::string_view name;
  unsigned offers;  ///< capability bits
};

inline constexpr std::array transport_names{
    TransportName{"MpiTransport", 0},
    TransportName{"ShmTransport", capability::node_memory},
    TransportName{"ThreadTransport", capability::node_memory},
    TransportName{"RmaTransport", capability::remote_tickets},
    TransportName{"CudaIpcTransport", capability::device_memory},
};

}  // namespace papcoll::inline PAPCOLL_ABI
