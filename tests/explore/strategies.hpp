// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "scheduler.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <vector>

namespace explore {

/// All schedules within a bound, one after the other: each run takes the decisions of the last one
/// up to the deepest that has an alternative left.
///
/// An alternative to going on costs one preemption. When whoever ran cannot go on, the choice among
/// the others is free (all orders of arrival are tried) or costs one as well.
///
/// Source: M. Musuvathi & S. Qadeer, "Iterative context bounding for systematic testing of
/// multithreaded programs", PLDI 2007; with a price on every deviation: M. Emmi et al.,
/// "Delay-bounded scheduling", POPL 2011.
class DepthFirst final : public Strategy {
 public:
  enum class AtBlocks { free, cost_one };

  explicit DepthFirst(int bound, AtBlocks at_blocks = AtBlocks::free)
      : bound_(bound), free_at_blocks_(at_blocks == AtBlocks::free) {}

  std::size_t choose(std::span<const int> ready, bool running) override {
    const int price = running || !free_at_blocks_ ? 1 : 0;
    if (spent_ + price > bound_) return 0;
    if (depth_ == trail_.size()) trail_.push_back({0, ready.size(), price});
    const Choice& c = trail_[depth_++];
    if (c.chosen != 0) spent_ += c.price;
    return c.chosen;
  }

  /// Moves to the next schedule; false if there is none.
  bool next() {
    depth_ = 0;
    spent_ = 0;
    while (!trail_.empty() && ++trail_.back().chosen == trail_.back().alternatives) {
      trail_.pop_back();
    }
    return !trail_.empty();
  }

 private:
  struct Choice {
    std::size_t chosen;
    std::size_t alternatives;
    int price;
  };

  int bound_;
  bool free_at_blocks_;
  int spent_ = 0;
  std::size_t depth_ = 0;
  std::vector<Choice> trail_;
};

/// A schedule drawn from a seed. Half of the seeds switch now and then; the others give the ranks
/// priorities and lower that of whoever runs at a few points.
///
/// Source: S. Burckhardt et al., "A randomized scheduler with probabilistic guarantees of finding
/// bugs", ASPLOS 2010, for the second half.
class RandomWalk final : public Strategy {
 public:
  /// `length`: about how many decisions a run takes.
  RandomWalk(std::uint64_t seed, std::uint64_t length) : random_(seed) {
    by_priority_ = draw(2) == 0;
    if (!by_priority_) {
      rarity_ = std::uint64_t{1} << draw(6);
      return;
    }
    for (std::size_t r = 0; r < priority_.size(); ++r) priority_[r] = static_cast<int>(r) + 100;
    std::shuffle(priority_.begin(), priority_.end(), random_);
    for (std::uint64_t i = draw(5); i != 0; --i) changes_.insert(draw(length + 1));
  }

  std::size_t choose(std::span<const int> ready, bool running) override {
    if (!by_priority_) {
      if (running && draw(rarity_) != 0) return 0;
      return draw(ready.size());
    }
    if (changes_.contains(decisions_++)) priority_of(ready[0]) = --lowest_;
    std::size_t best = 0;
    for (std::size_t i = 1; i < ready.size(); ++i) {
      if (priority_of(ready[i]) > priority_of(ready[best])) best = i;
    }
    return best;
  }

 private:
  std::uint64_t draw(std::uint64_t n) { return random_() % n; }
  int& priority_of(int rank) { return priority_[static_cast<std::size_t>(rank)]; }

  std::mt19937_64 random_;
  bool by_priority_ = false;
  std::uint64_t rarity_ = 1;
  std::array<int, max_ranks> priority_{};
  int lowest_ = 100;
  std::set<std::uint64_t> changes_;
  std::uint64_t decisions_ = 0;
};

/// A schedule once more.
class Replay final : public Strategy {
 public:
  explicit Replay(Schedule schedule) : schedule_(std::move(schedule)) {}

  std::size_t choose(std::span<const int> ready, bool) override {
    const std::uint64_t now = decision_++;
    if (next_ == schedule_.size() || schedule_[next_].first != now) return 0;
    const std::size_t chosen = schedule_[next_++].second;
    return chosen < ready.size() ? chosen : 0;
  }

 private:
  Schedule schedule_;
  std::size_t next_ = 0;
  std::uint64_t decision_ = 0;
};

}  // namespace explore
