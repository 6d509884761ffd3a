#pragma once

#include <papcoll/analysis/simulated.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// What each step and message of a simulation waited for last; from this the critical path.
class Trace {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  struct StepRecord {
    SimulatedStep step;
    std::uint32_t cause = none;          ///< the step that it waited for before it started
    bool after_processor = false;        ///< because that one had the processor, not for its end
    double noticed = 0;                  ///< of a message: when the processor looked at its end,
    std::uint32_t noticed_after = none;  ///< late, because it was at this step
    std::uint32_t message = none;
  };
  struct MessageRecord {
    std::uint32_t send = none;
    std::uint32_t receive = none;
    bool eager = false;
    bool shared = false;
    double launched = 0;  ///< by the sender's processor
    double posted = 0;    ///< by the receiver's
    double depart = 0;    ///< its first byte leaves the sender's port
    double head = 0;      ///< its first byte is at the receiver's port
    double take = 0;      ///< and is taken
    double delivered = 0;
    std::uint32_t out_before = none;  ///< the message that kept the sender's port busy until depart
    std::uint32_t in_before = none;   ///< the one that kept the receiver's busy until take
  };

  std::uint32_t add_step(const SimulatedStep& s, std::uint32_t cause, bool after_processor) {
    steps_.push_back({s, cause, after_processor, 0, none, none});
    return static_cast<std::uint32_t>(steps_.size() - 1);
  }
  std::uint32_t add_message() {
    messages_.push_back({});
    return static_cast<std::uint32_t>(messages_.size() - 1);
  }
  StepRecord& step(std::uint32_t i) { return steps_[i]; }
  MessageRecord& message(std::uint32_t i) { return messages_[i]; }

  /// All steps, by rank and start.
  std::vector<SimulatedStep> all() const {
    std::vector<SimulatedStep> steps;
    steps.reserve(steps_.size());
    for (const StepRecord& r : steps_) steps.push_back(r.step);
    std::stable_sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) {
      return a.rank != b.rank ? a.rank < b.rank : a.start < b.start;
    });
    return steps;
  }

  /// The chain that ends with the end of `last`.
  std::vector<SimulatedStep> path_to(std::uint32_t last) {
    path_.clear();
    until_ = steps_[last].step.end;
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

  /// What made the moment come when it did; the time between them goes to a step of the path.
  Place before(Place at) {
    switch (at.what) {
      case Place::start:
        return {steps_[at.index].after_processor ? Place::processor : Place::end,
                steps_[at.index].cause};
      case Place::processor:
      case Place::end:
        return before_end(at);
      case Place::delivered:
        return before_delivered(at.index);
      case Place::taken:
        return before_taken(at.index);
      case Place::departed:
        return before_departed(at.index);
    }
    return {Place::end, none};
  }

  Place before_end(Place at) {
    const StepRecord& r = steps_[at.index];
    const Act act = r.step.act;
    // A send has the processor when it begins, a receive when it ends.
    if (act == Act::reduce || act == Act::copy ||
        (act == Act::send && at.what == Place::processor)) {
      take(at.index, r.step.start);
      return {Place::start, at.index};
    }
    take(at.index, r.noticed);
    if (r.noticed_after != none) return {Place::processor, r.noticed_after};
    const MessageRecord& m = messages_[r.message];
    if (act == Act::receive) return {Place::delivered, r.message};
    if (!m.eager) return {m.shared ? Place::delivered : Place::departed, r.message};
    take(at.index, r.step.start);
    return {Place::start, at.index};
  }

  Place before_delivered(std::uint32_t index) {
    const MessageRecord& m = messages_[index];
    const bool was_there = m.eager && !m.shared && m.posted >= m.delivered;
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
    if (m.out_before == none && (m.shared || !m.eager) && m.posted > m.launched) return posted(m);
    take(m.send, m.depart);
    if (m.out_before != none) return {Place::departed, m.out_before};
    take(m.send, steps_[m.send].step.start);
    return {Place::start, m.send};
  }

  Place posted(const MessageRecord& m) {
    take(m.receive, steps_[m.receive].step.start);  // posted then, or held back until posted
    return {Place::start, m.receive};
  }

  /// The time since `from` goes to the step.
  void take(std::uint32_t index, double from) {
    SimulatedStep s = steps_[index].step;
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

  std::vector<StepRecord> steps_;
  std::vector<MessageRecord> messages_;
  std::vector<SimulatedStep> path_;  ///< while it is being found: the last step first
  double until_ = 0;                 ///< the part before this time is still to be explained
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
