// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/model/log_gops.hpp>
#include <papcoll/simulate/link_costs.hpp>
#include <papcoll/simulate/plans.hpp>
#include <papcoll/simulate/simulated.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// What each step and message of a simulation waited for last; from this the critical path.
class Trace {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  struct StepRecord {
    double start = 0;
    double end = 0;
    double noticed = 0;                  ///< of a message: when the processor looked at its end,
    std::uint32_t noticed_after = none;  ///< late, because it was at this step
    std::uint32_t message = none;
    std::uint32_t rank = 0;
    std::uint32_t block = 0;
    std::uint32_t step = 0;
    std::uint32_t cause = none;    ///< the step that it waited for before it started
    bool after_processor = false;  ///< because that one had the processor, not for its end
  };
  struct MessageRecord {
    double launched = 0;  ///< by the sender's processor
    double posted = 0;    ///< by the receiver's
    double depart = 0;    ///< its first byte leaves the sender's port
    double take = 0;      ///< it is taken at the receiver's
    double delivered = 0;
    std::uint32_t send = none;
    std::uint32_t receive = none;
    std::uint32_t out_before = none;  ///< the message that kept the sender's port busy until depart
    std::uint32_t in_before = none;   ///< the one that kept the receiver's busy until take
    bool eager = false;
  };

  Trace(const JointPlans& plans, const LogGops& model, const SimulateOptions& options)
      : plans_(plans), model_(model), options_(options), shared_(options.ports == Ports::shared) {}

  std::uint32_t add_step(const StepRecord& s) {
    steps_.push_back(s);
    return static_cast<std::uint32_t>(steps_.size() - 1);
  }
  std::uint32_t add_message() {
    messages_.push_back({});
    return static_cast<std::uint32_t>(messages_.size() - 1);
  }
  StepRecord& step(std::uint32_t i) { return steps_[i]; }
  MessageRecord& message(std::uint32_t i) { return messages_[i]; }

