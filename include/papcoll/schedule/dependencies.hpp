// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/element_runs.hpp>
#include <papcoll/schedule/plan.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

/// Which steps of a plan wait for which: of two steps that touch the same memory, one of them
/// writing, the later in the text waits for the earlier. Steps are added in the order of the text.
class StepDependencies {
 public:
  /// For a step that both reads and writes an element, call read() first.
  void read(Operand at, std::size_t n, std::uint32_t step) {
    access(at, n, step, AccessKind::read);
  }
  void write(Operand at, std::size_t n, std::uint32_t step) {
    access(at, n, step, AccessKind::write);
  }

  /// A dependency for another reason. `later` is the newest step.
  void depend(std::uint32_t later, std::uint32_t earlier) {
    if (later == earlier) return;
    if (later >= newest_.size()) newest_.resize(later + std::size_t{1});
    if (newest_[earlier] == later) return;
    newest_[earlier] = later;
    dependencies_.push_back({earlier, later});
  }

  /// As depend(), on all steps of a chain.
  [[gnu::cold]] void depend_on_chain(std::uint32_t later, std::uint32_t chain) {
    for (; chain != 0; chain = links_[chain - 1].next) depend(later, links_[chain - 1].step);
  }

  /// Returns a chain of a step and the steps of another chain; 0 is the chain without steps.
  [[gnu::cold]] std::uint32_t chain(std::uint32_t step, std::uint32_t others) {
    links_.push_back({step, others});
    return static_cast<std::uint32_t>(links_.size());
  }

  /// A queue of steps.
  struct Queue {
    std::uint32_t size = 0;    ///< how many it has had
    std::uint32_t first = 0;   ///< a chain
    std::uint32_t newest = 0;  ///< the last of it
  };

  /// Adds a step to a queue. If it has had `at_once` before, the step waits for the first that is
  /// there, which goes.
  [[gnu::cold]] void enqueue(Queue& q, std::uint32_t step, std::uint32_t at_once) {
    const std::uint32_t link = chain(step, 0);
    (q.size == 0 ? q.first : links_[q.newest - 1].next) = link;
    q.newest = link;
    if (q.size++ < at_once) return;
    depend(step, links_[q.first - 1].step);
    q.first = links_[q.first - 1].next;
  }

  const detail::Vector<Dependency>& all() const noexcept { return dependencies_; }

 private:
  struct Link {
    std::uint32_t step;
    std::uint32_t next;
  };

  enum class AccessKind : unsigned char { read, write };
  void access(Operand at, std::size_t n, std::uint32_t step, AccessKind kind) {
    if (at.space == Space::in || n == 0) return;
    const auto space = static_cast<std::size_t>(at.space);
    ElementRuns& runs = runs_[std::min(space, runs_.size()) - 1];
    const std::size_t lo = (space << space_shift) + at.offset;
    const std::size_t first = runs.cut(lo);
    const std::size_t last = runs.cut(lo + n);
    for (std::size_t i = first; i < last; ++i) {
      auto& [writer_plus_1, readers] = runs[i].value;
      if (writer_plus_1 != 0) depend(step, writer_plus_1 - 1);
      const auto earlier = static_cast<std::uint32_t>(readers);
      if (kind == AccessKind::write) {
        depend_on_chain(step, earlier);
      } else {
        readers = chain(step, earlier);
      }
    }
    // What a write covers is forgotten: later steps wait for the write.
    if (kind == AccessKind::write) runs.assign(first, last, {step + 1, 0});
  }

  static constexpr unsigned space_shift = 48;

  /// Of Space::out and Space::scratch, and of all the spaces that PlanMemory has. The values: the
  /// step that wrote, plus 1, and the chain of those that have read since. A step that reads waits
  /// for the former, one that writes for all.
  std::array<ElementRuns, 3> runs_;
  detail::Vector<Link> links_;
  detail::Vector<std::uint32_t> newest_;  ///< by step: the newest that depends on it
  detail::Vector<Dependency> dependencies_;
};

