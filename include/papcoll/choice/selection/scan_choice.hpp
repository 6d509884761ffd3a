#pragma once

#include <papcoll/algorithms/closed_forms.hpp>
#include <papcoll/algorithms/static/pipelined.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/math.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

// A scan or exscan by messages: RecursiveDoubling, which takes the fewest rounds, or
// PipelinedChain, in which every rank sends and combines the vector once.

namespace papcoll::inline PAPCOLL_ABI::detail {

/// In seconds.
struct WeighedScan {
  double doubling = 0;
  double chain = 0;
  int segment_bits = 0;  ///< of the chain: its segments have 2 to the power of this bytes

  double seconds() const noexcept { return std::min(doubling, chain); }
};

inline constexpr int least_segment_bits = 10;  ///< 1 KB
inline constexpr int most_segment_bits = 20;

/// What a segment of so many bytes adds for the last rank of a chain, once the first one is there:
/// one processor receives it, combines it and sends it on, and its bytes pass meanwhile.
inline double behind_in_chain(const HockneyWithGap& h, double segment) noexcept {
  return std::max(h.gap + h.gamma * segment, h.beta * segment);
}

/// Of m bytes in n equal segments the chain takes (p−1)(α + (β+γ)m/n) and n − 1 times what a
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

/// Made once: a call allocates none.
inline const AnySchedule& chain_of_segment(int segment_bits) {
  static const auto all = [] {
    std::array<AnySchedule, most_segment_bits - least_segment_bits + 1> made;
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i] = PipelinedChain{std::size_t{1} << (least_segment_bits + i)};
    }
    return made;
  }();
  return all[static_cast<std::size_t>(segment_bits - least_segment_bits)];
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
