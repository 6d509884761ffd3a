// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/function_ref.hpp>
#include <papcoll/schedule/builder.hpp>
#include <papcoll/schedule/range.hpp>
#include <papcoll/schedule/schedule_traits.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// The largest power of two that is not larger than n; n ≥ 1.
constexpr int floor_power_of_two(int n) noexcept {
  int power = 1;
  while (power <= n / 2) power *= 2;
  return power;
}

/// ⌈log₂ n⌉: the rounds in which what doubles every round grows from 1 to n; n ≥ 1.
constexpr int doubling_rounds(int n) noexcept {
  int rounds = 0;
  while (n > 1) {
    n -= n / 2;
    ++rounds;
  }
  return rounds;
}

/// A k-nomial tree over positions 0…size−1 with root 0, for a radix k ≥ 2; k = 2 is the binomial
/// tree. Written in base k, a position's parent has its lowest nonzero digit cleared:
///
///     k = 2, size 8:  0 ─┬─ 4 ─┬─ 6 ── 7        k = 3, size 9:  0 ─┬─ 3, 6 ── each with p+1, p+2
///                        │     └─ 5                                └─ 1, 2
///                        ├─ 2 ── 3
///                        └─ 1
///
/// A position and all below it are a contiguous run of positions that begins with it.
struct KNomialTree {
  int radix;
  int size;

  /// −1 for the root.
  constexpr int parent(int p) const noexcept {
    return p == 0 ? -1 : static_cast<int>(p - p % (weight(p) * radix));
  }

  /// The positions p, p+1, … p + run(p) − 1 are p and all below it.
  constexpr int run(int p) const noexcept {
    const long long w = weight(p);
    return w < size - p ? static_cast<int>(w) : size - p;
  }

  /// Calls f(child) for p's children in ascending order: the smallest subtrees first.
  [[gnu::cold]] void for_children_up(int p, detail::FunctionRef<void(int)> f) const {
    const long long end = weight(p);
    for (long long w = 1; w < end; w *= radix) children_of_weight(p, w, f);
  }

  /// Calls f(child) for p's children with the largest subtrees first.
  [[gnu::cold]] void for_children_down(int p, detail::FunctionRef<void(int)> f) const {
    for (long long w = weight(p) / radix; w >= 1; w /= radix) children_of_weight(p, w, f);
  }

 private:
  /// The power of the radix at p's lowest nonzero digit; for the root one that is ≥ size.
  constexpr long long weight(int p) const noexcept {
    long long w = 1;
    while (w < size && p % (w * radix) == 0) w *= radix;
    return w;
  }

  void children_of_weight(int p, long long w, detail::FunctionRef<void(int)> f) const {
    for (int digit = 1; digit < radix && p + digit * w < size; ++digit) {
      f(static_cast<int>(p + digit * w));
    }
  }
};

namespace detail {

/// Up a tree; small subtrees, which are done first, are taken first.
[[gnu::cold]] inline void reduce_up(auto& b, const auto& tree, Range r) {
  const int me = b.position();
  tree.for_children_up(me, [&](int child) { b.reduce(child, r); });
  if (me != 0) b.send(tree.parent(me), r);
}

/// Down a tree; large subtrees, which have the longest way to go, are served first.
[[gnu::cold]] inline void bcast_down(auto& b, const auto& tree, Range r) {
  const int me = b.position();
  if (me != 0) b.receive(tree.parent(me), r);
  tree.for_children_down(me, [&](int child) { b.send(child, r); });
}

}  // namespace detail

/// How P positions are folded to fewer, the core, for schedules whose rounds need a power of two or
/// a grid: of the first P − core pairs of neighbours, the even one is the proxy of both.
///
///     P = 6    0 1   2 3   4   5      core 4, pairs 2
///              |/    |/    |   |
///     core     0     1     2   3      first(2) = 4: core position 2 is position 4
///
/// Neighbours are folded so that every core position holds a contiguous run of positions, and an
/// operator that does not commute works.
struct Fold {
  int size;
  int kept = floor_power_of_two(size);  ///< at least half of them

  constexpr int core() const noexcept { return kept; }
  constexpr int pairs() const noexcept { return size - core(); }

  /// The position that plays core position v, the first of its run; first(core()) = size.
  constexpr int first(int v) const noexcept { return v < pairs() ? 2 * v : v + pairs(); }
  /// The core position whose run p is in.
  constexpr int core_position(int p) const noexcept {
    return p < 2 * pairs() ? p / 2 : p - pairs();
  }
  /// Returns true if p hands its data to its lower neighbour, the proxy of both.
  constexpr bool folded_away(int p) const noexcept { return p < 2 * pairs() && p % 2 == 1; }
  /// Returns true if p is the proxy of its upper neighbour.
  constexpr bool speaks_for_two(int p) const noexcept { return p < 2 * pairs() && p % 2 == 0; }
};

