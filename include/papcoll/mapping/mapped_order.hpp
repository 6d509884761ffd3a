#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/config.hpp>
#include <papcoll/mapping/cost.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/machine_on_demand.hpp>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// Which rank plays which position of a schedule on a machine, and what that gains.
struct MappedOrder {
  /// Why positions stay in rank order, or not.
  enum class Verdict : unsigned char {
    mapped,
    all_talk_to_all,  ///< or nearly so: see traffic_of()
    gains_nothing,
    links_unknown,  ///< Arrangement::by_traffic_in_trees, and the network is by hops
    worse,          ///< in bytes × hops or on the heaviest link
  };

  Order order = Order::identity(1);  ///< a root is position 0
  Verdict verdict = Verdict::gains_nothing;
  MappingCost in_rank_order{};
  MappingCost arranged{};  ///< of the best arrangement, used or not
};

/// Lays the positions of a schedule along a machine, for a root, which is 0 where there is none: as
/// map_positions() does, or in another way.
using MapPositions = MappedOrder(const AnySchedule& schedule, Collective c, const Machine& machine,
                                 int root);

/// The same along the machine of a team, which is made for the first call that follows it. None, if
/// made without.
class AlongMachine {
 public:
  AlongMachine() = default;
  AlongMachine(MapPositions& map)  // NOLINT(google-explicit-constructor): it is one
      : map_(&map),
        lay_([](MapPositions& m, const AnySchedule& schedule, Collective c,
                const MachineOnDemand& machine,
                int root) { return m(schedule, c, machine.get(), root); }) {}

  MapPositions* map() const noexcept { return map_; }
  MappedOrder operator()(const AnySchedule& schedule, Collective c, const MachineOnDemand& machine,
                         int root) const {
    return lay_(*map_, schedule, c, machine, root);
  }
  friend bool operator==(const AlongMachine& a, const AlongMachine& b) = default;

 private:
  MapPositions* map_ = nullptr;
  /// Made with `map_`, so that a program without one does not compile what makes machines.
  MappedOrder (*lay_)(MapPositions&, const AnySchedule&, Collective, const MachineOnDemand&,
                      int root) = nullptr;
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