/// The messages of a position, by peer and direction: their numbers, and which of them wait for
/// which. A flow is a stream of messages that a schedule holds back: no more of a pair and
/// direction are under way than it allows, nor any of a round before the round before it is
/// complete.
class Flows {
 public:
  Flows(StepDependencies& dependencies, int positions) noexcept
      : dependencies_(dependencies), pairs_(2 * static_cast<std::size_t>(positions)) {}

  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  static constexpr std::size_t most_temporaries = 16;

  /// Begins a flow and returns its number. `outer`: the flow that it is a part of, whose rounds it
  /// keeps to; or `none`.
  [[gnu::cold]] std::size_t add(std::uint32_t in_flight, std::size_t outer) {
    flows_.push_back({std::max(in_flight, 1U), outer, 0, 0, 0});
    return flows_.size() - 1;
  }

  /// Returns the number of messages for combination that may be received before the first of them
  /// is combined: so many of two peers.
  std::size_t temporaries(std::size_t flow) const noexcept {
    return std::clamp<std::size_t>(2 * std::size_t{flows_[flow].in_flight}, 2, most_temporaries);
  }

  /// The number of the next message from or to the peer, by which a transport tells
  /// apart those of one peer and direction.
  [[gnu::cold]] std::uint32_t next_number(int peer, OpKind kind) {
    return queue(0, peer, kind).size;
  }

  /// Step `step` is the next message from or to the peer, in this flow or in none.
  [[gnu::cold]] void message(std::size_t flow, int peer, OpKind kind, std::uint32_t step) {
    // A number that comes round again in a transport's tag space must not be that of a message in
    // flight.
    constexpr std::uint32_t numbers = 256;
    dependencies_.enqueue(queue(0, peer, kind), step, numbers);
    if (flow == none) return;
    dependencies_.enqueue(queue(flow + 1, peer, kind), step, flows_[flow].in_flight);
    for (; flow != none; flow = flows_[flow].outer) {
      dependencies_.depend_on_chain(step, flows_[flow].last_round);
      add_to_round(flow, step);
    }
  }

  /// Step `step` combines, in this flow or in none.
  [[gnu::cold]] void combination(std::size_t flow, std::uint32_t step) {
    for (; flow != none; flow = flows_[flow].outer) add_to_round(flow, step);
  }

  /// Ends a round; one without steps is none. make_join() makes a step: where a round has many, the
  /// next one waits for that instead of each for each.
  [[gnu::cold]] void end_round(std::size_t flow, auto&& make_join) {
    constexpr std::uint32_t few = 4;
    Flow& f = flows_[flow];
    if (f.steps == 0) return;
    f.last_round = f.this_round;
    if (f.steps > few) {
      const std::uint32_t join = make_join();
      dependencies_.depend_on_chain(join, f.last_round);
      f.last_round = dependencies_.chain(join, 0);
    }
    f.this_round = f.steps = 0;
  }

 private:
  using Queue = StepDependencies::Queue;

  struct Flow {
    std::uint32_t in_flight;
    std::size_t outer;
    std::uint32_t last_round;  ///< a chain of steps
    std::uint32_t this_round;  ///< the same
    std::uint32_t steps;       ///< how many there are in this round
  };

  [[gnu::cold]] void add_to_round(std::size_t flow, std::uint32_t step) {
    Flow& f = flows_[flow];
    f.this_round = dependencies_.chain(step, f.this_round);
    ++f.steps;
  }

  [[gnu::cold]] Queue& queue(std::size_t row, int peer, OpKind kind) {
    if (queues_.size() < (row + 1) * pairs_) queues_.resize((row + 1) * pairs_);
    return queues_[row * pairs_ + 2 * static_cast<std::size_t>(peer) +
                   (kind == OpKind::receive ? 1 : 0)];
  }

  StepDependencies& dependencies_;
  std::size_t pairs_;  ///< peers and directions
  detail::Vector<Flow> flows_;
  detail::Vector<Queue> queues_;  ///< those of all messages, then those of each flow
};

}  // namespace papcoll::inline PAPCOLL_ABI
