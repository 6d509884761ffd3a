// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What if the calls of a program had been made by another algorithm: by simulation.
//
// The recorded arrivals of each call are played to every algorithm of a catalogue that can run the
// call. Those that decide by who arrives when run in virtual time on a node
// (simulate/virtual_node.hpp), static schedules by messages (simulate/simulate.hpp), in rank order
// and in the order that a predictor has learnt from the calls before. Calls begin one after the
// other; a rank that is late in one is as late in the other, whatever runs: how an algorithm that
// lets ranks go earlier would change the arrivals of later calls is not known.
//
// Of a long trace some stretches are simulated (sampled()). Predictors see all calls.

#include <papcoll/arrival/predictor.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/model/log_gops.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/simulate/link_costs.hpp>
#include <papcoll/simulate/node_costs.hpp>
#include <papcoll/what_if/answer.hpp>
#include <papcoll/what_if/recorded.hpp>

#include <cstddef>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace what_if {

/// What a simulated answer rests on.
struct Basis {
  NodeCosts node;              ///< of algorithms in the memory of a node
  LogGops messages;            ///< of static schedules
  LinkCosts links{};           ///< instead of the model's latency and gap, by ranks
  double message_error = 0;    ///< part by which the tails of schedules may be wrong; 0: not known
  std::vector<int> colours{};  ///< of each rank: see VirtualOptions
  std::size_t most_calls = 200;  ///< that are simulated
  /// What predicts orders for static schedules; empty: none.
  std::vector<AnyPredictor> predictors{AnyPredictor::of<MovingAverage>()};
};

/// Returns the times of the calls by the algorithms of a catalogue, simulated. Deterministic.
/// Throws argument_error for a record that makes no sense, or that nothing can play.
Answer simulated_answer(const Recorded& recorded, const Basis& basis, Catalogue catalogue);

}  // namespace what_if
}  // namespace papcoll::inline PAPCOLL_ABI
