#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>

namespace papcoll::inline PAPCOLL_ABI {

class AnySchedule;
class Machine;
class MachineOnDemand;
struct MappedOrder;  ///< in mapped_order.hpp

/// Lays the positions of a schedule along a machine, for a root, which is 0 where there is none: as
/// map_positions() does, or in another way.
using MapPositions = MappedOrder(const AnySchedule& schedule, Collective c, const Machine& machine,
                                 int root);

/// Lays the positions of a schedule along a machine, beginning at the place of the root (rank 0
/// where there is none): an order of its own for each root, since one that is rotated crosses
/// between nodes again and again. What does not gain on rank order, or is worse between nodes in
/// bytes × hops or on the heaviest link, is not used. The same on all ranks, of the same machine.
PAPCOLL_DECL MappedOrder map_positions(const AnySchedule& schedule, Collective c,
                                       const Machine& machine, int root);

namespace detail {
/// map() along the machine of a team, which is made for the first call that follows it.
PAPCOLL_DECL MappedOrder map_on_demand(MapPositions& map, const AnySchedule& schedule, Collective c,
                                       const MachineOnDemand& machine, int root);
}  // namespace detail

/// How a team's calls follow its machine; not at all, if made without.
struct AlongMachine {
  MapPositions* map = nullptr;
  /// Calls `map`, if that is there: known with it, so that a program without one does not compile
  /// what makes machines.
  decltype(&detail::map_on_demand) lay = nullptr;

  static AlongMachine by(MapPositions& map) noexcept { return {&map, &detail::map_on_demand}; }
  friend bool operator==(const AlongMachine& a, const AlongMachine& b) = default;
};

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/topology/mapping/map_positions.ipp>
#endif
