// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/simulate/plans.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// The step that a slot runs for a rank.
struct SlotStep {
  std::uint32_t rank;
  std::uint32_t slot;
  std::uint32_t step;
};

/// The blocks in flight of each rank, a slot each: what their steps wait for, and which messages
/// one side has started.
class SimulatedBlocks {
 public:
  SimulatedBlocks(const JointPlans& plans, std::size_t slots) : plans_(plans), slots_(slots) {
    const std::size_t ranks = plans.first.size() - 1;
    for (std::size_t i = 0; i < slots; ++i) {
      Slot& s = slots_[i];
      s.blocks.assign(ranks, i);
      s.steps_left.resize(ranks);
      s.waits_for.resize(plans.first.back());
      s.message.assign(plans.first.back(), 0);
    }
  }

  std::uint32_t slots() const noexcept { return static_cast<std::uint32_t>(slots_.size()); }
  std::size_t block(SlotStep at) const noexcept { return slots_[at.slot].blocks[at.rank]; }
  const JointSteps::Joint& planned(SlotStep at) const noexcept {
    return steps(at).step(at.rank, at.step);
  }

  /// The rank takes up a block, or the next one of the slot that has steps for it. Calls
  /// ready(step) for those that wait for nothing, and returns how many blocks it is through with
  /// before that.
  template <class F>
  std::size_t begin(std::uint32_t rank, std::uint32_t slot, std::size_t block, F&& ready) {
    Slot& s = slots_[slot];
    std::size_t empty = 0;
    for (; block < plans_.blocks; block += slots_.size()) {
      const JointSteps& steps = plans_.block(block);
      s.blocks[rank] = block;
      s.steps_left[rank] = steps.size(rank);
      if (s.steps_left[rank] == 0) {
        ++empty;
        continue;
      }
      const auto counts = steps.predecessors(rank);
      std::copy(counts.begin(), counts.end(), s.waits_for.begin() + offset(rank));
      for (std::uint32_t i = 0; i < counts.size(); ++i) {
        if (counts[i] == 0) ready(i);
      }
      return empty;
    }
    s.blocks[rank] = block;
    return empty;
  }

  /// The step is through: calls ready(step) for those that waited for it last. Whether all of the
  /// block are.
  template <class F> bool end(SlotStep at, F&& ready) {
    Slot& s = slots_[at.slot];
    for (const std::uint32_t later : steps(at).successors(at.rank, at.step)) {
      if (--s.waits_for[place(at.rank, later)] == 0) ready(later);
    }
    return --s.steps_left[at.rank] == 0;
  }

  /// The message of a send that is started: make(), or the one that the receiver has started.
  template <class F> std::uint32_t sent(SlotStep at, F&& make) {
    Slot& s = slots_[at.slot];
    const JointSteps::Joint& step = planned(at);
    const auto peer = static_cast<std::uint32_t>(step.peer);
    const std::size_t there = place(peer, step.partner);
    const bool same_block = s.blocks[peer] == s.blocks[at.rank];
    if (same_block && s.message[there] != 0) return take(s.message[there]);
    const std::uint32_t id = make();
    (same_block ? s.message[there] : early_[key(block(at), there)]) = id + 1;
    return id;
  }

  /// The message of a receive that is started: make(), or the one that the sender has started.
  template <class F> std::uint32_t received(SlotStep at, F&& make) {
    const std::size_t here = place(at.rank, at.step);
    std::uint32_t& known = slots_[at.slot].message[here];
    if (known != 0) return take(known);
    if (!early_.empty()) {
      if (const auto e = early_.find(key(block(at), here)); e != early_.end()) {
        const std::uint32_t id = take(e->second);
        early_.erase(e);
        return id;
      }
    }
    const std::uint32_t id = make();
    known = id + 1;
    return id;
  }

 private:
  /// All ranks' blocks.
  struct Slot {
    std::vector<std::size_t> blocks;
    std::vector<std::size_t> steps_left;
    std::vector<std::uint32_t> waits_for;  ///< by rank and step
    std::vector<std::uint32_t> message;    ///< by the receiver's: known to one side; its number + 1
  };

  static std::uint32_t take(std::uint32_t& message) noexcept {
    return std::exchange(message, 0) - 1;
  }
  std::size_t place(std::size_t rank, std::uint32_t step) const noexcept {
    return plans_.first[rank] + step;
  }
  std::ptrdiff_t offset(std::size_t rank) const noexcept {
    return static_cast<std::ptrdiff_t>(plans_.first[rank]);
  }
  std::uint64_t key(std::size_t block, std::size_t place) const noexcept {
    return std::uint64_t{block} * plans_.first.back() + place;
  }
  const JointSteps& steps(SlotStep at) const noexcept { return plans_.block(block(at)); }

  const JointPlans& plans_;
  std::vector<Slot> slots_;
  /// Messages for blocks that their receiver has not come to: their number + 1.
  std::unordered_map<std::uint64_t, std::uint32_t> early_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
