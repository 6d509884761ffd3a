#pragma once

#include <papcoll/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

/// What things cost between ranks of one node: nanoseconds, and picoseconds a byte. The same on all
/// ranks.
struct PeerCosts {
  std::uint32_t call_ns = 60;     ///< of a call by itself
  std::uint32_t signal_ns = 100;  ///< from a store until a peer has seen it
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

namespace detail {

/// What a candidate does in a call: the numbers of which PeerCosts make a time.
struct NodeWork {
  double rounds = 1;      ///< signals one after the other
  double critical = 0;    ///< nanoseconds of copying and combining, one after the other
  double total = 0;       ///< the same of all ranks together
  double turns = rounds;  ///< how often all ranks have to run, where they share processors
};

/// A call of so many bytes, as candidates see it; with what their parts cost in nanoseconds.
struct NodeLoad {
  const PeerCosts& costs;
  double bytes;   ///< as Call::bytes()
  double ranks;   ///< P
  bool in_arena;  ///< peers see the buffers
  bool late;      ///< one rank comes after the others: what counts is the time from then on

  double others() const noexcept { return ranks - 1; }
  /// The part of one of P ranks, of what others have.
  double of_others() const noexcept { return others() / ranks; }
  double write(double n) const noexcept { return n * costs.write_ps * 1e-3; }
  double read(double n) const noexcept { return n * costs.read_ps * 1e-3; }
  double combine(double n) const noexcept { return n * (costs.read_ps + costs.combine_ps) * 1e-3; }
  /// Of one peer.
  double pull(double n) const noexcept { return costs.pull_ns + n * costs.pull_ps * 1e-3; }
  /// Of all contributions, by one rank; of what comes last, if the slots have room for the others.
  double combined_by_leader() const noexcept {
    constexpr double room = 262144;
    return (late && bytes <= room ? 1 : others()) * combine(bytes);
  }
  /// How often ranks wait for each other where blocks go in pieces.
  double pieces() const noexcept {
    constexpr double piece = 65536;
    return 1 + bytes * others() / piece;
  }
  /// All ranks do the same.
  NodeWork all(double rounds, double each) const noexcept {
    return {rounds, each, ranks * each, rounds};
  }
  /// One rank does, and each of the others, at the same time, but for the first or last part.
  NodeWork one(double rounds, double one, double each) const noexcept {
    constexpr double part = 65536;  // after which the next one goes on
    const double overlap = bytes > part ? part / bytes : 1;
    const double critical = std::max(one, each) + std::min(one, each) * overlap;
    return {rounds, critical, one + others() * each, rounds};
  }

  /// The time of a call: of ranks that share processors what all do passes one after the other.
  double nanoseconds(const NodeWork& w, double processors) const noexcept {
    if (processors >= ranks) return costs.call_ns + w.rounds * costs.signal_ns + w.critical;
    const double crowd = ranks / processors;
    return crowd * (costs.call_ns + w.turns * costs.turn_ns) + w.total / processors;
  }
};

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI
