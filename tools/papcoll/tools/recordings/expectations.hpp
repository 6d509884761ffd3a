// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// `papcoll report --expect RULE`: what a run must be like.

#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/report/call_text.hpp>
#include <papcoll/report/one_way.hpp>
#include <papcoll/report/report.hpp>
#include <papcoll/report/run.hpp>
#include <papcoll/report/words.hpp>
#include <papcoll/tools/options/written.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// What a rule is about, as a run has it.
struct Met {
  std::optional<double> value;  ///< nanoseconds, or a part of the time; empty: not known
  std::string where{};          ///< "rank 2 at solver.c:88", or why the value is not known
  double unsure = 0;            ///< what clocks leave open: by how much it may be too little
};

namespace expect {

using papcoll::detail::similar_names;
using report::Report;

inline constexpr const char* no_calls = "there is no call with records of all its ranks";

inline Met late(const Report& r) {
  if (r.all.calls == 0) return {{}, no_calls};
  // Of calls whose ranks have one clock it is known, which says nothing of others.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<double>> bounds;
  for (std::size_t i = 0; i < r.calls.calls.size(); ++i) {
    const report::Call& c = r.calls.calls[i];
    if (!r.imbalances[i].known) continue;
    bounds[{c.place, c.communicator}].push_back(2 * r.imbalances[i].bound);
  }
  Met met{0.0, "nobody is late"};
  for (auto& [where, of_calls] : bounds) {
    met.unsure = std::max(met.unsure, report::percentile(of_calls, 0.5));
  }
  for (const report::Straggler& s : r.lateness.stragglers) {
    if (s.typical <= *met.value) continue;
    met.value = s.typical;
    met.unsure = std::max(met.unsure, 2 * r.imbalances[s.example].bound);
    met.where =
        "rank " + std::to_string(s.at.rank) + " at " + report::place_text(r.run, s.at.own_place);
  }
  for (const report::LateGroup& g : r.late_groups) {
    if (g.typical <= *met.value) continue;
    met.value = g.typical;
    met.unsure = std::max(met.unsure, 2 * r.imbalances[g.example].bound);
    met.where = report::detail::ranks_text(g.ranks) + " at " + report::place_text(r.run, g.place);
  }
  return met;
}

inline Met part(const Report& r, double part, double unsure) {
  if (!(r.rank_seconds > 0)) return {{}, "no time was recorded"};
  return {part, "most at " + report::place_text(r.run, r.time_use.top.place), unsure};
}

inline Met waiting(const Report& r) {
  if (r.all.calls == 0) return {{}, no_calls};
  return part(r, r.time_use.waiting, r.time_use.unsure);
}

template <double report::Distribution::*of> Met omega(const Report& r) {
  if (r.all.calls == 0) return {{}, no_calls};
  std::vector<double> most;
  for (const report::Imbalance& i : r.imbalances) {
    if (i.known) most.push_back(i.omega_most);
  }
  Met met{r.all.omega.*of, {}, report::distribution_of(most).*of - r.all.omega.*of};
  const report::SummaryRow* worst = nullptr;
  for (const report::SummaryRow& row : r.by_place) {
    if (worst == nullptr || row.summary.omega.*of > worst->summary.omega.*of) worst = &row;
  }
  if (worst != nullptr) met.where = "most at " + report::place_text(r.run, worst->place);
  return met;
}

/// A figure that rules name.
struct Figure {
  std::string_view name;
  bool is_time;
  Met (*of)(const Report&);
};

inline constexpr std::array<Figure, 8> figures{
    {{"late", true, late},
     {"collectives", false,
      [](const Report& r) { return part(r, r.time_use.collectives, r.time_use.moved); }},
     {"waiting", false, waiting},
     {"omega.mean", true, omega<&report::Distribution::mean>},
     {"omega.p50", true, omega<&report::Distribution::median>},
     {"omega.p90", true, omega<&report::Distribution::p90>},
     {"omega.p99", true, omega<&report::Distribution::p99>},
     {"omega.worst", true, omega<&report::Distribution::worst>}}};

}  // namespace expect

/// A rule such as "late<10ms" or "collectives<50%": a figure is less than a value.
class Expectation {
 public:
  /// Throws argument_error with what was wrong.
  explicit Expectation(const std::string& rule) : rule_(rule) {
    std::string plain = rule;
    std::erase(plain, ' ');
    const std::size_t end = std::min(plain.find_first_of("<>="), plain.size());
    std::string name = plain.substr(0, end);
    for (char& c : name) c = papcoll::detail::lower(c);
    std::vector<std::string_view> names;
    for (const expect::Figure& f : expect::figures) {
      names.push_back(f.name);
      if (f.name == name) figure_ = &f;
    }
    if (figure_ == nullptr) {
      refuse("there is no figure '" + name + "': " + expect::similar_names(name, names));
    }
    const std::string value = plain.substr(end);
    most_ = value.starts_with('<') ? value_of(value.substr(1)) : -1;
    if (most_ < 0) {
      refuse((figure_->is_time ? "write < and a time in ns, us, µs, ms or s, as " + name + "<10ms"
                               : "write < and a part in %, as " + name + "<50%") +
             (rule.find(',') == rule.npos ? "" : ", and --expect before each rule"));
    }
  }

  /// Returns what to print if the run does not meet it; else empty.
  std::string broken_by(const report::Report& r) const {
    const Met met = figure_->of(r);
    if (!met.value) return "Expected " + rule_ + ": that is not known, as " + met.where + ".";
    if (*met.value + met.unsure < most_) return {};
    const auto text = figure_->is_time ? report::time_text : report::percent_text;
    return "Expected " + rule_ + ": it is " + text(*met.value) +
           (met.unsure > 0 ? ", or up to " + text(met.unsure) + " more by clocks" : "") +
           (met.where.empty() ? "." : ", " + met.where + ".");
  }

 private:
  /// Nanoseconds, or a part of the time; −1 for what is neither.
  double value_of(std::string_view text) const {
    const Quantity written = quantity(text);
    if (written.number < 0 || written.unit.empty()) return -1;
    if (!figure_->is_time) return written.unit == "%" ? written.number / 100 : -1;
    try {
      return parse_duration(text) * 1e9;
    } catch (const std::invalid_argument&) {
      return -1;
    }
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw argument_error("papcoll: --expect " + rule_ + ": " + why);
  }

  std::string rule_;
  const expect::Figure* figure_ = nullptr;
  double most_ = 0;
};

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
