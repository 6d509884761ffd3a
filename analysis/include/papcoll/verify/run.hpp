// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/verify/messages.hpp>
#include <papcoll/verify/verdict.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// When a send completes.
enum class Sends : unsigned char {
  rendezvous,  ///< when the receive has been started, too
  buffered,    ///< at once
};

/// Runs the plans of all ranks together, each step as soon as it may start.
///
/// Messages are matched by their numbers, so starting a step never takes anything from another:
/// whatever the timing, the same steps complete. One run therefore shows whether all can. And a run
/// without deadlock under rendezvous has none with buffered sends, which only complete earlier.
///
/// Blocks need no run together: with one block in flight a rank in a later block waits for nobody
/// but ranks that still have to finish an earlier one, and those need nothing of the later block.
class JointRun {
 public:
  /// `observer` is notified by local(rank, step), deliver(send, receive) and, for each dependency
  /// as it is fulfilled, order(earlier, later), both numbers of steps among all.
  template <class Observer>
  Verdict run(const JointPlan& joint, const Matching& matching, Observer& observer) {
    if (advance(joint, matching, observer, Sends::rendezvous)) return {};
    return explain(joint, matching);
  }

 private:
  enum class State : unsigned char { waiting, started, complete };

  struct Nobody {
    void local(std::size_t, std::size_t) const noexcept {}
    void deliver(StepId, StepId) const noexcept {}
    void order(std::size_t, std::size_t) const noexcept {}
  };

  template <class Observer>
  bool advance(const JointPlan& joint, const Matching& matching, Observer& observer, Sends sends) {
    states_.assign(joint.steps(), State::waiting);
    waits_for_.resize(joint.steps());
    ready_.clear();
    completed_ = 0;
    for (std::uint32_t rank = 0; rank < joint.ranks(); ++rank) {
      const auto counts = joint.plan(rank).predecessors();
      for (std::uint32_t i = 0; i < counts.size(); ++i) {
        waits_for_[joint.first[rank] + i] = counts[i];
        if (counts[i] == 0) ready_.push_back({rank, i});
      }
    }
    while (!ready_.empty()) {
      const StepId id = ready_.back();
      ready_.pop_back();
      start(joint, matching, observer, sends, id);
    }
    return completed_ == joint.steps();
  }

  template <class Observer>
  void start(const JointPlan& joint, const Matching& matching, Observer& observer, Sends sends,
             StepId id) {
    const Step& s = joint.plan(id.rank)[id.step];
    if (s.kind == OpKind::reduce || s.kind == OpKind::copy) {
      observer.local(id.rank, id.step);
      complete(joint, observer, id);
      return;
    }
    state(joint, id) = State::started;
    const StepId other = matching.partner(joint.first[id.rank] + id.step);
    if (state(joint, other) != State::waiting) {
      const bool is_send = s.kind == OpKind::send;
      observer.deliver(is_send ? id : other, is_send ? other : id);
      complete(joint, observer, id);
      if (state(joint, other) != State::complete) complete(joint, observer, other);
    } else if (s.kind == OpKind::send && sends == Sends::buffered) {
      complete(joint, observer, id);
    }
  }

  template <class Observer> void complete(const JointPlan& joint, Observer& observer, StepId id) {
    state(joint, id) = State::complete;
    ++completed_;
    const std::size_t base = joint.first[id.rank];
    for (const std::uint32_t later : joint.plan(id.rank).successors(id.step)) {
      observer.order(base + id.step, base + later);
      if (--waits_for_[base + later] == 0) ready_.push_back({id.rank, later});
    }
  }

  State& state(const JointPlan& joint, StepId id) {
    return states_[joint.first[id.rank] + id.step];
  }

  /// The circle of steps that wait for each other.
  Verdict explain(const JointPlan& joint, const Matching& matching) {
    std::vector<StepId> path;
    StepId id = first_incomplete(joint);
    auto seen = [&] {
      return std::find_if(path.begin(), path.end(),
                          [&](StepId s) { return s.rank == id.rank && s.step == id.step; });
    };
    auto start = seen();
    for (; start == path.end(); start = seen()) {
      path.push_back(id);
      id = blocker(joint, matching, id);
    }
    path.erase(path.begin(), start);
    const StepId blamed = path.front();
    constexpr std::size_t shown = 6;
    std::string circle = joint.describe(blamed.rank, blamed.step);
    for (std::size_t i = 1; i < path.size() && i < shown; ++i) {
      circle += " waits for " + joint.describe(path[i].rank, path[i].step) + ", which";
    }
    circle += path.size() <= shown ? " waits for the first again"
                                   : " waits in turn; " + std::to_string(path.size()) +
                                         " steps in all wait for each other in a circle";
    Nobody nobody;
    const bool only_rendezvous = advance(joint, matching, nobody, Sends::buffered);
    return {FaultKind::deadlock, static_cast<int>(blamed.rank), blamed.step, Verdict::nowhere,
            circle + (only_rendezvous ? " (where a send completes only with its receive)"
                                      : " (even if sends complete at once)")};
  }

  StepId first_incomplete(const JointPlan& joint) {
    for (std::uint32_t rank = 0; rank < joint.ranks(); ++rank) {
      for (std::uint32_t i = 0; i < joint.plan(rank).size(); ++i) {
        if (state(joint, {rank, i}) != State::complete) return {rank, i};
      }
    }
    return {};
  }

  /// Returns the step that an incomplete step waits for.
  StepId blocker(const JointPlan& joint, const Matching& matching, StepId id) {
    if (state(joint, id) == State::started) {
      return matching.partner(joint.first[id.rank] + id.step);
    }
    for (std::uint32_t i = 0; i < id.step; ++i) {
      if (state(joint, {id.rank, i}) == State::complete) continue;
      const auto later = joint.plan(id.rank).successors(i);
      if (std::find(later.begin(), later.end(), id.step) != later.end()) return {id.rank, i};
    }
    return id;
  }

  std::vector<State> states_;
  std::vector<std::uint32_t> waits_for_;
  std::vector<StepId> ready_;
  std::size_t completed_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
