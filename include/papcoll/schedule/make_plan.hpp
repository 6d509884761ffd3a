// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/pointers.hpp>
#include <papcoll/schedule/assembler.hpp>
#include <papcoll/schedule/builder.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

/// A plan cut in blocks along the vector: `full` is run for each of the first blocks − 1 (or all)
/// blocks, `last` for a shorter one at the end. Blocks touch disjoint elements, so a PlanRun may
/// have several in flight, and a long pipeline needs no more memory than one block.
struct BlockedPlan {
  Plan full;
  Plan last;  ///< of the last block if it is shorter, else empty
  bool shorter_last = false;
  std::size_t blocks = 1;
  std::size_t block_elements = 0;  ///< of a full block

  const Plan& block(std::size_t i) const noexcept {
    return shorter_last && i + 1 == blocks ? last : full;
  }
};

namespace detail {

[[gnu::cold]] inline Plan plan_one_block(const AnySchedule& schedule, const Shape& shape,
                                         const Order& order) {
  if (schedule.makes_plans()) return schedule.plan(shape, order);
  PlanAssembler sink{shape, order};
  Builder builder{sink, {0, shape.vector_size()}};
  schedule.emit(shape.collective, builder);
  // An order in which the root is not position 0 (rank order, kept for an operator that does not
  // commute) brings the result to position 0 and moves it by one more hop.
  const int root = order.position(shape.root);
  if (shape.collective == Collective::reduce && root != 0) {
    if (builder.position() == 0) builder.send(root, builder.whole());
    if (builder.position() == root) builder.receive(0, builder.whole());
  }
  return std::move(sink).finish();
}

}  // namespace detail

/// The order in which a static schedule plays a call: rooted collectives are rotated so that the
/// root is position 0, unless the operator does not commute.
inline Order static_order(const Shape& shape) {
  const bool keep = shape.collective == Collective::reduce && !shape.commutative;
  if (!is_rooted(shape.collective) || keep) return Order::identity(shape.size);
  return Order::rotation(shape.size, shape.root);
}

/// Makes the plan of one rank (shape.rank). The schedule must serve the collective, and the order
/// must be rank order if the operator does not commute.
///
/// Most functions that make plans are cold, as are those that report failures: optimised for size,
/// they take the user's compiler less time. The functions in which most time is spent are not.
[[gnu::cold]] inline BlockedPlan make_plan(const AnySchedule& named, const Shape& shape,
                                           const Order& order) {
  const AnySchedule schedule = named.resolved(shape.size, shape.vector_size() * shape.element_size);
  BlockedPlan plan;
  const std::size_t segment =
      is_elementwise(shape.collective) ? schedule.segment(shape.size, shape.element_size) : 0;
  plan.block_elements = shape.count;
  if (segment == 0 || segment >= shape.count) {
    plan.full = detail::plan_one_block(schedule, shape, order);
    return plan;
  }
  Shape block = shape;
  block.count = plan.block_elements = segment;
  plan.full = detail::plan_one_block(schedule, block, order);
  plan.blocks = (shape.count + segment - 1) / segment;
  if (const std::size_t rest = shape.count % segment; rest != 0) {
    block.count = rest;
    plan.last = detail::plan_one_block(schedule, block, order);
    plan.shorter_last = true;
  }
  return plan;
}

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

  /// Drops the plans of a permutation that will not be used again, whatever rank arrived first in
  /// it.
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