/// Consecutive blocks of a vector in as many blocks as there are positions.
struct BlockRun {
  int first;
  int count;
  constexpr BlockRun sibling() const noexcept { return {first ^ count, count}; }
  friend constexpr bool operator==(BlockRun, BlockRun) = default;
};

/// Recursive halving of the vector with doubling of the distance, among a power of two of
/// positions: in round k the positions p and p ^ 2^k exchange halves of the blocks that they both
/// hold, and each keeps one. The blocks that p holds after `rounds` rounds; in the end it is one,
/// whose number is p with its bits reversed.
///
/// Doubling the distance, not halving it, combines neighbours first, so that every partial result
/// is of a contiguous run of positions.
constexpr BlockRun halved(int p, int rounds, int size) noexcept {
  BlockRun run{0, size};
  for (int k = 0; k < rounds; ++k) {
    run.count /= 2;
    if (((p >> k) & 1) != 0) run.first += run.count;
  }
  return run;
}

namespace detail {

/// The plan as the core's positions see it; this position is not folded away.
inline Builder core_of(const auto& b, Fold fold) {
  return b.among(fold.core(), [fold](int v) { return fold.first(v); });
}

/// Folds by whole vectors, for short ones: one message a pair, then half of each pair is idle.
[[gnu::cold]] inline void fold_whole(auto& b, Fold fold) {
  const int me = b.position();
  if (fold.folded_away(me)) b.send(me - 1, b.whole());
  if (fold.speaks_for_two(me)) b.reduce(me + 1, b.whole());
}

/// Folds by halves, for long vectors: each of a pair reduces one half, at the same time, and the
/// upper one then hands its half over. As much data as fold_whole() at half the reduction time.
[[gnu::cold]] inline void fold_halves(auto& b, Fold fold) {
  const int me = b.position();
  const Range low = part(b.whole(), 0, 2);
  const Range high = part(b.whole(), 1, 2);
  if (fold.folded_away(me)) {
    b.send(me - 1, low);
    b.reduce(me - 1, high);
    b.send(me - 1, high);
  }
  if (fold.speaks_for_two(me)) {
    b.send(me + 1, high);
    b.reduce(me + 1, low);
    b.receive(me + 1, high);
  }
}

/// Reduce-scatter of the core by recursive halving, whose size is a power of two, and the same
/// rounds backwards: join(core, partner, mine, its) with the blocks that each of the two holds, in
/// the last round those of one.
[[gnu::cold]] inline void halve_and_join(auto& b, Fold fold,
                                         FunctionRef<void(Builder&, int, Range, Range)> join) {
  Builder core = core_of(b, fold);
  const int me = core.position();
  const int rounds = doubling_rounds(core.size());
  const auto range = [&core](BlockRun run) { return core.blocks(run.first, run.count); };
  for (int k = 0; k < rounds; ++k) {
    const BlockRun kept = halved(me, k + 1, core.size());
    core.send(me ^ (1 << k), range(kept.sibling()));
    core.reduce(me ^ (1 << k), range(kept));
  }
  for (int k = rounds; k-- > 0;) {
    const BlockRun mine = halved(me, k + 1, core.size());
    join(core, me ^ (1 << k), range(mine), range(mine.sibling()));
  }
}

/// Sends the result to the folded positions.
[[gnu::cold]] inline void unfold(auto& b, Fold fold) {
  const int me = b.position();
  if (fold.speaks_for_two(me)) b.send(me + 1, b.whole());
  if (fold.folded_away(me)) b.receive(me - 1, b.whole());
}

/// Adds what the folded positions send to their proxies, and receive.
[[gnu::cold]] inline void add_fold_traffic(Traffic& t, Fold fold, double away, double back) {
  for (int i = 0; i < fold.pairs(); ++i) {
    t.add(2 * i + 1, 2 * i, away);
    t.add(2 * i, 2 * i + 1, back);
  }
}

/// share(v, k): what core position v sends to the one at distance 2^k.
[[gnu::cold]] inline void add_core_traffic(Traffic& t, Fold fold,
                                           FunctionRef<double(int, int)> share) {
  for (int v = 0; v < fold.core(); ++v) {
    for (int k = 0; 1 << k < fold.core(); ++k) {
      t.add(fold.first(v), fold.first(v ^ (1 << k)), share(v, k));
    }
  }
}

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
