#pragma once

#include <papcoll/config.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// The numbers of a position's messages, by which a transport tells apart those of one peer and
/// direction. A number that comes round again in a transport's tag space must not meet its
/// predecessor in flight, so there are no more than 256 messages of a peer and direction at once.
class MessageNumbers {
 public:
  explicit MessageNumbers(int positions) noexcept : positions_(positions) {}

  /// The number of the next message from (`received`) or to the peer.
  [[gnu::cold]] std::uint32_t next(int peer, bool received) {
    if (steps_.empty()) steps_.resize(2 * static_cast<std::size_t>(positions_));
    return static_cast<std::uint32_t>(of(peer, received).size());
  }

  /// Step `step` is the next message. Calls wait_for() with an earlier one, if that has to be
  /// complete before.
  template <class WaitFor>
  void take(int peer, bool received, std::uint32_t step, WaitFor&& wait_for) {
    auto& pair = of(peer, received);
    if (pair.empty()) pair.reserve(8);
    if (pair.size() >= in_flight) wait_for(pair[pair.size() - in_flight]);
    pair.push_back(step);
  }

 private:
  static constexpr std::size_t in_flight = 256;

  [[gnu::cold]] std::vector<std::uint32_t>& of(int peer, bool received) noexcept {
    return steps_[2 * static_cast<std::size_t>(peer) + (received ? 1 : 0)];
  }

  int positions_;
  std::vector<std::vector<std::uint32_t>> steps_;  ///< of each peer and direction, by number
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
