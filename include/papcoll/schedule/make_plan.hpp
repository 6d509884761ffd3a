#pragma once

#include <papcoll/schedule/assembler.hpp>
#include <papcoll/schedule/builder.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <cstddef>
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
/// Most of what makes plans is cold, as is what tells of failures: optimised for size, it takes the
/// user's compiler less time. Those functions in which it spends the most are not cold.
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

}  // namespace papcoll::inline PAPCOLL_ABI
