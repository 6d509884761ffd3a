// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/error.hpp>
#include <papcoll/base/floating_order.hpp>
#include <papcoll/model/log_gops.hpp>
#include <papcoll/schedule/make_plan.hpp>
#include <papcoll/simulate/limits.hpp>
#include <papcoll/simulate/plans.hpp>
#include <papcoll/simulate/run.hpp>
#include <papcoll/simulate/simulated.hpp>

#include <cstddef>
#include <string>

// The simulator: the plans of all ranks, run in virtual time.
//
// Each rank has one processor and one port. The processor runs the plan as PlanRun does: a
// reduction takes it γ seconds a byte, a copy copy_per_byte, and a message o + O·bytes both when it
// is sent and when it has been received. It does one thing at a time, in the order in which they
// became possible, and looks for messages that have ended only when nothing else is left to do.
//
// Ports::exclusive (LogGOPS). A message keeps the sender's port busy for max(g, G·bytes), and the
// receiver's as long, the two directions of a port apart; messages wait for a port in the order in
// which they come to it, and a rank's that come at one moment in the order in which it sends them.
// The first byte is at the receiver's port L after it left the sender's, and the last one has
// arrived G·bytes after the port took it up. A message of less than S bytes is sent
// whether its receive was started or not, and its send is complete at once. A longer one comes to
// the sender's port when both are started, and its send is complete when the last byte has left.
//
//     o = 2, L = 4, G·bytes = 8: 0→2 at time 0, 1→2 at time 4
//       time                     0         10        20
//       rank 0, processor        oo
//               port out           ■■■■■■■■
//       rank 1, processor            oo
//               port out               □□□□□□□□
//       rank 2, port in                ■■■■■■■■□□□□□□□□      1→2 is here at 10 and waits till 14
//               processor                      oo      oo    the first is received at 16
//
// Ports::shared (SimGrid's SMPI, where each host has a link of its own). A message begins when both
// sides have started it, whatever its length. When L has passed it is a flow of bytes; all flows
// share the ports max-min fairly (simulate/fair_shares.hpp), and a port is good for a byte in G
// seconds. Sends of less than S bytes are complete at once, the others with their receives. g means
// nothing.
//
//     o = 0, L = 4, G·bytes = 8: 0→2 at time 0, 1→2 at time 4
//       time                     0         10        20
//       0→2                      LLLL■■■■▪▪▪▪▪▪▪▪            alone, then with half of the port
//       1→2                          LLLL▪▪▪▪▪▪▪▪■■■■
//
// Where SimulateOptions::links gives costs, L and G are those of the pair; a port that is shared is
// good for a second of bytes a second, however long each of them takes.
//
// What SMPI is told for the same times: bw-factor 1, lat-factor 1, no cross-traffic, cpu-threshold
// 0, send-is-detached-thresh S, async-small-thresh 0, and network/optim Full (SimGrid 3.32's Lazy
// forgets to slow flows down when others join them).
//
// Source: Hoefler, Schneider, Lumsdaine, "LogGOPSim: simulating large-scale applications in the
// LogGOPS model", HPDC 2010; Casanova et al., "Versatile, scalable, and accurate simulation of
// distributed applications and platforms", JPDC 74(10), 2014.

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

inline void require_simulable(const AnySchedule& schedule, const Shape& shape, const Order& order,
                              const LogGops& model, const SimulateOptions& options) {
  const auto ranks = static_cast<std::size_t>(shape.size);
  const std::string call = schedule.name() + " for " + std::to_string(ranks) + " ranks";
  auto require = [&call](bool holds, const std::string& what) {
    if (!holds) throw argument_error("papcoll: simulate() of " + call + ": " + what);
  };
  require(schedule.serves(shape.collective),
          "it does not serve " + std::string(name_of(shape.collective)));
  require(order.size() == shape.size,
          "the order has " + std::to_string(order.size()) + " ranks: give one of this size");
  require(shape.commutative || !schedule.commutative_only(),
          "it combines out of rank order, which the operator does not allow");
  require(options.pipeline_depth > 0,
          "no block may be in flight: give a pipeline depth of 1 or more");
  require(options.arrivals.empty() || options.arrivals.size() == ranks,
          std::to_string(options.arrivals.size()) +
              " arrivals: give one for each rank, or none for all at 0");
  require(options.links.empty() || options.links.size() == ranks,
          "link costs for " + std::to_string(options.links.size()) + " ranks: give each rank's");
  for (const double parameter :
       {model.latency, model.overhead, model.gap, model.gap_per_byte, model.overhead_per_byte,
        model.combine_per_byte, model.copy_per_byte}) {
    require(detail::is_finite(parameter) && parameter >= 0,
            "the model has a negative time, or one that is no finite number");
  }
  require(options.resolution >= 0, "the resolution is negative, or no number");
  for (const double arrival : options.arrivals) {
    require(detail::is_finite(arrival), "an arrival is no finite number");
  }
  for (const LinkCost& cost : options.links.costs()) {
    require(cost.latency >= 0 && cost.gap_per_byte >= 0 && detail::is_finite(cost.latency) &&
                detail::is_finite(cost.gap_per_byte),
            "a link costs a negative time, or one that is no finite number");
  }
}

}  // namespace detail

/// Times a static schedule for one call, which it must serve (`shape.rank` is not used), in the
/// model's seconds. Deterministic: the same arguments give the same bits. Throws argument_error for
/// what cannot be simulated, and error where steps wait for each other for ever.
///
/// Cost: about 1 µs a step and 80 bytes of memory (of one block, if there are many), 90 more with
/// keep_path, 235 with keep_steps (of all blocks). More than `options` allows is refused before.
inline Simulated simulate(const AnySchedule& schedule, const Shape& shape, const Order& order,
                          const LogGops& model, const SimulateOptions& options = {}) {
  detail::require_simulable(schedule, shape, order, model, options);
  const detail::SimulationLimits limits{
      schedule.name() + " with " + std::to_string(shape.size) + " ranks", options};
  const detail::JointPlans plans{schedule, shape, order, limits};
  Simulated result = detail::SimulatedRun{plans, model, options}.run();
  if (detail::is_finite(result.time())) return result;
  throw argument_error("papcoll: simulate() of " + schedule.name() +
                       ": the model's times add up to more than a double holds");
}

}  // namespace papcoll::inline PAPCOLL_ABI
