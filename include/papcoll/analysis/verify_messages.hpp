#pragma once

#include <papcoll/analysis/verify_verdict.hpp>
#include <papcoll/plan/order.hpp>
#include <papcoll/plan/plan.hpp>

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

/// Which send meets which receive: the k-th of a to b meets b's k-th from a.
class Matching {
 public:
  /// Finds out, and proves that each meets one, of the same size.
  Verdict match(const JointPlan& joint) {
    ranks_ = joint.ranks();
    for (Side& side : sides_) side.first.assign(ranks_ * ranks_ + 1, 0);
    for_each_message(
        joint, [](std::size_t pair, Side& side, const Step&, StepId) { ++side.first[pair + 1]; });
    for (std::size_t pair = 0; pair < ranks_ * ranks_; ++pair) {
      if (sides_[0].first[pair + 1] != sides_[1].first[pair + 1]) {
        return different_counts(joint, pair);
      }
    }
    for (Side& side : sides_) {
      for (std::size_t pair = 0; pair < ranks_ * ranks_; ++pair) {
        side.first[pair + 1] += side.first[pair];
      }
      side.at.assign(side.first.back(), unknown);
    }
    Verdict verdict;
    for_each_message(joint, [&](std::size_t pair, Side& side, const Step& s, StepId id) {
      if (!verdict) return;
      const std::size_t slot = side.first[pair] + s.number;
      if (slot < side.first[pair + 1] && side.at[slot].rank == unknown.rank) {
        side.at[slot] = id;
      } else {
        verdict = {FaultKind::unmatched, static_cast<int>(id.rank), id.step, Verdict::nowhere,
                   joint.describe(id.rank, id.step) + " has message number " +
                       std::to_string(s.number) +
                       ", but the messages of a pair are numbered 0, 1, 2… each once"};
      }
    });
    if (verdict) verdict = pair_up(joint);
    return verdict;
  }

  /// The other end of a message step, by the step's number among all steps.
  StepId partner(std::size_t step) const noexcept { return partners_[step]; }

 private:
  static constexpr StepId unknown{static_cast<std::uint32_t>(-1), 0};

  /// The sends, or the receives, sorted by pair and number.
  struct Side {
    std::vector<std::uint32_t> first;  ///< by pair (sender × ranks + receiver)
    std::vector<StepId> at;
  };

  template <class F>
  void for_each_message(const JointPlan& joint, F&& f) {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      const auto steps = joint.plan(rank).steps();
      for (std::uint32_t i = 0; i < steps.size(); ++i) {
        const Step& s = steps[i];
        if (s.act == Act::send) {
          f(rank * ranks_ + joint.peer(s), sides_[0], s, StepId{rank, i});
        } else if (s.act == Act::receive) {
          f(joint.peer(s) * ranks_ + rank, sides_[1], s, StepId{rank, i});
        }
      }
    }
  }

  Verdict pair_up(const JointPlan& joint) {
    partners_.assign(joint.steps(), unknown);
    for (std::size_t k = 0; k < sides_[0].at.size(); ++k) {
      const StepId from = sides_[0].at[k];
      const StepId to = sides_[1].at[k];
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

  Verdict different_counts(const JointPlan& joint, std::size_t pair) {
    const std::size_t sent = sides_[0].first[pair + 1];
    const std::size_t received = sides_[1].first[pair + 1];
    const std::size_t sender = pair / ranks_;
    const std::size_t receiver = pair % ranks_;
    Side& longer = sides_[sent > received ? 0 : 1];
    StepId extra = unknown;
    for_each_message(joint, [&](std::size_t p, Side& side, const Step&, StepId id) {
      if (p == pair && &side == &longer) extra = id;
    });
    return {FaultKind::unmatched, static_cast<int>(extra.rank), extra.step, Verdict::nowhere,
            "rank " + std::to_string(sender) + " sends " + counted(sent, "message") + " to rank " +
                std::to_string(receiver) + ", which receives " + std::to_string(received) +
                " from it; no partner for " + joint.describe(extra.rank, extra.step)};
  }

  std::size_t ranks_ = 0;
  Side sides_[2];
  std::vector<StepId> partners_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
