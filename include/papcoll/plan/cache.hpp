#pragma once

#include <papcoll/plan/make_plan.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// The plans a communicator made last, bounded in steps; the least recently used ones go first, but
/// for those that somebody else holds: a run, or a persistent call.
/// Building a plan costs about what a message does, so the cache is small and searched in order.
class PlanCache {
 public:
  /// The plan of (schedule, shape, order), made if it is not there.
  std::shared_ptr<const BlockedPlan> get(const AnySchedule& schedule, const Shape& shape,
                                         const Order& order) {
    for (auto e = entries_.begin(); e != entries_.end(); ++e) {
      if (e->shape == shape && e->order == order && e->schedule == schedule) {
        if (e != entries_.begin()) entries_.splice(entries_.begin(), entries_, e);
        return entries_.front().plan;
      }
    }
    return made(schedule, shape, order);
  }

  /// Drops the plans of a permutation that will not be used again, whatever rank came first in it.
  [[gnu::cold]] void forget(const Order& order) {
    for (auto e = entries_.begin(); e != entries_.end();) {
      if (e->order.is_akin(order)) {
        steps_ -= steps_of(*e->plan);
        e = entries_.erase(e);
      } else {
        ++e;
      }
    }
  }

  std::size_t size() const noexcept { return entries_.size(); }

  static constexpr std::size_t max_entries = 32;
  static constexpr std::size_t max_steps = 1 << 16;  ///< about 8 MB

 private:
  struct Entry {
    AnySchedule schedule;
    Shape shape;
    Order order;
    std::shared_ptr<const BlockedPlan> plan;
  };

  [[gnu::cold, gnu::noinline]] std::shared_ptr<const BlockedPlan> made(const AnySchedule& schedule,
                                                                       const Shape& shape,
                                                                       const Order& order) {
    auto plan = std::make_shared<const BlockedPlan>(make_plan(schedule, shape, order));
    steps_ += steps_of(*plan);
    entries_.push_front({schedule, shape, order, plan});
    drop_oldest();
    return plan;
  }

  void drop_oldest() {
    for (auto e = entries_.end(); e != entries_.begin();) {
      if (entries_.size() <= max_entries && steps_ <= max_steps) return;
      --e;
      if (e->plan.use_count() > 1) continue;
      steps_ -= steps_of(*e->plan);
      e = entries_.erase(e);
    }
  }

  static std::size_t steps_of(const BlockedPlan& p) noexcept {
    return p.full.size() + p.last.size();
  }

  std::list<Entry> entries_;
  std::size_t steps_ = 0;
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
