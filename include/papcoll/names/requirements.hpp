#pragma once

#include <papcoll/base/capability.hpp>
#include <papcoll/base/collective.hpp>

#include <array>
#include <string_view>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// What an algorithm can require of a call: a bit, a name for programs and a sentence for people.
struct Requirement {
  unsigned bit;
  std::string_view name;
  std::string_view sentence;
};

namespace requirement {
inline constexpr unsigned node_memory = capability::node_memory;
inline constexpr unsigned commutative_operator = 1U << 16U;
inline constexpr unsigned blocking_call = 1U << 17U;
}  // namespace requirement

inline constexpr std::array requirements{
    Requirement{requirement::node_memory, "node_memory",
                "all ranks on one node, and a transport by which they read each other's memory"},
    Requirement{requirement::commutative_operator, "commutative_operator",
                "an operator that commutes; wrap one as papcoll::commutative(op) if it does"},
    Requirement{requirement::blocking_call, "blocking_call",
                "a blocking call: nobody would drive it while its rank computes"},
};

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
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
