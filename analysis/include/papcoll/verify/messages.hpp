// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/plan.hpp>
#include <papcoll/simulate/message_ends.hpp>
#include <papcoll/verify/verdict.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// The plans of all ranks for one block. Steps of all ranks are counted through: those of rank 0,
/// then those of rank 1…
struct JointPlan {
  JointPlan(std::vector<const Plan*> plans_by_rank, const Order& order)
      : plans(std::move(plans_by_rank)) {
    const int ranks = static_cast<int>(plans.size());
    std::size_t steps = 0;
    for (int p = 0; p < ranks; ++p) {
      rank_at.push_back(order.rank(p));
      first.push_back(steps);
      steps += plans[static_cast<std::size_t>(p)]->size();
    }
    first.push_back(steps);
  }

  std::size_t ranks() const noexcept { return plans.size(); }
  std::size_t steps() const noexcept { return first.back(); }
  const Plan& plan(std::size_t rank) const noexcept { return *plans[rank]; }
  std::size_t peer(const Step& s) const noexcept {
    return static_cast<std::size_t>(rank_at[static_cast<std::size_t>(s.peer)]);
  }
  std::string describe(std::size_t rank, std::size_t i) const {
    const Step& s = plan(rank)[i];
    return detail::describe(static_cast<int>(rank), i, s,
                            s.peer < 0 ? -1 : static_cast<int>(peer(s)));
  }

  std::vector<const Plan*> plans;  ///< by rank
  std::vector<int> rank_at;        ///< by position
  std::vector<std::size_t> first;  ///< by rank: the number of its first step
};

/// A step of some rank.
struct StepId {
  std::uint32_t rank = 0;
  std::uint32_t step = 0;
};

/// Which send meets which receive.
class Matching {
 public:
  /// Finds out, and proves that each meets one, of the same size.
  Verdict match(const JointPlan& joint) {
    MessageEnds ends = ends_of(joint);
    ends.sort(joint.ranks());
    const std::size_t most = std::max(ends.sends.size(), ends.receives.size());
    for (std::size_t k = 0; k < most; ++k) {
      if (k >= ends.sends.size()) return different_counts(joint, ends, ends.receives[k]);
      if (k >= ends.receives.size()) return different_counts(joint, ends, ends.sends[k]);
      if (ends.sends[k].of_same_pair(ends.receives[k])) continue;
      return different_counts(joint, ends, std::min(ends.sends[k], ends.receives[k]));
    }
    Verdict verdict = numbers_of(joint, ends.sends, true);
    if (verdict) verdict = numbers_of(joint, ends.receives, false);
    return verdict ? pair_up(joint, ends) : verdict;
  }

  /// The other end of a message step, by the step's number among all steps.
  StepId partner(std::size_t step) const noexcept { return partners_[step]; }

 private:
  static constexpr StepId unknown{static_cast<std::uint32_t>(-1), 0};

  static MessageEnds ends_of(const JointPlan& joint) {
    MessageEnds ends;
    for (std::uint32_t rank = 0; rank < joint.ranks(); ++rank) {
      const auto steps = joint.plan(rank).steps();
      for (std::uint32_t i = 0; i < steps.size(); ++i) {
        const Step& s = steps[i];
        if (s.kind != OpKind::send && s.kind != OpKind::receive) continue;
        const auto peer = static_cast<std::uint32_t>(joint.peer(s));
        if (s.kind == OpKind::send) {
          ends.sends.push_back({rank, peer, s.number, i});
        } else {
          ends.receives.push_back({peer, rank, s.number, i});
        }
      }
    }
    return ends;
  }

  static Verdict numbers_of(const JointPlan& joint, const std::vector<MessageEnd>& side,
                            bool sent) {
    std::uint32_t expected = 0;
    for (std::size_t k = 0; k < side.size(); ++k) {
      const MessageEnd& e = side[k];
      expected = k > 0 && e.of_same_pair(side[k - 1]) ? expected + 1 : 0;
      if (e.number == expected) continue;
      const std::uint32_t rank = sent ? e.from : e.to;
      return {FaultKind::unmatched, static_cast<int>(rank), e.step, Verdict::nowhere,
              joint.describe(rank, e.step) + " has message number " + std::to_string(e.number) +
                  ", but the messages of a pair are numbered 0, 1, 2… each once"};
    }
    return {};
  }

  Verdict pair_up(const JointPlan& joint, const MessageEnds& ends) {
    partners_.assign(joint.steps(), StepId{});
    for (std::size_t k = 0; k < ends.sends.size(); ++k) {
      const StepId from{ends.sends[k].from, ends.sends[k].step};
      const StepId to{ends.receives[k].to, ends.receives[k].step};
      const std::size_t sent = joint.plan(from.rank)[from.step].n;
      const std::size_t expected = joint.plan(to.rank)[to.step].n;
      if (sent != expected) {
        return {FaultKind::unmatched, static_cast<int>(to.rank), to.step, Verdict::nowhere,
                joint.describe(to.rank, to.step) + " meets " +
                    joint.describe(from.rank, from.step) + ": the sizes differ"};
      }
      partners_[joint.first[from.rank] + from.step] = to;
      partners_[joint.first[to.rank] + to.step] = from;
    }
    return {};
  }

  /// Of the messages from e.from to e.to.
  static Verdict different_counts(const JointPlan& joint, const MessageEnds& ends,
                                  const MessageEnd& e) {
    const auto of_pair = [&e](const MessageEnd& other) { return other.of_same_pair(e); };
    const auto sent = std::count_if(ends.sends.begin(), ends.sends.end(), of_pair);
    const auto received = std::count_if(ends.receives.begin(), ends.receives.end(), of_pair);
    const std::vector<MessageEnd>& longer = sent > received ? ends.sends : ends.receives;
    const MessageEnd& extra = *std::find_if(longer.rbegin(), longer.rend(), of_pair);
    const std::uint32_t rank = sent > received ? e.from : e.to;
    return {FaultKind::unmatched, static_cast<int>(rank), extra.step, Verdict::nowhere,
            "rank " + std::to_string(e.from) + " sends " +
                counted(static_cast<std::size_t>(sent), "message") + " to rank " +
                std::to_string(e.to) + ", which receives " + std::to_string(received) +
                " from it; no partner for " + joint.describe(rank, extra.step)};
  }

  std::vector<StepId> partners_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
