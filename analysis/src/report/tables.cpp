#include <papcoll/report/tables.hpp>

#include <papcoll/report/call_text.hpp>
#include <papcoll/report/report.hpp>
#include <papcoll/report/run.hpp>
#include <papcoll/report/words.hpp>
#include <papcoll/simulate/quantity_text.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {
namespace {

Cell words(std::string text) { return {std::move(text), {}}; }

Cell count(std::uint64_t n) { return {std::to_string(n), static_cast<double>(n)}; }

Cell seconds(double s) { return {papcoll::detail::duration_text(s), s}; }

Cell nanoseconds(double ns) {
  constexpr double nanosecond = 1e-9;
  return seconds(ns * nanosecond);
}

Cell part(double p) { return {percent_text(p), p}; }

Cell factor(double f) {
  constexpr double large = 100;
  return {papcoll::detail::decimal(f, f < 1 ? 2 : f < large ? 1 : 0), f};
}

Cell none() { return {"–", {}}; }

/// Eight bars, one for each part of the time, by the share of calls in which a rank was last.
std::string bars(const std::array<std::uint64_t, time_parts>& lasts,
                 const std::array<std::uint64_t, time_parts>& calls) {
  constexpr std::array<std::string_view, 9> levels{"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  for (std::size_t i = 0; i < time_parts; ++i) {
    const double share =
        calls.at(i) == 0 ? 0 : static_cast<double>(lasts.at(i)) / static_cast<double>(calls.at(i));
    const auto level = static_cast<std::size_t>(std::lround(share * 8));
    text +=
        levels.at(lasts.at(i) == 0 ? 0 : std::min<std::size_t>(8, std::max<std::size_t>(1, level)));
  }
  return text;
}

/// Columns of a summary, after those that name what it is of. Node-wide columns are for readers if
/// there are several nodes, factors if α was measured.
void add_summary_columns(Table& t, const Report& r) {
  const bool nodes = r.run.ranks.front().header.node != r.run.ranks.back().header.node;
  const auto add = [&t](std::string key, std::string heading) {
    t.columns.push_back({std::move(key), std::move(heading), true});
  };
  const auto only = [](bool shown, std::string heading) {
    return shown ? std::move(heading) : std::string{};
  };
  add("calls", "calls");
  add("balanced", "");
  add("waited_for_last_alone", "waited");
  const std::array<std::pair<std::string, std::string>, 8> groups{
      {{"omega", "Ω"},
       {"delta", "Δ̄"},
       {"omega_factor", only(r.has_alpha, "Ω/α")},
       {"delta_factor", only(r.has_alpha, "Δ̄/α")},
       {"node_omega", only(nodes, "Ω in node")},
       {"node_delta", ""},
       {"node_omega_factor", ""},
       {"node_delta_factor", ""}}};
  for (const auto& [key, heading] : groups) {
    const bool first = key == "omega";
    const auto titled = [&h = heading](bool shown, const std::string& what) {
      return shown && !h.empty() ? h + what : std::string{};
    };
    add(key + "_mean", titled(true, " mean"));
    add(key + "_p50", titled(first, " median"));
    add(key + "_p90", titled(first, " 90 %"));
    add(key + "_p99", titled(first, " 99 %"));
    add(key + "_worst", titled(first || key == "omega_factor", " worst"));
  }
}

void add_summary(std::vector<Cell>& row, const Summary& s) {
  row.push_back(count(s.calls));
  row.push_back(count(s.balanced));
  row.push_back(nanoseconds(s.own));
  const auto add = [&row](const Distribution& d, auto cell) {
    for (const double v : {d.mean, d.median, d.p90, d.p99, d.worst}) {
      row.push_back(d.count == 0 ? none() : cell(v));
    }
  };
  add(s.omega, nanoseconds);
  add(s.delta, nanoseconds);
  add(s.omega_factor, factor);
  add(s.delta_factor, factor);
  add(s.node_omega, nanoseconds);
  add(s.node_delta, nanoseconds);
  add(s.node_omega_factor, factor);
  add(s.node_delta_factor, factor);
}

/// Whether there are calls of several sizes, so that ranges say something.
std::string range_name(const Report& r, profile::MpiCollective c, std::size_t range) {
  return c == profile::MpiCollective::barrier ? "–" : r.ranges[range].name;
}

void add_total(std::vector<Cell>& row, const Report& r, const TotalRow& t) {
  row.push_back(count(t.calls));
  row.push_back(seconds(t.time));
  row.push_back(seconds(t.time / static_cast<double>(r.run.ranks.size())));
  row.push_back(r.rank_seconds > 0 ? part(t.time / r.rank_seconds) : none());
  row.push_back({papcoll::detail::bytes_text(static_cast<std::size_t>(t.bytes_each())),
                 t.bytes / static_cast<double>(t.calls)});
  row.push_back(seconds(t.longest));
}

const std::vector<Column>& total_columns() {
  static const std::vector<Column> columns{{"calls", "calls", true},
                                           {"time", "", true},
                                           {"time_per_rank", "time a rank", true},
                                           {"part_of_run", "of the run", true},
                                           {"mean_bytes", "mean size", true},
                                           {"longest", "longest", true}};
  return columns;
}

Table totals_table(const Report& r) {
  Table t{"totals",
          "Calls and time of the whole run, all ranks",
          {{"collective", "collective", false}, {"size", "size", false}},
          {}};
  t.columns.insert(t.columns.end(), total_columns().begin(), total_columns().end());
  for (const TotalRow& x : r.totals) {
    std::vector<Cell> row{words(name_of(x.collective, x.flags)),
                          words(range_name(r, x.collective, x.range))};
    add_total(row, r, x);
    t.rows.push_back(std::move(row));
  }
  return t;
}

Table totals_by_place_table(const Report& r) {
  Table t{"totals_by_place",
          "The same by place",
          {{"place", "place", false}, {"collective", "collective", false}},
          {}};
  t.columns.insert(t.columns.end(), total_columns().begin(), total_columns().end());
  for (const TotalRow& x : r.totals_by_place) {
    std::vector<Cell> row{words(place_text(r.run, x.place)), words(name_of(x.collective, x.flags))};
    add_total(row, r, x);
    t.rows.push_back(std::move(row));
  }
  return t;
}

Table imbalance_table(const Report& r) {
  Table t{"imbalance",
          "Imbalance by collective and size",
          {{"collective", "collective", false}, {"size", "size", false}},
          {}};
  add_summary_columns(t, r);
  for (const SummaryRow& x : r.by_collective) {
    std::vector<Cell> row{words(name_of(x.collective, x.flags)),
                          words(range_name(r, x.collective, x.range))};
    add_summary(row, x.summary);
    t.rows.push_back(std::move(row));
  }
  if (r.by_collective.size() > 1) {
    std::vector<Cell> row{words("all"), words("")};
    add_summary(row, r.all);
    t.rows.push_back(std::move(row));
  }
  return t;
}

Table places_table(const Report& r) {
  Table t{"places",
          "Imbalance by place",
          {{"place", "place", false}, {"collective", "collective", false}},
          {}};
  add_summary_columns(t, r);
  for (const SummaryRow& x : r.by_place) {
    std::vector<Cell> row{words(place_text(r.run, x.place)), words(name_of(x.collective, x.flags))};
    add_summary(row, x.summary);
    t.rows.push_back(std::move(row));
  }
  return t;
}

Table communicators_table(const Report& r) {
  Table t{"communicators",
          "Imbalance by communicator",
          {{"communicator", "communicator", false}, {"ranks", "ranks", true}},
          {}};
  add_summary_columns(t, r);
  for (const SummaryRow& x : r.by_communicator) {
    const Communicator& c = r.run.communicators[x.communicator];
    std::vector<Cell> row{words(c.name), count(static_cast<std::uint64_t>(c.size))};
    add_summary(row, x.summary);
    t.rows.push_back(std::move(row));
  }
  return t;
}

void add_lateness_columns(Table& t) {
  for (const Column& c : std::vector<Column>{{"calls", "calls", true},
                                             {"lasts", "last", true},
                                             {"share", "of calls", true},
                                             {"by_chance", "by chance", true},
                                             {"own_lasts", "", true},
                                             {"gap_median", "late by", true},
                                             {"gap_worst", "worst", true},
                                             {"others_median", "", true},
                                             {"waited_for_last_alone", "made wait", true},
                                             {"waited", "waited for", true}}) {
    t.columns.push_back(c);
  }
}

void add_lateness(std::vector<Cell>& row, const Lateness& l) {
  row.push_back(count(l.calls));
  row.push_back(count(l.lasts));
  row.push_back(part(l.share()));
  row.push_back(part(l.by_chance / static_cast<double>(l.calls)));
  row.push_back(count(l.own_lasts));
  row.push_back(l.lasts == 0 ? none() : nanoseconds(l.gap));
  row.push_back(l.lasts == 0 ? none() : nanoseconds(l.worst));
  row.push_back(l.lasts == 0 ? none() : nanoseconds(l.others));
  row.push_back(l.lasts == 0 ? none() : nanoseconds(l.own));
  row.push_back(l.lasts == 0 ? none() : nanoseconds(l.waited));
}

Table ranks_table(const Report& r) {
  Table t{"ranks",
          "Ranks: how often last, and what the others waited",
          {{"rank", "rank", true}, {"host", "host", false}},
          {}};
  add_lateness_columns(t);
  for (const Lateness& l : r.lateness.ranks) {
    const auto trace =
        std::lower_bound(r.run.ranks.begin(), r.run.ranks.end(), l.rank,
                         [](const RankTrace& of, std::int32_t rank) { return of.rank() < rank; });
    std::vector<Cell> row{count(static_cast<std::uint64_t>(l.rank)),
                          words(text_in(trace->header.host))};
    add_lateness(row, l);
    t.rows.push_back(std::move(row));
  }
  return t;
}

Table late_at_table(const Report& r) {
  Table t{"late_at",
          "Where ranks come last, the dearest first",
          {{"rank", "rank", true}, {"place", "place", false}},
          {}};
  add_lateness_columns(t);
  t.columns.push_back({"over_time", "over time", false});
  for (const Lateness& l : r.lateness.at_places) {
    std::vector<Cell> row{count(static_cast<std::uint64_t>(l.rank)),
                          words(place_text(r.run, l.own_place))};
    add_lateness(row, l);
    row.push_back(words(bars(l.lasts_of_part, l.calls_of_part)));
    t.rows.push_back(std::move(row));
  }
  return t;
}

Table phases_table(const Report& r) {
  Table t{"phases",
          "Phases: calls between which imbalance jumps",
          {{"place", "place", false},
           {"first", "first", true},
           {"calls", "calls", true},
           {"begin", "from", true},
           {"end", "to", true},
           {"omega_p50", "Ω median", true},
           {"omega_factor_p50", r.has_alpha ? "Ω/α median" : "", true}},
          {}};
  for (const PhasesOfPlace& of : r.phases) {
    for (const Phase& p : of.phases) {
      const std::int64_t zero = r.calls.calls.front().begin;
      const auto at = [&](std::uint32_t call) {
        return nanoseconds(static_cast<double>(r.calls.calls[call].begin - zero));
      };
      t.rows.push_back({words(place_text(r.run, of.place)), count(p.first), count(p.calls),
                        at(p.begin), at(p.last), nanoseconds(p.omega),
                        p.factor > 0 ? factor(p.factor) : none()});
    }
  }
  return t;
}
}  // namespace
}  // namespace detail

std::vector<Table> tables_of(const Report& r) {
  std::vector<Table> all{detail::late_at_table(r),       detail::ranks_table(r),
                         detail::totals_table(r),        detail::totals_by_place_table(r),
                         detail::imbalance_table(r),     detail::places_table(r),
                         detail::communicators_table(r), detail::phases_table(r)};
  std::erase_if(all, [](const Table& t) { return t.rows.empty(); });
  return all;
}

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
