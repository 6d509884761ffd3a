// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/closed_forms.hpp>
#include <papcoll/algorithms/static/bruck.hpp>
#include <papcoll/algorithms/static/linear.hpp>
#include <papcoll/algorithms/static/pairwise.hpp>
#include <papcoll/algorithms/static/pipelined.hpp>
#include <papcoll/algorithms/static/suara_choice.hpp>
#include <papcoll/algorithms/static/two_tree_complete.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/choice/selection/selection_cache.hpp>
#include <papcoll/choice/selection/selection_inputs.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

// What calls that pass messages cost, and which parameters serve them best, where that takes more
// than a closed form of algorithms/closed_forms.hpp.

namespace papcoll::inline PAPCOLL_ABI::detail {

/// The schedule that `make` makes of a number from `Least` to `Most`. All are made at the first
/// call: later ones allocate none.
template <int Least, int Most, class Make> const AnySchedule& made_once(int number, Make make) {
  static const auto all = [&make] {
    std::array<AnySchedule, std::size_t{Most - Least + 1}> made;
    for (int i = Least; i <= Most; ++i) made[static_cast<std::size_t>(i - Least)] = make(i);
    return made;
  }();
  return all[static_cast<std::size_t>(number - Least)];
}

// An alltoall by messages, of blocks of one length: Bruck with the radix that the model of a round
// finds the quickest, or every block by itself, as many at a time as keep the ports busy.
// benchmarks/reproduce/alltoall.py simulates it beside other radices.

/// A round in which a position sends n messages, of so many bytes together, and receives as many,
/// all at once, in seconds. Their latencies pass at the same time; the processor is busy for half
/// of the gap with each that it sends and with each that it receives. (The closed forms
/// have port and processor as one, of which each message keeps its gap and its bytes' time.)
inline double round_of_messages(const HockneyWithGap& h, int n, double bytes) noexcept {
  const double until_last = std::max((n - 1) * h.gap / 2, h.beta * bytes);
  return n < 1 ? 0 : std::max(n * h.gap, h.alpha + until_last);
}

/// Returns how many of the distances 1 … p − 1, written to this radix, have another digit than 0 at
/// this weight, a power of it.
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
  double unforwarded = 0;  ///< every block by itself, all at once
  int window_bits = 0;     ///< 2 to the power of this at a time, if there are more

  double seconds() const noexcept { return std::min(bruck, unforwarded); }
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
  w.unforwarded = round_of_messages(h, ranks - 1, (ranks - 1) * block);
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

inline const AnySchedule& bruck_of_bits(int radix_bits) {
  return made_once<1, most_bits>(radix_bits, [](int bits) { return Bruck{1 << bits}; });
}
inline const AnySchedule& spread_out_of_bits(int window_bits) {
  return made_once<0, most_bits>(window_bits, [](int bits) { return SpreadOut{1 << bits}; });
}

/// Every block by itself, from its sender to its receiver.
inline AnySchedule unforwarded_alltoall(const WeighedAlltoall& w, int ranks) {
  if ((1 << w.window_bits) >= ranks - 1) return AnySchedule::of<Linear>();
  return w.window_bits == 0 ? AnySchedule::of<Pairwise>() : spread_out_of_bits(w.window_bits);
}

// A scan or exscan by messages: RecursiveDoubling, which takes the fewest rounds, or
// PipelinedChain, in which every rank sends and combines the vector once.

/// In seconds.
struct WeighedScan {
  double doubling = 0;
  double chain = 0;
  int segment_bits = 0;  ///< of the chain: its segments have 2 to the power of this bytes

