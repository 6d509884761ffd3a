#pragma once

#include <papcoll/base/policy.hpp>
#include <papcoll/config.hpp>

namespace papcoll {
inline namespace PAPCOLL_ABI {

// What one policy needs of another is a bit. A capability has one line here: its bit, and the one
// sentence that the compiler's message, the catalogue and errors at run time share. (C++20 cannot
// compute the text of a static_assert, hence the macro.) The checker's name in the compiler's
// output shows the two policies.
#define PAPCOLL_CAPABILITY(id, bit, text)                                      \
  inline constexpr unsigned id = bit;                                          \
  inline constexpr const char* id##_sentence = text;                           \
  template <class User, class Provider>                                        \
  struct needs_##id {                                                          \
    static constexpr bool ok = !(needs_of<User> & ~offers_of<Provider> & bit); \
    static_assert(ok, text);                                                   \
  }

/// What a schedule needs of its arrival and transport policies; static schedules do not say,
/// since they all need the same.
template <class S>
inline constexpr unsigned needs_of = [] {
  if constexpr (requires { S::needs; }) {
    return unsigned{S::needs};
  } else {
    return 1U;
  }
}();

/// What an arrival or transport policy gives to schedules.
template <class P>
inline constexpr unsigned offers_of = [] {
  if constexpr (requires { P::offers; }) {
    return unsigned{P::offers};
  } else {
    return 0U;
  }
}();

namespace capability {

/// Every rank knows its position before the call starts.
PAPCOLL_CAPABILITY(positions, 1U,
                   "papcoll: this schedule must know every rank's position before the call starts, "
                   "and this arrival policy does not: take StaticOrder, or leave the schedule out");
/// One rank is the leader.
PAPCOLL_CAPABILITY(leader, 2U,
                   "papcoll: this schedule needs an arrival policy that names a leader: take "
                   "DynamicLeader or StaticLeader");
/// Ranks read each other's memory.
PAPCOLL_CAPABILITY(node_memory, 4U,
                   "papcoll: this schedule reads its peers' memory, and this transport only passes "
                   "messages: take ShmTransport (ThreadTransport in a ThreadTeam), or a schedule "
                   "such as Ring");
/// Ranks learn in which order they arrive.
PAPCOLL_CAPABILITY(tickets, 8U,
                   "papcoll: this schedule goes by the order in which ranks arrive: take "
                   "ArrivalOrder, or leave the arrival policy out");
/// It is predicted how late each rank will be.
PAPCOLL_CAPABILITY(forecast, 16U,
                   "papcoll: this schedule needs to know how late each rank will be: take "
                   "PredictedOrder, or leave the arrival policy out");

/// Ranks without common memory learn in which order they arrive.
PAPCOLL_CAPABILITY(remote_tickets, 32U,
                   "papcoll: here this schedule goes by the order in which ranks arrive that share "
                   "no memory, and this transport has no tickets for them: take RmaTransport, or, "
                   "on one node, ShmTransport");

}  // namespace capability

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
