// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/schedule/make_plan.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/machine_on_demand.hpp>
#include <papcoll/topology/mapping/map_positions.hpp>
#include <papcoll/topology/mapping/mapped_order.hpp>

#include <array>
#include <cstddef>
#include <list>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// The orders that a team's calls under OnTopology ran in last, for each schedule, collective and
/// root; the least recently used ones go first, and their plans with them.
class MachineOrders {
 public:
  static constexpr std::size_t most = 8;

  /// Null: nothing is known of the machine, and all orders are rank order.
  explicit MachineOrders(detail::Shared<const MachineOnDemand> machine)
      : machine_(std::move(machine)) {}

  const MachineOnDemand* machine() const noexcept { return machine_.get(); }

  /// The order of a schedule, found if it is not there. `root` is 0 where there is none. The
  /// machine is known.
  const MappedOrder& of(const AnySchedule& schedule, Collective c, int root,
                        const AlongMachine& along, PlanCache& plans) {
    for (auto e = entries_.begin(); e != entries_.end(); ++e) {
      if (e->root == root && e->collective == c && e->map == along.map && e->schedule == schedule) {
        if (e != entries_.begin()) entries_.splice(entries_.begin(), entries_, e);
        return entries_.front().mapped;
      }
    }
    return found(schedule, c, root, along, plans);
  }

  /// Returns true if the collective's last call that began had this root, too. Where roots change
  /// from call to call, finding an order for each root does not pay.
  bool repeats_root(Collective c, int root) const noexcept {
    return last_root_[static_cast<std::size_t>(c)] == root + 1;
  }
  /// A call begins: not before it is known to match those of the others, where that is compared,
  /// so that all ranks remember the same root.
  void begins(Collective c, int root) noexcept {
    last_root_[static_cast<std::size_t>(c)] = root + 1;
  }

  /// All ranks, depth first along the machine; rank order where it is not known.
  const std::vector<int>& ranks() {
    if (ranks_.empty() && machine_ != nullptr) ranks_ = machine_->get().order();
    return ranks_;
  }

 private:
  struct Entry {
    AnySchedule schedule;
    Collective collective;
    int root;
    MapPositions* map;
    MappedOrder mapped;
  };

  [[gnu::cold, gnu::noinline]] const MappedOrder& found(const AnySchedule& schedule, Collective c,
                                                        int root, const AlongMachine& along,
                                                        PlanCache& plans) {
    MappedOrder mapped = along.lay(*along.map, schedule, c, *machine_, root);
    if (entries_.size() == most) {
      plans.forget(entries_.back().mapped.order);
      entries_.pop_back();
    }
    entries_.push_front({schedule, c, root, along.map, std::move(mapped)});
    return entries_.front().mapped;
  }

  detail::Shared<const MachineOnDemand> machine_;
  std::list<Entry> entries_;
  std::vector<int> ranks_;
  std::array<int, collective_count> last_root_{};  ///< by collective, + 1
};

}  // namespace papcoll::inline PAPCOLL_ABI
