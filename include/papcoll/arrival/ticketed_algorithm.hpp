#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// What an arrival-driven algorithm is among ranks that share no memory, where it can do without: a
/// static schedule whose positions ranks draw when they arrive. It is blocking.
struct TicketedAlgorithm {
  std::string_view name;  ///< that of the arrival-driven algorithm
  bool (*serves)(Collective) noexcept;
  AnySchedule (*plan)();       ///< what each rank runs once it knows its position
  NumericalContract contract;  ///< the strongest that it keeps
  bool commutative_only;
};

/// Of an ArrivalDriven<Arrival, Schedule> that has a ByTicket.
template <class Driven>
inline constexpr TicketedAlgorithm ticketed_algorithm{
    Driven::name, &Driven::ByTicket::serves, &Driven::ByTicket::plan, Driven::ByTicket::contract,
    Driven::ByTicket::commutative_only};

}  // namespace papcoll::inline PAPCOLL_ABI
