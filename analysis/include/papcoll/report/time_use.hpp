// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What the time of a run goes into: how much of it is in collectives, waiting for late ranks or
// not, and in which calls.

#include <papcoll/report/calls.hpp>
#include <papcoll/report/imbalance.hpp>
#include <papcoll/report/run.hpp>
#include <papcoll/report/totals.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {

/// Nodes that have as few processors for as many more ranks each.
struct CrowdedNodes {
  std::vector<std::string> hosts;
  std::size_t ranks = 0;
  std::size_t processors = 0;
};

/// What a call spends its time on after the last rank has come.
enum class TimeKind {
  waiting,    ///< it does not: ranks wait longer until the last one comes
  volume,     ///< its bytes: a message of its size takes at least twice as long as one of a byte
  algorithm,  ///< several times what as many messages as it has steps take, one after another
  number,     ///< neither: there are many calls
  unknown,    ///< clocks are too coarse, or the time of a message was not measured
};

/// What the time goes into. Parts are of the time for which all ranks were recorded.
struct TimeUse {
  double collectives = 0;  ///< exact, but for clocks that were corrected
  double moved = 0;        ///< what corrections made of it
  double waiting = 0;      ///< of it until the last rank of the call came, as the records have it
  double unsure = 0;       ///< what `waiting` may be too little by, for the clocks
  TotalRow top;            ///< the place that most of it is at
  double top_part = 0;
  TimeKind top_kind = TimeKind::unknown;
  double top_after = 0;  ///< seconds that a rank is in a call there after the last one has come
  double top_alphas =
      0;              ///< the same in messages of the calls' size, one after another; 0: unknown
  int top_steps = 0;  ///< least number of these in an algorithm: ⌈log₂ ranks⌉
  std::vector<CrowdedNodes> crowded;
};

/// `rank_seconds`: for which all ranks were recorded, summed. Where the rings were too small for
/// all calls, the latest ones stand for all.
TimeUse time_use_of(const Run& run, const Calls& calls, const std::vector<Imbalance>& all,
                    const std::vector<TotalRow>& by_place, double rank_seconds);

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
