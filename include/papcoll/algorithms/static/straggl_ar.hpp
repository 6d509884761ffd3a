// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/algorithms/static/schedule_parameters.hpp>
#include <papcoll/algorithms/static/shapes.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>

namespace papcoll::inline PAPCOLL_ABI {

/// The others combine all they have while one rank is awaited; when it comes, it swaps blocks with
/// a few of them, and blocks spread through a hypercube as they become whole.
///
/// Phases: position 0 is the straggler; if another one is, positions are counted from there.
///   (1) The other P − 1 reduce-scatter around a ring, and hand the parts to q = log₂ P owners.
///   (2) In round t the straggler and an owner, position 2^(t mod q), exchange block t, and both
///   have it whole. (3) It takes q rounds to all others: along the dimensions after its owner's to
///   those whose bit of the owner's dimension is set, then along that dimension to the rest. In
///   round r all messages go along dimension r mod q; each position sends one block and receives
///   one. Where P is no power of two, each position above takes the odd blocks of one below, and
///   the two pass on to each other what they get.
/// Cost: with n blocks, after the last arrival, (n + q)(α + (β + γ)m/n), so little more than
///   (β + γ)m for long vectors, with q latencies where PreReducedRing has P; if P is no power of
///   two, up to 7n/4 + 2q rounds. Before, hidden if the straggler is late by so much,
///   (P−2)(α + (β + γ)m/(P−1)) and then βm/q at each owner.
/// Prefer it for long vectors and a power of two of ranks, where one comes late by the time of a
///   reduce-scatter; PreReducedRing for other numbers, and where several are late.
/// Limits: a second rank that is late holds up all. The operator must commute. Without predictions
///   rank 0 is taken for the straggler.
///
///     P = 4, n = 4 blocks A B C D; straggler s = 0, owners 1 (A, C) and 2 (B, D); the block sent
///              round 0     round 1     round 2     round 3     round 4     round 5
///     along    0           1           0           1           0           1
///              s ⇄ 1: A    s ⇄ 2: B    s ⇄ 1: C    s ⇄ 2: D
///                          1 → 3: A    2 → 3: B    1 → 3: C    2 → 3: D
///                                      3 → 2: A    3 → 1: B    3 → 2: C    3 → 1: D
///
/// Source: Devraj, Ding et al., "Accelerating AllReduce with a Persistent Straggler" (StragglAR),
/// arXiv:2505.23523, 2025, with one block of each early rank and P a power of two. Phase 3 is of
/// Johnsson, Ho, "Optimum Broadcasting and Personalized Communication in Hypercubes", IEEE Trans.
/// Computers 38(9), 1989, which leaves n free, at the price of handing the parts to q owners.
struct StragglAR {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "StragglAR";
  static constexpr std::string_view sentence =
      "The others reduce-scatter while one is awaited, who then swaps blocks with them.";
  static constexpr bool commutative_only = true;
  static constexpr unsigned needs = capability::positions | capability::forecast;

  static constexpr std::array parameters{Parameter{"bytes of a block", "", 1}};

  /// Bytes of a block. 0: as many blocks as let phases 2 and 3 end first, √(q·m/(α/β)), where a
  /// latency costs as much as 16 KB, but none above 48 KB: MPI sends those at once, without asking
  /// the receiver first.
  std::size_t block_bytes = 0;
  /// The position that is expected last. It is no part of the name: a named schedule is in
  /// predicted order, in which the last to arrive is at position 0.
  int straggler = 0;

  std::string arguments() const {
    if (*this == StragglAR{}) return "";
    const std::string bytes = block_bytes == 0 ? "best" : std::to_string(block_bytes);
    return straggler == 0 ? bytes : detail::joined({bytes, ",", straggler});
  }
  static StragglAR parse(std::string_view arguments) {
    return {.block_bytes = parse_bytes(name, parameters[0], arguments)};
  }

  void emit(Allreduce, auto& all) const {
    if (all.size() == 1) return;
    Builder b = all.among(all.size(), [&](int i) { return all.wrap(straggler + i); });
    const Swaps swaps{b.size(), blocks(b.size(), b.whole().size() * b.element_size())};
    if (b.position() != 0) combine_early(b, swaps);
    for (int r = 0; r <= swaps.rounds(); ++r) emit_round(b, swaps, r);
  }

  friend bool operator==(const StragglAR&, const StragglAR&) = default;

 private:
  static constexpr std::size_t most_blocks = 512;  ///< that a plan names one by one

  /// The exchanges of phases 2 and 3: which position has which block when.
  struct Swaps {
    int size;
    int blocks;