  /// All steps and messages.
  void all(std::vector<SimulatedStep>& steps, std::vector<SimulatedEnds>& messages) const {
    std::vector<std::uint32_t> order(steps_.size());
    std::iota(order.begin(), order.end(), 0U);
    // Not stable_sort: clang++ 18 and newer warn inside libstdc++ 12's.
    std::sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
      const StepRecord& r = steps_[a];
      const StepRecord& s = steps_[b];
      if (r.rank != s.rank) return r.rank < s.rank;
      return r.start != s.start ? r.start < s.start : a < b;
    });
    std::vector<std::uint32_t> place(order.size());
    steps.reserve(order.size());
    for (const std::uint32_t i : order) {
      place[i] = static_cast<std::uint32_t>(steps.size());
      steps.push_back(whole(steps_[i]));
    }
    messages.reserve(messages_.size());
    for (const MessageRecord& m : messages_) {
      messages.push_back(on_ports(m));
      messages.back().send = place[m.send];
      messages.back().receive = place[m.receive];
    }
  }

  /// The chain that ends with the end of `last`.
  std::vector<SimulatedStep> path_to(std::uint32_t last) {
    path_.clear();
    until_ = steps_[last].end;
    Place at{Place::end, last};
    while (at.index != none) at = before(at);
    std::reverse(path_.begin(), path_.end());
    return path_;
  }

 private:
  /// A moment in the life of a step (start, end, processor: when it gave that up) or of a message.
  struct Place {
    enum What : unsigned char { start, end, processor, delivered, taken, departed };
    What what;
    std::uint32_t index;
  };

  const JointSteps::Joint& planned(const StepRecord& r) const {
    return plans_.block(r.block).step(r.rank, r.step);
  }
  SimulatedStep whole(const StepRecord& r) const {
    const JointSteps::Joint& p = planned(r);
    return {static_cast<int>(r.rank), r.block, r.step, p.kind, p.peer, p.bytes, r.start, r.end};
  }

  /// When it kept ports busy.
  SimulatedEnds on_ports(const MessageRecord& m) const {
    const JointSteps::Joint& send = planned(steps_[m.send]);
    const LinkCost link = options_.link(model_, static_cast<int>(steps_[m.send].rank), send.peer);
    SimulatedEnds e;
    e.sent = m.launched;
    e.depart = m.depart;
    if (shared_) {
      e.out_from = e.in_from = m.depart + link.latency;
      e.out_to = e.in_to = m.delivered;
    } else {
      const double busy = std::max(model_.gap, link.gap_per_byte * static_cast<double>(send.bytes));
      e.out_from = m.depart;
      e.out_to = m.depart + busy;
      e.in_from = m.take;
      e.in_to = m.take + busy;
    }
    return e;
  }

  /// Returns what made the moment come when it did; the time between them goes to a step of the
  /// path.
  Place before(Place at) {
    switch (at.what) {
      case Place::start:
        return {steps_[at.index].after_processor ? Place::processor : Place::end,
                steps_[at.index].cause};
      case Place::processor:
      case Place::end: return before_end(at);
      case Place::delivered: return before_delivered(at.index);
      case Place::taken: return before_taken(at.index);
      case Place::departed: return before_departed(at.index);
    }
    return {Place::end, none};
  }

  Place before_end(Place at) {
    const StepRecord& r = steps_[at.index];
    const OpKind kind = planned(r).kind;
    // A send has the processor when it begins, a receive when it ends.
    if (kind == OpKind::reduce || kind == OpKind::copy ||
        (kind == OpKind::send && at.what == Place::processor)) {
      take(at.index, r.start);
      return {Place::start, at.index};
    }
    take(at.index, r.noticed);
    if (r.noticed_after != none) return {Place::processor, r.noticed_after};
    const MessageRecord& m = messages_[r.message];
    if (kind == OpKind::receive) return {Place::delivered, r.message};
    if (!m.eager) return {shared_ ? Place::delivered : Place::departed, r.message};
    take(at.index, r.start);
    return {Place::start, at.index};
  }

  Place before_delivered(std::uint32_t index) {
    const MessageRecord& m = messages_[index];
    const bool was_there = m.eager && !shared_ && m.posted >= m.delivered;
    return was_there ? posted(m) : Place{Place::taken, index};
  }

  Place before_taken(std::uint32_t index) {
    const MessageRecord& m = messages_[index];
    take(m.receive, m.take);
    if (m.in_before != none) return {Place::taken, m.in_before};
    take(m.receive, m.depart);
    return {Place::departed, index};
  }

  Place before_departed(std::uint32_t index) {
    const MessageRecord& m = messages_[index];
    if (m.out_before == none && (shared_ || !m.eager) && m.posted > m.launched) return posted(m);
    take(m.send, m.depart);
    if (m.out_before != none) return {Place::departed, m.out_before};
    take(m.send, steps_[m.send].start);
    return {Place::start, m.send};
  }

  Place posted(const MessageRecord& m) {
    take(m.receive, steps_[m.receive].start);  // posted then, or held back until posted
    return {Place::start, m.receive};
  }

  /// The time since `from` goes to the step.
  void take(std::uint32_t index, double from) {
    SimulatedStep s = whole(steps_[index]);
    if (!path_.empty() && path_.back().rank == s.rank && path_.back().block == s.block &&
        path_.back().step == s.step) {
      path_.back().start = std::min(from, until_);
    } else {
      s.end = until_;
      s.start = std::min(from, until_);
      path_.push_back(s);
    }
    until_ = path_.back().start;
  }

  const JointPlans& plans_;
  const LogGops& model_;
  const SimulateOptions& options_;
  bool shared_;
  std::vector<StepRecord> steps_;
  std::vector<MessageRecord> messages_;
  std::vector<SimulatedStep> path_;  ///< while it is being found: the last step first
  double until_ = 0;                 ///< the part before this time is still to be explained
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
