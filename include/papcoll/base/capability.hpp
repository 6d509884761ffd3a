#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/policy.hpp>

namespace papcoll::inline PAPCOLL_ABI {

// What one policy needs of another is a bit. What is said where it does not get it:
// choice/policies/requirements.hpp.

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

inline constexpr unsigned positions = 1;  ///< every rank knows its position before the call starts
inline constexpr unsigned leader = 2;     ///< one rank is the leader
inline constexpr unsigned node_memory = 4;  ///< ranks read each other's memory
inline constexpr unsigned tickets = 8;      ///< ranks learn in which order they arrive
inline constexpr unsigned forecast = 16;    ///< it is predicted how late each rank will be
/// Ranks without common memory learn in which order they arrive.
inline constexpr unsigned remote_tickets = 32;
inline constexpr unsigned device_memory = 64;  ///< ranks read each other's memory of devices

}  // namespace capability

}  // namespace papcoll::inline PAPCOLL_ABI
