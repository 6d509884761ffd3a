// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace what_if {

/// What the recorded calls would have taken by one algorithm. Times are seconds: of a simulation,
/// means over the calls that were looked at; of a replay medians, since other work on the machine
/// lengthens some calls by far.
struct Outcome {
  std::string name;          ///< as the library takes it: "DynamicLeader", "PredictedOrder+Ring"
  bool by_messages = false;  ///< a static schedule; else it runs in the memory of a node
  double tail = 0;           ///< from the last arrival to the last exit
  double in_call = 0;        ///< of a rank in the call, waiting for late ones included
  /// Of a rank, less than what was recorded; negative: more. 0 where nothing was recorded.
  double saved = 0;
  /// Part of the tail by which the method may be wrong; 0: nothing is known of that.
  double error = 0;
  /// By how many seconds `in_call` and `saved` may be wrong: error, the calls that were not looked
  /// at (two standard errors), and clocks; empty: that is not known.
  std::optional<double> unsure{};
};

/// What would have been.
struct Answer {
  std::vector<Outcome> outcomes;     ///< the shortest time in the call first
  std::size_t calls = 0;             ///< that were recorded
  std::size_t looked_at = 0;         ///< of them
  bool replayed = false;             ///< measured on this machine; else simulated
  bool knows_durations = false;      ///< the ranks' times in the call were recorded
  double recorded_in_call = 0;       ///< seconds, of a rank in the mean; over calls as of outcomes
  double recorded_tail = 0;          ///< seconds, as of outcomes
  std::vector<std::string> remarks;  ///< sentences: what was left out, and why

  /// The one that takes least time in the call; there must be one.
  const Outcome& best() const { return outcomes.front(); }

  /// Puts the outcomes in order. Those that take as long stay in theirs. `clocks`: seconds that
  /// arrivals may be wrong by; `unsure` has what the method has found so far.
  void rank(double clocks) {
    for (Outcome& o : outcomes) {
      if (!(o.error > 0)) o.unsure.reset();
      if (o.unsure) *o.unsure += o.error * o.tail + clocks;
    }
    std::stable_sort(outcomes.begin(), outcomes.end(),
                     [](const Outcome& a, const Outcome& b) { return a.in_call < b.in_call; });
  }

  /// Returns true if the outcome may be as good as the best, within the method's error. What all
  /// outcomes have in common, waiting for late ranks, is no part of the error.
  bool is_as_good_as_best(const Outcome& o) const {
    const Outcome& first = best();
    const double unsure = std::max(first.error * first.tail, o.error * o.tail);
    return o.in_call - first.in_call <= unsure;
  }
};

}  // namespace what_if
}  // namespace papcoll::inline PAPCOLL_ABI
