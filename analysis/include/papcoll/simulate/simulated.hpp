// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/model/log_gops.hpp>
#include <papcoll/schedule/plan.hpp>
#include <papcoll/simulate/link_costs.hpp>
#include <papcoll/topology/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// How the messages of one rank share its port.
enum class Ports : unsigned char {
  exclusive,  ///< LogGOPS: one message out and one in at a time, the others wait for their turn
  shared,     ///< messages in flight share the bandwidth fairly, as SimGrid's flows do
};

/// The inputs of a simulation besides the schedule, its call and the costs.
struct SimulateOptions {
  Ports ports = Ports::exclusive;                         ///< how messages share a port
  std::size_t pipeline_depth = Options{}.pipeline_depth;  ///< blocks in flight at once
  std::vector<double> arrivals{};                         ///< seconds, by rank; empty: all at 0
  bool keep_path = false;                                 ///< fill Simulated's critical_path
  bool keep_steps = false;  ///< fill its steps and their messages, too
  LinkCosts links{};        ///< instead of the model's latency and gap_per_byte, by ranks
  /// Seconds: what happens so soon after something else happens with it, at the later time. Without
  /// it, of chunks that differ by a byte the longest is always looked at last.
  double resolution = 1e-9;
  std::size_t most_steps = 1'000'000'000;          ///< of all ranks: about half an hour
  std::size_t most_memory = std::size_t{4} << 30;  ///< bytes; what takes more is refused

  /// Returns the costs of messages between two ranks.
  LinkCost link(const LogGops& model, int sender, int receiver) const noexcept {
    if (links.empty()) return {model.latency, model.gap_per_byte};
    return links.between(sender, receiver);
  }
};

/// One step of one rank's plan in virtual time (seconds).
struct SimulatedStep {
  int rank = 0;                ///< whose it is
  std::uint32_t block = 0;     ///< of the plan
  std::uint32_t step = 0;      ///< its index in the plan of its block
  OpKind kind = OpKind::copy;  ///< send, receive, reduce or copy
  int peer = -1;               ///< a rank; −1 for local steps
  std::size_t bytes = 0;       ///< that it moves or combines
  double start = 0;            ///< when the processor took it up
  double end = 0;              ///< when the rank knew that it was complete
};

/// Both ends of a message: the steps, as places in Simulated's, and the ports (seconds).
struct SimulatedEnds {
  std::size_t send = 0;     ///< the sender's step
  std::size_t receive = 0;  ///< the receiver's step
  double sent = 0;          ///< by the sender's processor
  double depart = 0;    ///< it waits no more; a port that is shared is used only a latency later
  double out_from = 0;  ///< the sender's port is busy with it from here
  double out_to = 0;    ///< to here
  double in_from = 0;   ///< the receiver's port
  double in_to = 0;     ///< to here
};

/// What became of a simulated call.
struct Simulated {
  std::vector<double> arrivals;      ///< seconds, by rank
  std::vector<double> exits;         ///< seconds, by rank
  std::size_t messages = 0;          ///< sent by all ranks together
  std::vector<SimulatedStep> steps;  ///< if kept, by rank and start
  std::vector<SimulatedEnds> ends;   ///< if steps are kept, of each message
  /// If kept: the chain of steps to the last exit, each of which was the last thing that the next
  /// waited for, from an arrival on. start and end are those of the step's part in the chain: it
  /// has no gaps, and is as long as from that arrival to the last exit.
  std::vector<SimulatedStep> critical_path;

  /// Returns the seconds from the first arrival to the last exit.
  double time() const {
    return exits.empty() ? 0 : last_exit() - *std::min_element(arrivals.begin(), arrivals.end());
  }
  /// Returns the seconds from the last arrival to the last exit.
  double tail() const {
    return exits.empty() ? 0 : last_exit() - *std::max_element(arrivals.begin(), arrivals.end());
  }

 private:
  double last_exit() const { return *std::max_element(exits.begin(), exits.end()); }
};

}  // namespace papcoll::inline PAPCOLL_ABI
