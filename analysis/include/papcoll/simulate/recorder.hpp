// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/model/log_gops.hpp>
#include <papcoll/simulate/blocks.hpp>
#include <papcoll/simulate/plans.hpp>
#include <papcoll/simulate/simulated.hpp>
#include <papcoll/simulate/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// What SimulatedRun records of its steps if they, or the critical path, are wanted. Otherwise it
/// does nothing.
class Recorder {
 public:
  Recorder(const JointPlans& plans, const LogGops& model, const SimulateOptions& options,
           std::size_t slots)
      : plans_(plans),
        steps_too_(options.keep_steps),
        is_on_(options.keep_steps || options.keep_path),
        kept_(plans, model, options) {
    if (!is_on_) return;
    ranks_.resize(plans.first.size() - 1);
    records_.assign(slots, std::vector<std::uint32_t>(plans.first.back()));
  }

  /// Returns the trace for the network; null if nothing is recorded.
  Trace* trace() noexcept { return is_on_ ? &kept_ : nullptr; }

  /// The step of a rank that ended last, for what becomes ready by that.
  std::uint32_t cause(std::uint32_t rank) const noexcept {
    return is_on_ ? ranks_[rank].last : Trace::none;
  }

  void started(SlotStep at, std::size_t block, std::uint32_t cause, double now) {
    if (!is_on_) return;
    const Rank& me = ranks_[at.rank];
    Trace::StepRecord r;
    r.start = r.end = now;
    r.rank = at.rank;
    r.block = static_cast<std::uint32_t>(block);
    r.step = at.step;
    r.after_processor = me.did != Trace::none && me.free_since == now;
    r.cause = r.after_processor ? me.did : cause;
    record(at) = kept_.add_step(r);
  }
  void sent(SlotStep at, std::uint32_t message) {
    if (is_on_) kept_.message(message).send = record(at);
  }
  void received(SlotStep at, std::uint32_t message) {
    if (is_on_) kept_.message(message).receive = record(at);
  }
  /// The processor looks at the end of a message, which came at an earlier time if `late`.
  void noticed(SlotStep at, std::uint32_t message, bool late, double now) {
    if (!is_on_) return;
    Trace::StepRecord& r = kept_.step(record(at));
    r.noticed = now;
    r.message = message;
    if (late) r.noticed_after = ranks_[at.rank].did;
  }
  void ended(SlotStep at, double now) {
    if (!is_on_) return;
    ranks_[at.rank].last = record(at);
    kept_.step(record(at)).end = now;
  }
  /// The rank's processor is busy with the step from now on.
  void occupied(SlotStep at) {
    if (is_on_) ranks_[at.rank].did = record(at);
  }
  void freed(std::uint32_t rank, double now) {
    if (is_on_) ranks_[rank].free_since = now;
  }

  /// Moves what was recorded to `result`, after the last step.
  void give(Simulated& result) {
    if (!is_on_) return;
    if (steps_too_) kept_.all(result.steps, result.ends);
    const auto last = std::max_element(result.exits.begin(), result.exits.end());
    const Rank& rank = ranks_[static_cast<std::size_t>(last - result.exits.begin())];
    if (rank.last != Trace::none) result.critical_path = kept_.path_to(rank.last);
  }

 private:
  struct Rank {
    double free_since = -1;  ///< when the processor ended what it did last
    std::uint32_t did = Trace::none;
    std::uint32_t last = Trace::none;
  };

  std::uint32_t& record(SlotStep at) noexcept {
    return records_[at.slot][plans_.first[at.rank] + at.step];
  }

  const JointPlans& plans_;
  bool steps_too_;
  bool is_on_;
  Trace kept_;
  std::vector<Rank> ranks_;
  std::vector<std::vector<std::uint32_t>> records_;  ///< by slot, rank and step
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
