#pragma once

#include <papcoll/error.hpp>
#include <papcoll/plan/make_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// The plans of all ranks as the simulator runs them: no addresses, but each message knows both its
/// ends. About 30 bytes a step.
class JointSteps {
 public:
  struct Joint {
    std::uint32_t partner = 0;  ///< of a message: the peer's step at its other end
    int peer = -1;              ///< a rank
    std::size_t bytes = 0;
    std::uint32_t number = 0;  ///< of the messages of this block between the two ranks
    Act act = Act::copy;
  };

  /// Takes one rank's plan after the other, rank 0 first.
  void add(const Plan& plan, const Order& order, std::size_t element_size) {
    const std::size_t base = steps_.size();
    for (const Step& s : plan.steps()) {
      steps_.push_back(
          {0, s.peer < 0 ? -1 : order.rank(s.peer), s.n * element_size, s.number, s.act});
    }
    for (std::size_t i = 0; i < plan.size(); ++i) {
      const auto later = plan.successors(i);
      successors_.insert(successors_.end(), later.begin(), later.end());
      first_successor_.push_back(successors_.size());
    }
    const auto counts = plan.predecessors();
    predecessors_.insert(predecessors_.end(), counts.begin(), counts.end());
    first_.push_back(base + plan.size());
  }

  /// After the last rank. Throws error where a message has no partner.
  void match() {
    const std::size_t ranks = first_.size() - 1;
    // Of each pair, where its receives begin among the receives of all pairs.
    std::vector<std::size_t> at(ranks * ranks + 1, 0);
    for_each(Act::receive, [&](std::size_t rank, std::size_t, const Joint& s) {
      ++at[rank * ranks + static_cast<std::size_t>(s.peer) + 1];
    });
    for (std::size_t i = 0; i + 1 < at.size(); ++i) at[i + 1] += at[i];
    std::vector<std::uint32_t> receives(at.back());
    for_each(Act::receive, [&](std::size_t rank, std::size_t i, const Joint& s) {
      receives[at[rank * ranks + static_cast<std::size_t>(s.peer)] + s.number] =
          static_cast<std::uint32_t>(i);
    });
    std::size_t sends = 0;
    for_each(Act::send, [&](std::size_t rank, std::size_t i, Joint& s) {
      const auto peer = static_cast<std::size_t>(s.peer);
      const std::size_t k = at[peer * ranks + rank] + s.number;
      if (k >= at[peer * ranks + rank + 1]) refuse(rank, i, "has no receive");
      Joint& other = steps_[first_[peer] + receives[k]];
      if (other.bytes != s.bytes) refuse(rank, i, "meets a receive of another size");
      s.partner = receives[k];
      other.partner = static_cast<std::uint32_t>(i);
      ++sends;
    });
    if (sends == receives.size()) return;
    throw error("papcoll: a schedule has " + std::to_string(receives.size()) +
                " receives for its " + std::to_string(sends) +
                " sends, so that it cannot be simulated: verify() says which are left over");
  }

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
  template <class F>
  void for_each(Act act, F&& f) {
    for (std::size_t rank = 0; rank + 1 < first_.size(); ++rank) {
      for (std::size_t i = 0; i < size(rank); ++i) {
        Joint& s = steps_[first_[rank] + i];
        if (s.act == act) f(rank, i, s);
      }
    }
  }

  [[noreturn]] void refuse(std::size_t rank, std::size_t i, const char* what) const {
    const Joint& s = step(rank, i);
    throw error("papcoll: a schedule's send of " + std::to_string(s.bytes) + " bytes from rank " +
                std::to_string(rank) + " to rank " + std::to_string(s.peer) + " (step " +
                std::to_string(i) + ") " + what +
                ", so that it cannot be simulated: verify() says more");
  }

  std::vector<std::size_t> first_{0};  ///< by rank
  std::vector<Joint> steps_;
  std::vector<std::size_t> first_successor_{0};
  std::vector<std::uint32_t> successors_;
  std::vector<std::uint32_t> predecessors_;
};

/// The blocked plans of all ranks.
struct JointPlans {
  JointPlans(const AnySchedule& schedule, Shape shape, const Order& order) {
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
