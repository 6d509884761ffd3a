// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The arrivals of the calls at a place.

#include <papcoll/base/error.hpp>
#include <papcoll/report/call_text.hpp>
#include <papcoll/report/one_way.hpp>
#include <papcoll/report/report.hpp>
#include <papcoll/report/run.hpp>
#include <papcoll/tools/files/output_file.hpp>
#include <papcoll/tools/recordings/report_files.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// The place that a text names: a part of what the report calls it. Throws argument_error.
inline std::uint32_t place_named(const report::Report& r, const std::string& text,
                                 const std::string& option = "--export-arrivals") {
  std::vector<std::uint32_t> found;
  for (std::uint32_t p = 0; p < r.run.places.size(); ++p) {
    if (report::short_text(r.run.places[p]) == text || report::text_of(r.run.places[p]) == text) {
      return p;
    }
    if (report::text_of(r.run.places[p]).find(text) != std::string::npos) found.push_back(p);
  }
  if (found.size() == 1) return found.front();
  std::string names;
  for (std::uint32_t p = 0; p < r.run.places.size(); ++p) {
    if (!found.empty() && std::find(found.begin(), found.end(), p) == found.end()) continue;
    names += (names.empty() ? "" : ", ") + report::text_of(r.run.places[p]);
  }
  throw argument_error("papcoll: " + option + ": " +
                       (found.empty() ? "there is no place '" + text + "': there are "
                                      : "'" + text + "' names several places: ") +
                       names);
}

/// The arrivals at a place, a line a call, as papcoll-bench reads them; how many calls. Of calls on
/// several communicators those on the one with most.
inline std::size_t write_arrivals(const report::Report& r, std::uint32_t place,
                                  const std::string& name) {
  std::map<std::uint32_t, std::size_t> on;
  for (const report::Call& c : r.calls.calls) {
    if (c.place == place && c.complete) ++on[c.communicator];
  }
  if (on.empty()) {
    throw argument_error("papcoll: --export-arrivals: at " + report::place_text(r.run, place) +
                         " there is no call of which the records of all ranks are there");
  }
  const auto [communicator, calls] = *std::max_element(
      on.begin(), on.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto& members = r.run.communicators[communicator].members;
  std::vector<double> bounds;
  for (std::size_t i = 0; i < r.calls.calls.size(); ++i) {
    if (r.calls.calls[i].place == place && r.imbalances[i].known) {
      bounds.push_back(r.imbalances[i].bound);
    }
  }
  const double bound = report::percentile(bounds, 0.5);
  OutputFile out{name};
  out.write(
      "# Arrivals of " + std::to_string(members.size()) + " ranks in " + std::to_string(calls) +
      " calls at " + report::place_text(r.run, place) + " on " +
      r.run.communicators[communicator].name + ":\n# a line a call, a column a rank, seconds" +
      (bound > 0 ? ", by clocks that are compared up to " + report::time_text(bound) : "") + "\n");
  for (const report::Call& c : r.calls.calls) {
    if (c.place != place || !c.complete || c.communicator != communicator) continue;
    std::string line;
    for (std::size_t m = 0; m < members.size(); ++m) {
      const std::uint64_t arrival = r.calls.record(r.run, c, m).arrival;
      const std::int64_t at = r.clocks.global(members[m].trace, arrival);
      line += (m == 0 ? "" : " ") + seconds_text(static_cast<double>(at - c.begin));
    }
    out.write(line + "\n");
  }
  out.close();
  return calls;
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
