#pragma once

// `papcoll report --expect RULE`: what a run must be like.

#include <papcoll/base/floating.hpp>
#include <papcoll/base/near_names.hpp>
#include <papcoll/error.hpp>
#include <papcoll/report/report.hpp>
#include <papcoll/report/words.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace tool {

/// What a rule is about, as a run has it.
struct Met {
  std::optional<double> value;  ///< nanoseconds, or a part of the time; empty: not known
  std::string where{};          ///< "rank 2 at solver.c:88", or why the value is not known
  double unsure = 0;            ///< what clocks leave open: by how much it may be too little
};

namespace expect {

using papcoll::detail::near_names;
using report::Report;

inline constexpr const char* no_calls = "there is no call with records of all its ranks";

inline Met late(const Report& r) {
  if (r.all.calls == 0) return {{}, no_calls};
  std::vector<double> bounds;
  for (const report::Imbalance& i : r.imbalances) {
    if (i.known) bounds.push_back(2 * i.bound);
  }
  Met met{0.0, "nobody is late", report::percentile(bounds, 0.5)};
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

template <double report::Distribution::*of>
Met omega(const Report& r) {
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
    const std::size_t less = rule.find('<');
    const std::string_view name = std::string_view{rule}.substr(0, less);
    std::vector<std::string_view> names;
    for (const expect::Figure& f : expect::figures) {
      names.push_back(f.name);
      if (f.name == name) figure_ = &f;
    }
    if (figure_ == nullptr) {
      refuse("there is no figure '" + std::string(name) + "': " + expect::near_names(name, names));
    }
    const char* const end = rule.data() + rule.size();
    const char* const begin = less == std::string::npos ? end : rule.data() + less + 1;
    const auto [unit, error] = papcoll::detail::from_chars(begin, end, most_);
    const double each = factor({unit, static_cast<std::size_t>(end - unit)});
    if (error != std::errc{} || !(most_ >= 0) || !(each > 0)) {
      refuse(figure_->is_time
                 ? "write < and a time in ns, us, ms or s, as " + std::string(name) + "<10ms"
                 : "write < and a part in %, as " + std::string(name) + "<50%");
    }
    most_ *= each;
  }

  /// What is to be told if the run is not so; else empty.
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
  double factor(std::string_view unit) const {
    using Unit = std::pair<std::string_view, double>;
    for (const auto& [name, each] :
         {Unit{"ns", 1}, Unit{"us", 1e3}, Unit{"ms", 1e6}, Unit{"s", 1e9}, Unit{"%", 1e-2}}) {
      if (unit == name && figure_->is_time == (unit != "%")) return each;
    }
    return 0;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw argument_error("papcoll: --expect " + rule_ + ": " + why);
  }

  std::string rule_;
  const expect::Figure* figure_ = nullptr;
  double most_ = 0;
};

}  // namespace tool
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
