#pragma once

#include <papcoll/base/config.hpp>

#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

/// What things cost between ranks of one node: nanoseconds, and picoseconds a byte. The same on all
/// ranks.
struct PeerCosts {
  std::uint32_t call_ns = 60;     ///< of a call by itself
  std::uint32_t signal_ns = 100;  ///< from a store until a peer has seen it
  /// Of each further line, where a rank takes those of several peers, or several take the same one,
  /// which queue: 14 to 20 on nodes of 56 to 288 cores. It is not measured.
  std::uint32_t line_ns = 18;
  std::uint32_t turn_ns = 1000;   ///< until another rank that shares the processor has run
  std::uint32_t write_ps = 25;    ///< to memory that peers have read
  std::uint32_t read_ps = 25;     ///< of what a peer has just written, as it is copied
  std::uint32_t combine_ps = 30;  ///< more than that, if it is combined
  std::uint32_t pull_ns = 700;    ///< of a copy by the kernel, and
  std::uint32_t pull_ps = 110;    ///< for each byte of it
  /// Of the time that a balanced call takes, in hundredths: how long its ranks wait for the last
  /// one, in the mean, where it counts as imbalanced. Ranks of a balanced loop of calls leave, and
  /// so arrive, up to one call's own time apart, a quarter of it waited for in the mean; and what
  /// is done before the last arrival is worth something from one own time on.
  std::uint32_t late_percent = 150;

  friend bool operator==(const PeerCosts&, const PeerCosts&) = default;

  /// Estimate of the time that a balanced call of so many bytes takes.
  std::uint64_t own_time(std::size_t bytes, int ranks, bool shares_processors) const noexcept {
    const std::uint64_t each = shares_processors ? turn_ns : signal_ns;
    return static_cast<std::uint64_t>(ranks) *
           (each + bytes / 1000 * read_ps + bytes % 1000 * read_ps / 1000);
  }
};

/// As long as nothing was measured.
inline constexpr PeerCosts usual_peer_costs;

}  // namespace papcoll::inline PAPCOLL_ABI
