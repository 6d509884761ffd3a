#pragma once

#include <papcoll/base/pointers.hpp>
#include <papcoll/schedule/make_plan.hpp>

#include <cstddef>
#include <cstdint>
#include <list>

namespace papcoll::inline PAPCOLL_ABI {

/// A plan, and what it was made of.
struct PlanOf {
  AnySchedule schedule{};
  Shape shape{};
  Order order = Order::identity(1);
  detail::Shared<const BlockedPlan> plan{};

  bool is_of(const AnySchedule& s, const Shape& of, const Order& o) const {
    return shape == of && order == o && schedule == s;
  }
};

/// The plans a communicator made last, bounded in number and in steps; the least recently used ones
/// go first. What keeps one, such as a persistent call, has a copy of it: the cache does not grow
/// with those. Building a plan costs about what a message does, so the cache is small and searched
/// in order.
class PlanCache {
 public:
  /// The plan of (schedule, shape, order), made if it is not there.
  const PlanOf& get(const AnySchedule& schedule, const Shape& shape, const Order& order) {
    for (auto e = entries_.begin(); e != entries_.end(); ++e) {
      if (!e->is_of(schedule, shape, order)) continue;
      if (e != entries_.begin()) entries_.splice(entries_.begin(), entries_, e);
      return *e;
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
  [[gnu::cold, gnu::noinline]] const PlanOf& made(const AnySchedule& schedule, const Shape& shape,
                                                  const Order& order) {
    entries_.push_front(
        {schedule, shape, order,
         detail::make_shared<const BlockedPlan>(make_plan(schedule, shape, order))});
    steps_ += steps_of(*entries_.front().plan);
    while (entries_.size() > 1 && (entries_.size() > max_entries || steps_ > max_steps)) {
      steps_ -= steps_of(*entries_.back().plan);
      entries_.pop_back();
    }
    return entries_.front();
  }

  static std::size_t steps_of(const BlockedPlan& p) noexcept {
    return p.full.size() + p.last.size();
  }

  std::list<PlanOf> entries_;
  std::size_t steps_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI
