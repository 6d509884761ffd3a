#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/dependencies.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

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

  /// How many messages for combination may be received before the first of them is combined: so
  /// many of two peers.
  std::size_t temporaries(std::size_t flow) const noexcept {
    return std::clamp<std::size_t>(2 * std::size_t{flows_[flow].in_flight}, 2, most_temporaries);
  }

  /// The number of the next message from (`received`) or to the peer, by which a transport tells
  /// apart those of one peer and direction.
  [[gnu::cold]] std::uint32_t next_number(int peer, bool received) {
    return queue(0, peer, received).size;
  }

  /// Step `step` is the next message from or to the peer, in this flow or in none.
  [[gnu::cold]] void message(std::size_t flow, int peer, bool received, std::uint32_t step) {
    // A number that comes round again in a transport's tag space must not meet its predecessor in
    // flight.
    constexpr std::uint32_t numbers = 256;
    dependencies_.enqueue(queue(0, peer, received), step, numbers);
    if (flow == none) return;
    dependencies_.enqueue(queue(flow + 1, peer, received), step, flows_[flow].in_flight);
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
    MessageThrottle& f = flows_[flow];
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

  struct MessageThrottle {
    std::uint32_t in_flight;
    std::size_t outer;
    std::uint32_t last_round;  ///< a chain of steps
    std::uint32_t this_round;  ///< the same
    std::uint32_t steps;       ///< how many there are in this round
  };

  [[gnu::cold]] void add_to_round(std::size_t flow, std::uint32_t step) {
    MessageThrottle& f = flows_[flow];
    f.this_round = dependencies_.chain(step, f.this_round);
    ++f.steps;
  }

  [[gnu::cold]] Queue& queue(std::size_t row, int peer, bool received) {
    if (queues_.size() < (row + 1) * pairs_) queues_.resize((row + 1) * pairs_);
    return queues_[row * pairs_ + 2 * static_cast<std::size_t>(peer) + (received ? 1 : 0)];
  }

  StepDependencies& dependencies_;
  std::size_t pairs_;  ///< peers and directions
  detail::Vector<MessageThrottle> flows_;
  detail::Vector<Queue> queues_;  ///< those of all messages, then those of each flow
};

}  // namespace papcoll::inline PAPCOLL_ABI
