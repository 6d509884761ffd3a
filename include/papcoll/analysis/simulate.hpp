#pragma once

#include <papcoll/analysis/simulate_plans.hpp>
#include <papcoll/analysis/simulate_run.hpp>
#include <papcoll/analysis/simulated.hpp>
#include <papcoll/error.hpp>
#include <papcoll/model/log_gops.hpp>
#include <papcoll/plan/make_plan.hpp>

#include <cstddef>
#include <string>

// The simulator: the plans of all ranks, run in virtual time.
//
// Each rank has one processor and one port. The processor runs the plan as plan/engine.hpp does;
// a reduction keeps it busy for γ seconds a byte, a copy for copy_per_byte, and each message for
// o + O·bytes at the sender, when it is sent, and at the receiver, when it is all there. It does one
// of these at a time, and hears of messages only between them.
//
// Ports::exclusive (LogGOPS). A port is full duplex, and busy with a message for max(g, G·bytes) in
// either direction; messages wait for it in the order in which they come to it. The first byte is
// at the receiver's port L after it left the sender's, and the last one G·bytes after the port took
// it up. A message of less than S bytes is sent whether its receive was started or not, and its
// send is complete at once. A longer one comes to the sender's port when both have been started,
// and its send is complete when its last byte has left.
//
//     two messages of w = G·bytes, 0→2 at time 0 and 1→2 at time w/2
//       rank 0   o send │■■■■ port out ■■■■│
//       rank 1           ····o send │■■■■ port out ■■■■│
//       rank 2                     │■■■■■ port in ■■■■│■■■■■■■■■■■■■■■│
//                          ←─ L ─→                   o receive      o receive
//       complete at rank 2 at o + L + w + o, and, having waited at its port, at o + L + 2w + o
//
// Ports::shared (SimGrid's SMPI on a platform whose hosts each have a link of their own). A message
// begins when both sides have been started, whatever its length. L passes, and then it is a flow of
// bytes: all flows share the ports max-min fairly (analysis/fair_shares.hpp), each port being good
// for one byte in G. Sends of less than S bytes are complete at once, others with their receive. g
// has no meaning here. With SMPI's options of bw-factor 1, lat-factor 1, no cross-traffic, and
// smpi/send-is-detached-thresh at S, this is what SMPI does.
//
//     the same two messages: 1→2 comes when half of 0→2 is through, from then on each has half
//       rank 2        │■■■■■■■■■■■■■■■■■■■■■■■■■│          0→2   w/2 + w/2·2
//                               │■■■■■■■■■■■■■■■■■■■■■■■│  1→2   w/2·2 + w/2
//
// Where SimulateOptions::links says so, L and G are those of the pair. A shared port then is good for
// one of its seconds a second, of which a byte takes the pair's G.
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
  require(options.window > 0, "no block may be in flight: give a window of 1 or more");
  require(options.arrivals.empty() || options.arrivals.size() == ranks,
          std::to_string(options.arrivals.size()) +
              " arrivals: give one for each rank, or none for all at 0");
  require(options.links.empty() || options.links.size() == ranks,
          "link costs for " + std::to_string(options.links.size()) + " ranks: give each rank's");
  for (const double parameter :
       {model.latency, model.overhead, model.gap, model.gap_per_byte, model.overhead_per_byte,
        model.combine_per_byte, model.copy_per_byte}) {
    require(parameter >= 0, "the model has a negative time");
  }
}

}  // namespace detail

/// Times a static schedule for one call, which it must serve (`shape.rank` is not used), in the
/// model's seconds. Deterministic: the same arguments give the same bits. Throws argument_error for
/// what cannot be simulated, and error where steps wait for each other for ever.
///
/// Cost: about 1 µs a step and 100 bytes; with keep_steps three times that.
inline Simulated simulate(const AnySchedule& schedule, const Shape& shape, const Order& order,
                          const LogGops& model, const SimulateOptions& options = {}) {
  detail::require_simulable(schedule, shape, order, model, options);
  const detail::JointPlans plans{schedule, shape, order};
  return detail::SimulatedRun{plans, model, options}.run();
}

}  // namespace papcoll::inline PAPCOLL_ABI
