// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/closed_forms.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/model/log_gops.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace papcoll::inline PAPCOLL_ABI {

/// LogGP: what a message costs, in seconds and bytes. A message of m bytes is there after
/// o + L + Gm + o, and the next one may follow the first on its port after max(o, g) + Gm. P is not
/// among its parameters: the call has it.
///
/// Source: Alexandrov, Ionescu, Schauser, Scheiman, "LogGP: incorporating long messages into the
/// LogP model", SPAA 1995.
struct LogGp {
  double latency = 1.5e-6;         ///< L: from one port to the other
  double overhead = 0;             ///< o: of the processor, each time a message is sent or received
  double gap = 0;                  ///< g: between messages on a port, beside their bytes
  double gap_per_byte = 6.25e-11;  ///< G

  constexpr double message(double bytes) const noexcept {
    return latency + 2 * overhead + gap_per_byte * bytes;
  }
  /// Returns the seconds for which a message keeps its sender from the next one.
  constexpr double port(double bytes) const noexcept {
    return std::max(overhead, gap) + gap_per_byte * bytes;
  }

  friend bool operator==(const LogGp&, const LogGp&) = default;
};

/// LogGP is LogGOPS without O, where no message waits for its receive. There is no combining in it.
constexpr LogGops log_gops(const LogGp& m) noexcept {
  LogGops all;
  all.latency = m.latency;
  all.overhead = m.overhead;
  all.gap = m.gap;
  all.gap_per_byte = m.gap_per_byte;
  all.rendezvous = std::numeric_limits<std::size_t>::max();
  all.combine_per_byte = 0;
  return all;
}

/// Hockney's model with the gap that the closed forms of pipelines want.
constexpr HockneyWithGap hockney(const LogGp& m, double gamma) noexcept {
  return {Hockney{m.latency + 2 * m.overhead, m.gap_per_byte, gamma}, std::max(m.overhead, m.gap)};
}

/// A pipeline: the chunks of a vector go, one behind the other, through so many hands, the last of
/// which sends nothing, and every port on the way passes each of them so often.
///
///     PipelinedChain     {P − 1, 1}
///     TwoTreeComplete    {2⌊log₂ P⌋, 1}
struct Pipeline {
  double hops = 1;
  double passes = 1;
};

/// Returns the seconds of a vector of m bytes in n equal chunks through the pipeline:
/// hops·message(m/n) + passes·(n − 1)·port(m/n).
constexpr double pipeline_seconds(const LogGp& model, Pipeline p, double bytes,
                                  double chunks) noexcept {
  const double each = bytes / chunks;
  return p.hops * model.message(each) + p.passes * (chunks - 1) * model.port(each);
}

/// The number of chunks for which that is least: √((hops − passes)·Gm / (passes·max(o, g))), to the
/// better of the whole numbers beside it. Where messages keep nothing busy but by their bytes there
/// is no end to it: then `most`.
inline std::size_t pipeline_chunks(const LogGp& model, Pipeline p, double bytes, std::size_t most) {
  const double each = std::max(model.overhead, model.gap) * p.passes;
  const double filling = (p.hops - p.passes) * model.gap_per_byte * bytes;
  if (filling <= 0) return 1;
  const auto limit = static_cast<double>(most);
  if (filling >= limit * limit * each) return most;
  const double below = std::max(1.0, std::floor(std::sqrt(filling / each)));
  const bool next =
      pipeline_seconds(model, p, bytes, below + 1) < pipeline_seconds(model, p, bytes, below);
  return std::min(most, static_cast<std::size_t>(below) + (next ? 1 : 0));
}

}  // namespace papcoll::inline PAPCOLL_ABI
