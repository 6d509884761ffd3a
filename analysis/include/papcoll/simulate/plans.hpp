// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/error.hpp>
#include <papcoll/schedule/make_plan.hpp>
#include <papcoll/simulate/limits.hpp>
#include <papcoll/simulate/message_ends.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// The plans of all ranks as the simulator runs them: no addresses, but each message knows both its
/// ends. About 40 bytes a step.
class JointSteps {
 public:
  struct Joint {
    std::uint32_t partner = 0;  ///< of a message: the peer's step at its other end
    int peer = -1;              ///< a rank
    std::size_t bytes = 0;
    OpKind kind = OpKind::copy;
  };

  /// Takes one rank's plan after the other, rank 0 first.
  void add(const Plan& plan, const Order& order, std::size_t element_size) {
    const auto rank = static_cast<std::uint32_t>(first_.size() - 1);
    for (std::uint32_t i = 0; i < plan.size(); ++i) {
      const Step& s = plan[i];
      const int peer = s.peer < 0 ? -1 : order.rank(s.peer);
      steps_.push_back({0, peer, s.n * element_size, s.kind});
      if (s.kind == OpKind::send) {
        ends_.sends.push_back({rank, static_cast<std::uint32_t>(peer), s.number, i});
      } else if (s.kind == OpKind::receive) {
        ends_.receives.push_back({static_cast<std::uint32_t>(peer), rank, s.number, i});
      }
      const auto later = plan.successors(i);
      successors_.insert(successors_.end(), later.begin(), later.end());
      first_successor_.push_back(successors_.size());
    }
    const auto counts = plan.predecessors();
    predecessors_.insert(predecessors_.end(), counts.begin(), counts.end());
    first_.push_back(steps_.size());
  }

  /// Matches the messages, after the last rank. Throws error where a message has no partner.
  void match() {
    MessageEnds ends = std::exchange(ends_, {});
    ends.sort(first_.size() - 1);
    for (std::size_t k = 0; k < ends.sends.size(); ++k) {
      const MessageEnd& sent = ends.sends[k];
      if (k == ends.receives.size()) refuse(sent, "has no receive");
      const MessageEnd& received = ends.receives[k];
      if (!sent.meets(received)) {
        if (sent < received) refuse(sent, "has no receive");
        refuse_receive(received);
      }
      Joint& from = steps_[first_[sent.from] + sent.step];
      Joint& to = steps_[first_[sent.to] + received.step];
      if (from.bytes != to.bytes) refuse(sent, "meets a receive of another size");
      from.partner = received.step;
      to.partner = sent.step;
    }
    if (ends.receives.size() > ends.sends.size()) refuse_receive(ends.receives[ends.sends.size()]);
  }

  std::size_t size() const noexcept { return steps_.size(); }
  std::size_t size(std::size_t rank) const noexcept { return first_[rank + 1] - first_[rank]; }
  const Joint& step(std::size_t rank, std::size_t i) const noexcept {
    return steps_[first_[rank] + i];
  }
  std::span<const std::uint32_t> successors(std::size_t rank, std::size_t i) const noexcept {
    const std::size_t s = first_[rank] + i;
    return {successors_.data() + first_successor_[s], successors_.data() + first_successor_[s + 1]};
  }
  std::span<const std::uint32_t> predecessors(std::size_t rank) const noexcept {
    return {predecessors_.data() + first_[rank], size(rank)};
  }

 private:
  [[noreturn]] void refuse(const MessageEnd& sent, const char* what) const {
    throw error("papcoll: a schedule's send of " +
                std::to_string(step(sent.from, sent.step).bytes) + " bytes from rank " +
                std::to_string(sent.from) + " to rank " + std::to_string(sent.to) + " (step " +
                std::to_string(sent.step) + ") " + what +
                ", so that it cannot be simulated: verify() says more");
  }

  [[noreturn]] void refuse_receive(const MessageEnd& received) const {
    throw error("papcoll: a schedule's receive of " +
                std::to_string(step(received.to, received.step).bytes) + " bytes by rank " +
                std::to_string(received.to) + " from rank " + std::to_string(received.from) +
                " (step " + std::to_string(received.step) +
                ") has no send, so that it cannot be simulated: verify() says more");
  }

  std::vector<std::size_t> first_{0};  ///< by rank
  std::vector<Joint> steps_;
  std::vector<std::size_t> first_successor_{0};
  std::vector<std::uint32_t> successors_;
  std::vector<std::uint32_t> predecessors_;
  MessageEnds ends_;  ///< until they are matched
};

/// The blocked plans of all ranks.
struct JointPlans {
  /// Throws argument_error if the simulation would be larger than the limits allow.
  JointPlans(const AnySchedule& named, Shape shape, const Order& order,
             const SimulationLimits& limits) {
    // Once for all ranks, since it may be a search.
    const AnySchedule schedule =
        named.resolved(shape.size, shape.vector_size() * shape.element_size);
    limits.foresee(schedule, shape, order);
    for (shape.rank = 0; shape.rank < shape.size; ++shape.rank) {
      const BlockedPlan plan = make_plan(schedule, shape, order);
      if (shape.rank == 0) {
        blocks = plan.blocks;
        shorter_last = plan.shorter_last;
      } else if (blocks != plan.blocks || shorter_last != plan.shorter_last) {
        throw error("papcoll: rank " + std::to_string(shape.rank) +
                    " cuts the vector in other blocks than rank 0: a schedule's segment() must "
                    "give the same on all ranks");
      }
      full.add(plan.full, order, shape.element_size);
      last.add(plan.last, order, shape.element_size);
      first.push_back(first.back() + std::max(plan.full.size(), plan.last.size()));
      limits.check(SimulationSize::of(full.size(), last.size(), blocks, shorter_last,
                                      limits.pipeline_depth()));
    }
    full.match();
    last.match();
  }

  const JointSteps& block(std::size_t i) const noexcept {
    return shorter_last && i + 1 == blocks ? last : full;
  }

  JointSteps full;
  JointSteps last;
  std::size_t blocks = 1;
  bool shorter_last = false;
  std::vector<std::size_t> first{0};  ///< by rank: where its steps begin, whatever the block
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
