// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What `papcoll what-if` answers, for programs and for people.

#include <papcoll/base/collective.hpp>
#include <papcoll/simulate/quantity_text.hpp>
#include <papcoll/simulate/simulated_text.hpp>
#include <papcoll/tools/common.hpp>
#include <papcoll/what_if/answer.hpp>
#include <papcoll/what_if/recorded.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// An answer as `papcoll what-if --json` writes it. Times are seconds.
inline Json what_if_json(const what_if::Recorded& recorded, const what_if::Answer& answer) {
  const Shape& shape = recorded.shape;
  Json outcomes = Json::array();
  for (const what_if::Outcome& o : answer.outcomes) {
    Json one{{"algorithm", o.name}, {"tail", o.tail}, {"in_call", o.in_call}};
    if (answer.knows_durations) one["saved"] = o.saved;
    if (o.error > 0) one["error"] = o.error;
    if (o.unsure) one["unsure"] = *o.unsure;
    one["as_good_as_best"] = answer.is_as_good_as_best(o);
    outcomes.push_back(std::move(one));
  }
  Json all{{"collective", name_of(shape.collective)},
           {"ranks", shape.size},
           {"bytes", has_data(shape.collective) ? shape.count * shape.element_size : 0},
           {"method", answer.replayed ? "replayed" : "simulated"},
           {"calls", answer.calls},
           {"looked_at", answer.looked_at}};
  if (answer.knows_durations) {
    all["recorded"] = Json{{"in_call", answer.recorded_in_call}, {"tail", answer.recorded_tail}};
  }
  all["best"] = answer.best().name;
  all["outcomes"] = std::move(outcomes);
  all["remarks"] = answer.remarks;
  return all;
}

/// The same for people: the best ones, and what would have been saved.
inline std::string what_if_text(const what_if::Recorded& recorded, const what_if::Answer& answer,
                                std::size_t most = 12) {
  const std::string call = detail::call_text("", recorded.shape);
  std::string text = call.substr(1) + ", " + std::to_string(answer.calls) + " calls, " +
                     (answer.replayed ? "replayed on this machine\n" : "simulated\n");
  if (answer.knows_durations) {
    text += "recorded: " + detail::duration_text(answer.recorded_in_call) +
            " in the call, a rank in the mean, with a tail of " +
            detail::duration_text(answer.recorded_tail) + "\n";
  }
  std::size_t names = 9;
  for (const what_if::Outcome& o : answer.outcomes) names = std::max(names, o.name.size());
  text += "  " + padded("algorithm", names, false) + padded("in call", 12, true) +
          padded("tail", 12, true) + padded("error", 8, true) +
          (answer.knows_durations ? padded("saved", 24, true) : "") + "\n";
  std::size_t shown = 0;
  for (const what_if::Outcome& o : answer.outcomes) {
    if (shown++ == most) {
      text += "  … " + std::to_string(answer.outcomes.size() - most) + " more (--all shows them)\n";
      break;
    }
    const std::string error =
        o.error > 0 ? "±" + detail::decimal(100 * o.error, 0) + " %" : std::string("unknown");
    text += "  " + padded(o.name, names, false) +
            padded(detail::duration_text(o.in_call), 12, true) +
            padded(detail::duration_text(o.tail), 12, true) + padded(error, 8, true);
    if (answer.knows_durations) {
      const std::string saved =
          (o.saved < 0 ? "-" : "") + detail::duration_text(o.saved < 0 ? -o.saved : o.saved);
      text += padded(saved + (o.unsure ? " ±" + detail::duration_text(*o.unsure) : ""), 24, true);
    }
    text += "\n";
  }
  std::string others;
  for (const what_if::Outcome& o : answer.outcomes) {
    if (o.name == answer.best().name || !answer.is_as_good_as_best(o)) continue;
    others.append(others.empty() ? "" : ", ").append(o.name);
  }
  text += answer.best().name + " would have taken least";
  if (answer.knows_durations && answer.best().saved > 0 && answer.recorded_in_call > 0) {
    const auto percent = [&](double time) {
      return detail::decimal(100 * time / answer.recorded_in_call, 0) + " %";
    };
    const what_if::Outcome& best = answer.best();
    text += ", and saved " + percent(best.saved) + " of a rank's time in the call";
    if (best.unsure) {
      text += " (" + percent(best.saved - *best.unsure) + " to " +
              percent(best.saved + *best.unsure) + ")";
    }
  }
  text += others.empty() ? "\n" : "; as far as this can tell, so would " + others + "\n";
  for (const std::string& remark : answer.remarks) text += remark + "\n";
  return text;
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
