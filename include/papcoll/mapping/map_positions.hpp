#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/config.hpp>

namespace papcoll {
inline namespace PAPCOLL_ABI {

class AnySchedule;
class Machine;
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

}  // namespace PAPCOLL_ABI
}  // namespace papcoll

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/impl/map_positions.ipp>
#endif
