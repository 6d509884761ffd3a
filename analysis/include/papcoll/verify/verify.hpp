// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/error.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/schedule/make_plan.hpp>
#include <papcoll/verify/memory.hpp>
#include <papcoll/verify/messages.hpp>
#include <papcoll/verify/run.hpp>
#include <papcoll/verify/values.hpp>
#include <papcoll/verify/verdict.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

// The verifier: a proof that the plans of all ranks together do what the collective promises,
// whatever the timing.
//
//   memory     each plan alone: nothing outside the buffers or into a const input, and every two
//              conflicting accesses ordered by dependencies       (so no result depends on timing)
//   messages   every send meets a receive of its size                        (so matching is fixed)
//   run        all plans together, one block in flight, sends by rendezvous        (so it finishes)
//   values     in that run every output element ends as the right element, with each contribution
//              once, in rank order where it must be, and the same bits on all ranks
//
// It trusts nothing of how plans are made. Elements are simulated singly: use small counts, about
// the number of ranks, in which every block of a schedule occurs.

namespace papcoll::inline PAPCOLL_ABI {

/// What is asked of the plans besides being right.
struct VerifyOptions {
  /// With anything but Fast, all ranks' results of an allreduce must be combined in the same way.
  NumericalContract contract = NumericalContract::rank_consistent;
};

namespace detail {

/// Verifies one block; `shape.count` is the block's, and its first element is number `origin`.
inline Verdict verify_block(std::vector<const Plan*> plans, Shape shape, const Order& order,
                            const VerifyOptions& options, std::size_t origin) {
  const JointPlan joint{std::move(plans), order};
  std::vector<CellMap> maps;
  MemoryCheck memory;
  for (std::size_t rank = 0; rank < joint.ranks(); ++rank) {
    shape.rank = static_cast<int>(rank);
    maps.emplace_back(detail::seen_by(shape, shape.rank), joint.plan(rank).scratch());
    if (Verdict v = memory.check(joint.plan(rank), maps.back(), shape.rank, joint.rank_at); !v) {
      return v;
    }
  }
  Matching matching;
  if (Verdict v = matching.match(joint); !v) return v;
  JointRun run;
  if (shape.collective == Collective::barrier) {
    Arrivals arrivals{joint};
    Verdict v = run.run(joint, matching, arrivals);
    return v ? arrivals.check() : v;
  }
  Values values{shape, joint, maps};
  Verdict v = run.run(joint, matching, values);
  return v ? values.check(options.contract, origin) : v;
}

/// Checks that all ranks cut the vector in the same blocks, and that these make up the vector.
inline Verdict verify_blocks(std::span<const BlockedPlan> plans, const Shape& shape) {
  const BlockedPlan& first = plans.front();
  // Where each rank knows the sizes of its own pairs only, each has a vector of its own.
  const bool own_vectors =
      traits_of(shape.collective).vector == VectorOf::block_per_pair && !shape.counts.empty();
  if (own_vectors && first.blocks == 1) return {};
  for (std::size_t r = 0; r < plans.size(); ++r) {
    const BlockedPlan& p = plans[r];
    const int rank = static_cast<int>(r);
    if (p.blocks != first.blocks || p.block_elements != first.block_elements ||
        p.shorter_last != first.shorter_last || p.full.count() != first.full.count() ||
        p.last.count() != first.last.count()) {
      return {FaultKind::unmatched, rank, Verdict::nowhere, Verdict::nowhere,
              "rank " + std::to_string(r) + " cuts the vector in other blocks than rank 0"};
    }
    if (p.shorter_last && p.last.scratch() > p.full.scratch()) {
      return {FaultKind::out_of_bounds, rank, Verdict::nowhere, Verdict::nowhere,
              "rank " + std::to_string(r) +
                  ": the last block needs more scratch space than the full ones, for which it is "
                  "allocated"};
    }
  }
  const std::size_t full_blocks = first.blocks - (first.shorter_last ? 1 : 0);
  const std::size_t covered =
      full_blocks * first.full.count() + (first.shorter_last ? first.last.count() : 0);
  if (covered == shape.vector_size() &&
      (first.blocks == 1 || first.block_elements == first.full.count())) {
    return {};
  }
  return {covered < shape.vector_size() ? FaultKind::missing : FaultKind::out_of_bounds, 0,
          Verdict::nowhere, covered,
          counted(first.blocks, "block") + " that begin every " +
              counted(first.block_elements, "element") + " do not make up the vector of " +
              std::to_string(shape.vector_size())};
}

}  // namespace detail

/// Verifies the plans of all ranks (plans[r] is rank r's) for one collective call. `shape.rank` is
/// not used; the ranks of `shape` and `order` are as many as plans.
inline Verdict verify(std::span<const BlockedPlan> plans, const Shape& shape, const Order& order,
                      const VerifyOptions& options = {}) {
  if (plans.size() != static_cast<std::size_t>(shape.size) || order.size() != shape.size ||
      plans.empty()) {
    throw argument_error("papcoll::verify: " + detail::counted(plans.size(), "plan") + " for " +
                         detail::counted(static_cast<std::size_t>(shape.size), "rank") +
                         " and an order of " + std::to_string(order.size()) +
                         ": give one plan for each rank");
  }
  if (Verdict v = detail::verify_blocks(plans, shape); !v) return v;
  const BlockedPlan& first = plans.front();
  auto verify_each = [&](const Plan BlockedPlan::*which, std::size_t origin) {
    std::vector<const Plan*> block;
    for (const BlockedPlan& p : plans) block.push_back(&(p.*which));
    Shape shape_of_block = shape;
    if (first.blocks > 1) shape_of_block.count = (first.*which).count();
    return detail::verify_block(std::move(block), shape_of_block, order, options, origin);
  };
  const std::size_t full_blocks = first.blocks - (first.shorter_last ? 1 : 0);
  Verdict v;
  if (full_blocks > 0) v = verify_each(&BlockedPlan::full, 0);
  if (v && first.shorter_last) {
    v = verify_each(&BlockedPlan::last, full_blocks * first.block_elements);
  }
  return v;
}

/// Verifies a schedule for one collective call, which it must serve.
inline Verdict verify(const AnySchedule& schedule, Shape shape, const Order& order,
                      const VerifyOptions& options = {}) {
  std::vector<BlockedPlan> plans;
  for (shape.rank = 0; shape.rank < shape.size; ++shape.rank) {
    try {
      plans.push_back(make_plan(schedule, detail::seen_by(shape, shape.rank), order));
    } catch (const argument_error& e) {
      return {FaultKind::out_of_bounds, shape.rank, Verdict::nowhere, Verdict::nowhere, e.what()};
    } catch (const error& e) {
      return {FaultKind::missing, shape.rank, Verdict::nowhere, Verdict::nowhere, e.what()};
    }
  }
  return verify(plans, shape, order, options);
}

}  // namespace papcoll::inline PAPCOLL_ABI