    int core() const noexcept { return floor_power_of_two(size); }
    int dimensions() const noexcept { return doubling_rounds(core()); }
    int rounds() const noexcept { return blocks + dimensions(); }
    int dimension(int round) const noexcept { return round % dimensions(); }

    /// The place in the hypercube that a position has, alone or with its partner.
    int place(int position) const noexcept {
      return position < core() ? position : position - core() + 1;
    }
    /// −1: it has none.
    int partner(int position) const noexcept {
      if (position >= core()) return position - core() + 1;
      return position > 0 && position + core() - 1 < size ? position + core() - 1 : -1;
    }
    /// Returns the position of a place that handles a block.
    int player(int place, int block) const noexcept {
      const bool upper = block % 2 == 1 && place > 0 && place + core() - 1 < size;
      return upper ? place + core() - 1 : place;
    }
    int owner(int block) const noexcept { return player(1 << dimension(block), block); }

    bool is_set(int place, int round) const noexcept {
      return ((place >> dimension(round)) & 1) != 0;
    }
    int neighbour(int place, int round) const noexcept { return place ^ (1 << dimension(round)); }

    /// The block that a place sends to its neighbour in a round; −1: none.
    int sent(int place, int round) const noexcept {
      int block = round;  // the straggler: each block in its own round
      if (is_set(place, round)) {
        block = neighbour(place, round) == 0 ? -1 : round - dimensions();
      } else if (place != 0) {
        // Blocks so far went along dimensions from their owners' to the last round's: this place
        // has the one whose owner's dimension is the first of its own.
        int back = dimensions() - 1;
        while (((place >> ((round + dimensions() - back) % dimensions())) & 1) == 0) --back;
        block = round - back;
      }
      return block >= 0 && block < blocks ? block : -1;
    }
  };

  int blocks(int size, std::size_t bytes) const noexcept {
    constexpr double latency_bytes = 16384;
    constexpr double most_at_once = 49152;
    if (block_bytes == 0) {
      const int q = Swaps{size, 1}.dimensions();
      const auto m = static_cast<double>(bytes);
      const double n = std::max(math::sqrt(q * m / latency_bytes), math::ceil(m / most_at_once));
      return static_cast<int>(std::clamp(n, 1.0, static_cast<double>(most_blocks)));
    }
    const std::size_t n = bytes / block_bytes + (bytes % block_bytes != 0 ? 1 : 0);
    return static_cast<int>(std::clamp<std::size_t>(n, 1, most_blocks));
  }

  /// Phase 1.
  [[gnu::cold]] static void combine_early(auto& b, const Swaps& swaps) {
    const int early = b.size() - 1;
    Builder ring = b.among(1, 1, early);
    detail::ring_reduce_scatter(ring, [&ring](int i) { return ring.block(i); });
    const int me = b.position();
    auto common = [&](int position, int block) {
      const Range p = ring.block(position - 1);
      const Range q = papcoll::part(b.whole(), block, swaps.blocks);
      const std::size_t lo = std::max(p.lo, q.lo);
      return Range{lo, std::max(lo, std::min(p.hi, q.hi))};
    };
    for (int t = 0; t < swaps.blocks; ++t) {
      const int owner = swaps.owner(t);
      if (owner != me) b.send(owner, common(me, t));
      for (int p = 1; owner == me && p <= early; ++p) {
        if (p != me) b.receive(p, common(p, t));
      }
    }
  }

  [[gnu::cold]] static void emit_round(auto& b, const Swaps& swaps, int round) {
    const int me = b.position();
    const int place = swaps.place(me);
    const int beside = swaps.neighbour(place, round);
    auto block = [&](int t) { return papcoll::part(b.whole(), t, swaps.blocks); };
    if (const int t = swaps.sent(place, round); t >= 0 && swaps.player(place, t) == me) {
      b.send(swaps.player(beside, t), block(t));
      if (place == 0) b.reduce(swaps.player(beside, t), block(t));
    }
    if (const int t = swaps.sent(beside, round);
        t >= 0 && place != 0 && swaps.player(place, t) == me) {
      if (beside == 0) {
        b.send(0, block(t));
        b.reduce(0, block(t));
      } else {
        b.receive(swaps.player(beside, t), block(t));
      }
    }
    // What one of two partners got in the last round, the other gets now.
    const int partner = swaps.partner(me);
    if (partner < 0 || round == 0) return;
    if (const int t = swaps.sent(swaps.neighbour(place, round - 1), round - 1); t >= 0) {
      if (swaps.player(place, t) == me) {
        b.send(partner, block(t));
      } else {
        b.receive(partner, block(t));
      }
    }
  }
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<StragglAR>() noexcept)

}  // namespace papcoll::inline PAPCOLL_ABI