  double seconds() const noexcept { return std::min(doubling, chain); }
};

inline constexpr int least_segment_bits = 10;  ///< 1 KB
inline constexpr int most_segment_bits = 20;

/// Returns the seconds that a segment of so many bytes adds for the last rank of a chain, once the
/// first one is there: one processor receives it, combines it and sends it on, and its bytes pass
/// meanwhile.
inline double behind_in_chain(const HockneyWithGap& h, double segment) noexcept {
  return std::max(h.gap + h.gamma * segment, h.beta * segment);
}

/// For m bytes in n equal segments the chain takes (p−1)(α + (β+γ)m/n) and n − 1 times what a
/// segment adds, which is least for n = √((p − 2)(β+γ)m / gap) or so.
inline WeighedScan weigh_scan(Collective c, double m, int ranks, const HockneyWithGap& h) noexcept {
  WeighedScan w;
  w.doubling = c == Collective::scan ? closed_form::recursive_doubling_scan(h, ranks, m)
                                     : closed_form::recursive_doubling_exscan(h, ranks, m);
  const double a_byte = std::max(ranks - 2, 1) * (h.beta + h.gamma);
  const double best = a_byte > 0 ? math::sqrt(m * h.gap / a_byte) : m;
  const double segment =
      std::clamp(best, math::ldexp(1.0, least_segment_bits), math::ldexp(1.0, most_segment_bits));
  w.segment_bits = static_cast<int>(math::lround(math::log2(segment)));
  const double each = std::min(m, math::ldexp(1.0, w.segment_bits));
  w.chain = closed_form::chain_scan(h, ranks, each) +
            (closed_form::segments(m, each) - 1) * behind_in_chain(h, each);
  return w;
}

inline const AnySchedule& chain_of_segment(int segment_bits) {
  return made_once<least_segment_bits, most_segment_bits>(
      segment_bits, [](int bits) { return PipelinedChain{std::size_t{1} << bits}; });
}

// Long vectors between many nodes: TwoTreeComplete for a bcast, reduce and allreduce, and Suara for
// an allreduce, by the closed forms and the thresholds of the network.

inline HockneyWithGap link_of(const Thresholds& t) noexcept {
  constexpr double nano = 1e-9;
  constexpr double atto = 1e-18;
  const Hockney h{static_cast<double>(t.network.alpha_ns) * nano,
                  static_cast<double>(t.network.beta_as) * atto,
                  static_cast<double>(t.network.gamma_as) * atto};
  return {h, static_cast<double>(t.network.gap_ns) * nano};
}

inline SuaraModel suara_model(const Thresholds& t, bool commutative) noexcept {
  SuaraModel model{link_of(t)};
  model.commutative = commutative;
  return model;
}

/// The chunks that TwoTreeComplete cuts, in bytes.
inline double two_tree_chunk(const Call& call, int size) noexcept {
  const std::size_t element = call.reducer.size;
  return static_cast<double>(TwoTreeChunks{}.cut({0, call.count}, element, size).longest * element);
}

/// No grid is better for less, and a search takes long beside such a call.
inline constexpr std::size_t suara_from = 8192;

[[gnu::cold]] inline SuaraOfLength search_for_suara(const Call& call,
                                                    const SelectionInputs& inputs) {
  const SuaraModel model = suara_model(*inputs.thresholds, call.reducer.commutative);
  const auto m = static_cast<double>(call.bytes());
  const SuaraChoice choice = choose_suara(model, inputs.size, m);
  if (choice.dimensions < 2) return {};  // no grid is better
  return {schedule_of(model, choice, inputs.size, m), choice.seconds};
}

/// Returns the Suara that an allreduce may run by. Depends on bytes, operator, number of ranks and
/// thresholds alone, so all ranks get the same.
inline SuaraOfLength best_suara(const Call& call, const SelectionInputs& inputs) {
  if (inputs.suara == nullptr) return search_for_suara(call, inputs);
  const std::size_t bytes = call.bytes();
  const bool commutative = call.reducer.commutative;
  if (const SuaraOfLength* const known = inputs.suara->find(bytes, commutative)) return *known;
  SuaraOfLength found = search_for_suara(call, inputs);
  inputs.suara->keep(bytes, commutative, found);
  return found;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
