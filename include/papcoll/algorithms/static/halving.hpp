#pragma once

#include <papcoll/config.hpp>
#include <papcoll/schedule/builder.hpp>

namespace papcoll {
inline namespace PAPCOLL_ABI {

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

inline Range range_of(const auto& b, BlockRun run) noexcept {
  return b.blocks(run.first, run.count);
}

/// The reduce-scatter of those rounds; b.size() is a power of two.
inline void halve(auto& b) {
  const int me = b.position();
  for (int k = 0; 1 << k < b.size(); ++k) {
    const int partner = me ^ (1 << k);
    const BlockRun kept = halved(me, k + 1, b.size());
    b.send(partner, range_of(b, kept.sibling()));
    b.reduce(partner, range_of(b, kept));
  }
}

}  // namespace detail

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
