// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/pattern/trace.hpp>
#include <papcoll/schedule/vector_layout.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace what_if {

/// The calls of one site of a program, as they were recorded.
struct Recorded {
  Shape shape;              ///< of all of them; its rank is not used
  pattern::Trace arrivals;  ///< a call after the other
  /// Seconds that the ranks were in the call, as `arrivals` has its times; empty: not recorded.
  std::vector<double> durations{};
  std::vector<int> nodes{};  ///< of each rank; empty: all are on one
  double clocks = 0;         ///< seconds that arrivals may be wrong by, in the median of the calls
  std::size_t left_out = 0;  ///< calls of the site that are none of these

  /// Returns true if all ranks are on one node.
  bool is_one_node() const {
    return std::all_of(nodes.begin(), nodes.end(), [&](int n) { return n == nodes.front(); });
  }

  /// Throws argument_error.
  void require_sense() const {
    const auto refuse = [](const std::string& why) {
      throw argument_error("papcoll: what if: " + why);
    };
    const auto ranks = static_cast<std::size_t>(std::max(shape.size, 0));
    if (arrivals.calls() == 0) refuse("no call was recorded");
    if (arrivals.ranks != ranks) {
      refuse(detail::joined(
          {"the trace has arrivals of ", arrivals.ranks, " ranks, and the call ", ranks}));
    }
    if (!durations.empty() && durations.size() != arrivals.seconds.size()) {
      refuse(detail::joined({"there are ", durations.size(), " times in calls and ",
                             arrivals.seconds.size(), " arrivals: record both for each rank"}));
    }
    if (std::any_of(durations.begin(), durations.end(), [](double d) { return !(d >= 0); })) {
      refuse("a time in a call is negative, or no number");
    }
    if (!nodes.empty() && nodes.size() != ranks) {
      refuse(detail::joined({"nodes of ", nodes.size(), " ranks, and there are ", ranks}));
    }
    if (shape.root < 0 || shape.root >= shape.size) {
      refuse(detail::joined({"there is no rank ", shape.root, " to be the root"}));
    }
  }
};

/// Calls first … first + count − 1.
struct Stretch {
  std::size_t first = 0;  ///< a call
  std::size_t count = 0;  ///< calls
  friend bool operator==(const Stretch&, const Stretch&) = default;
};

/// At most `most` of `calls`, in stretches that lie evenly in them, each of at least `least` calls
/// in a row: what one call leaves behind, the next one finds.
inline std::vector<Stretch> sampled(std::size_t calls, std::size_t most, std::size_t least = 20) {
  if (calls <= most || most == 0) return {{0, calls}};
  const std::size_t length = std::min(most, std::max<std::size_t>(least, 1));
  const std::size_t count = most / length;
  if (count <= 1) return {{0, most}};
  std::vector<Stretch> all;
  for (std::size_t i = 0; i < count; ++i) {
    // The first begins with the first call, the last one ends with the last.
    all.push_back({(calls - length) * i / (count - 1), length});
  }
  return all;
}

}  // namespace what_if
}  // namespace papcoll::inline PAPCOLL_ABI
