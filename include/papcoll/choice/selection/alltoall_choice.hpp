#pragma once

#include <papcoll/algorithms/closed_forms.hpp>
#include <papcoll/algorithms/static/bruck.hpp>
#include <papcoll/algorithms/static/linear.hpp>
#include <papcoll/algorithms/static/pairwise.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/math.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

// An alltoall by messages, of blocks of one length: Bruck with the radix that the model of a round
// finds the quickest, or every block by itself, as many at a time as keep the ports busy.
//
// One call, a rank a node, simulated by benchmarks/reproduce/alltoall.py (1.5 µs a message, 0.3 of
// it on processors, 1/16 ns a byte), µs, Bruck:8 | of the best radix | Linear | Pairwise:
//   64 ranks   8 B    4.9 |  8: 4.9 |  19 |  95     256 ranks  8 B    6.9 |  8: 6.9 | 77 | 383
//              512 B  7.0 |  8: 7.0 |  19 |  97                512 B   15 | 16: 11  | 77 | 387
//              2 KB    18 | 32: 16  |  19 | 103                2 KB   105 | 16: 66  | 77 | 415
//              8 KB    76 | 16: 61  |  37 | 127
//              128 KB 937 | 16: 909 | 518 | 601, SpreadOut:8 527

namespace papcoll::inline PAPCOLL_ABI::detail {

/// A round in which a position sends n messages, of so many bytes together, and receives as many,
/// all at once, in seconds. Their latencies pass at the same time; the processor is busy for half
/// of the gap with each that it sends and with each that it receives. (The closed forms of model/
/// have port and processor as one, of which each message keeps its gap and its bytes' time.)
inline double round_of_messages(const HockneyWithGap& h, int n, double bytes) noexcept {
  const double until_last = std::max((n - 1) * h.gap / 2, h.beta * bytes);
  return n < 1 ? 0 : std::max(n * h.gap, h.alpha + until_last);
}

/// How many of the distances 1 … p − 1, written to this radix, have another digit than 0 at this
/// weight, a power of it.
constexpr int with_digit(int p, long long radix, long long weight) noexcept {
  const long long cycle = radix * weight;
  return static_cast<int>(p - p / cycle * weight - std::min(p % cycle, weight));
}

/// Bruck, in seconds, of blocks of so many bytes.
inline double bruck_seconds(const HockneyWithGap& h, int p, double block, int radix) noexcept {
  double seconds = 0;
  for (long long weight = 1; weight < p; weight *= radix) {
    const long long messages = std::min<long long>(radix - 1, (p - 1) / weight);
    seconds +=
        round_of_messages(h, static_cast<int>(messages), with_digit(p, radix, weight) * block);
  }
  return seconds;
}

/// What is weighed for an alltoall, in seconds.
struct WeighedAlltoall {
  int radix_bits = 1;  ///< of Bruck: its radix is 2 to the power of this
  double bruck = 0;
  double apart = 0;     ///< every block by itself, all at once
  int window_bits = 0;  ///< 2 to the power of this at a time, if there are more

  double seconds() const noexcept { return std::min(bruck, apart); }
};

/// Radix and window are powers of two up to this one, so that few plans are made.
inline constexpr int most_bits = 10;

/// The bits of a window of so many messages, so many at least, that their time in the port is
/// `batch` times the latency that passes before the next ones: all but 1/batch of the time is used.
inline int window_bits(const HockneyWithGap& h, double block) noexcept {
  constexpr double batch = 32;
  const double each = std::max(h.gap, h.beta * block);
  const double window = each > 0 ? batch * h.alpha / each : 1 << most_bits;
  return static_cast<int>(math::ceil(math::log2(std::clamp(window, 1.0, double{1 << most_bits}))));
}

/// All ranks find the same: it goes by bytes, number of ranks and the network.
inline WeighedAlltoall weigh_alltoall(double block, int ranks, const HockneyWithGap& h) noexcept {
  WeighedAlltoall w;
  w.apart = round_of_messages(h, ranks - 1, (ranks - 1) * block);
  w.bruck = bruck_seconds(h, ranks, block, 2);
  for (int bits = 2; bits <= most_bits && (1 << bits) < ranks; ++bits) {
    const double seconds = bruck_seconds(h, ranks, block, 1 << bits);
    if (seconds >= w.bruck) continue;
    w.bruck = seconds;
    w.radix_bits = bits;
  }
  w.window_bits = window_bits(h, block);
  return w;
}

/// Schedules that are made once: a call allocates none.
inline const AnySchedule& bruck_of_bits(int radix_bits) {
  static const auto all = [] {
    std::array<AnySchedule, most_bits + 1> made;
    for (int i = 1; i <= most_bits; ++i) made[static_cast<std::size_t>(i)] = Bruck{1 << i};
    return made;
  }();
  return all[static_cast<std::size_t>(radix_bits)];
}
inline const AnySchedule& spread_out_of_bits(int window_bits) {
  static const auto all = [] {
    std::array<AnySchedule, most_bits + 1> made;
    for (int i = 0; i <= most_bits; ++i) made[static_cast<std::size_t>(i)] = SpreadOut{1 << i};
    return made;
  }();
  return all[static_cast<std::size_t>(window_bits)];
}

/// Every block by itself.
inline AnySchedule each_apart(const WeighedAlltoall& w, int ranks) {
  if ((1 << w.window_bits) >= ranks - 1) return AnySchedule::of<Linear>();
  return w.window_bits == 0 ? AnySchedule::of<Pairwise>() : spread_out_of_bits(w.window_bits);
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
