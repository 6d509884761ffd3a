#pragma once

#include <papcoll/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// What a plan remembers of a stream of messages that a schedule holds back: no more of a pair and
/// direction than it allows, nor any of a round before the round before it is complete.
class Flow {
 public:
  /// `outer`: the flow that it is a part of, whose rounds it keeps to; or `none`.
  Flow(std::uint32_t in_flight, std::size_t outer) : in_flight_(in_flight), outer_(outer) {}

  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::size_t outer() const noexcept { return outer_; }

  /// How many messages for combination may be received before the first of them is combined: so
  /// many of two peers.
  std::size_t temporaries() const noexcept {
    return std::clamp<std::size_t>(2 * std::size_t{in_flight_}, 2, most_temporaries);
  }

  /// Tells of a message, step `index`; calls wait_for(earlier) for the steps that it waits for.
  template <class F>
  void message(int peer, bool is_received, std::uint32_t index, F&& wait_for) {
    std::vector<std::uint32_t>& steps = pair(peer, is_received).steps;
    if (steps.size() >= in_flight_) wait_for(steps[steps.size() - in_flight_]);
    steps.push_back(index);
    message_of_part(index, wait_for);
  }

  /// The same of a message in a flow that is a part of this one.
  template <class F>
  void message_of_part(std::uint32_t index, F&& wait_for) {
    for (const std::uint32_t earlier : last_round_) wait_for(earlier);
    this_round_.push_back(index);
  }

  /// Tells of a combination, here or in a part.
  void combination(std::uint32_t index) { this_round_.push_back(index); }

  /// Ends a round; one without steps is none. join(steps) makes a step that waits for all of these:
  /// where a round has many, the next one waits for that instead of each for each.
  template <class F>
  void end_round(F&& join) {
    constexpr std::size_t few = 4;
    if (this_round_.empty()) return;
    last_round_ = std::move(this_round_);
    if (last_round_.size() > few) last_round_ = {join(last_round_)};
    this_round_.clear();
  }

  static constexpr std::size_t most_temporaries = 16;

 private:
  struct Pair {
    int peer;
    bool is_received;
    std::vector<std::uint32_t> steps;  ///< its messages
  };

  [[gnu::cold]] Pair& pair(int peer, bool is_received) {
    for (Pair& p : pairs_) {
      if (p.peer == peer && p.is_received == is_received) return p;
    }
    return pairs_.emplace_back(Pair{peer, is_received, {}});
  }

  std::uint32_t in_flight_;
  std::size_t outer_;
  std::vector<Pair> pairs_;  ///< few: of those who hold messages back
  std::vector<std::uint32_t> last_round_;
  std::vector<std::uint32_t> this_round_;
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
