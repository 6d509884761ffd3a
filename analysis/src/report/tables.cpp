// SPDX-License-Identifier: BSD-3-Clause
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

using Columns = std::vector<Column>;
using Row = std::vector<Cell>;

/// A list behind another one.
template <class T> std::vector<T> operator+(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// A row for each of several entries.
template <class Entry, class RowOf>
Table table(std::string key, std::string title, Columns columns, const std::vector<Entry>& entries,
            const RowOf& row_of) {
  Table t{std::move(key), std::move(title), std::move(columns), {}};
  for (const Entry& e : entries) t.rows.push_back(row_of(e));
  return t;
}

/// Columns of a summary, after those that name what it is of. Node-wide columns are for readers if
/// there are several nodes, factors if α was measured.
Columns summary_columns(const Report& r) {
  Columns all;
  const bool nodes = r.run.ranks.front().header.node != r.run.ranks.back().header.node;
  const auto add = [&all](std::string key, std::string heading) {
    all.push_back({std::move(key), std::move(heading), true});
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
  return all;
}

Row cells_of(const Summary& s) {
  Row row{count(s.calls), count(s.balanced), nanoseconds(s.own)};
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
  return row;
}

/// Returns the name of a range of sizes; "–" for a barrier, which has none.
std::string range_name(const Report& r, profile::MpiCollective c, std::size_t range) {
  return c == profile::MpiCollective::barrier ? "–" : r.ranges[range].name;
}

const Columns total_columns{{"calls", "calls", true},
                            {"time", "", true},
                            {"time_per_rank", "time a rank", true},
                            {"part_of_run", "of the run", true},
                            {"mean_bytes", "mean size", true},
                            {"longest", "longest", true}};

Row cells_of(const Report& r, const TotalRow& t) {
  return {count(t.calls),
          seconds(t.time),
          seconds(t.time / static_cast<double>(r.run.ranks.size())),
          r.rank_seconds > 0 ? part(t.time / r.rank_seconds) : none(),
          {papcoll::detail::bytes_text(static_cast<std::size_t>(t.bytes_each())),
           t.bytes / static_cast<double>(t.calls)},
          seconds(t.longest)};
}

const Columns lateness_columns{{"calls", "calls", true},
                               {"lasts", "last", true},
                               {"share", "of calls", true},
                               {"by_chance", "by chance", true},
                               {"own_lasts", "", true},
                               {"gap_median", "late by", true},
                               {"gap_worst", "worst", true},
                               {"others_median", "", true},
                               {"waited_for_last_alone", "made wait", true},
                               {"waited", "waited for", true}};

Row cells_of(const Lateness& l) {
  const auto time = [&l](double ns) { return l.lasts == 0 ? none() : nanoseconds(ns); };
  return {count(l.calls),     count(l.lasts),
          part(l.share()),    part(l.by_chance / static_cast<double>(l.calls)),
          count(l.own_lasts), time(l.gap),
          time(l.worst),      time(l.others),
          time(l.own),        time(l.waited)};
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
  using namespace detail;
  const Column collective{"collective", "collective", false};
  const Column size{"size", "size", false};
  const Column place{"place", "place", false};
  const Column rank{"rank", "rank", true};
  const Columns summary = summary_columns(r);
  const auto call = [](const auto& x) { return words(name_of(x.collective, x.flags)); };
  const auto at = [&r](const auto& x) { return words(place_text(r.run, x.place)); };
  const auto range = [&r](const auto& x) { return words(range_name(r, x.collective, x.range)); };
  std::vector<Table> all{
      table("late_at", "Where ranks come last, the dearest first",
            Columns{rank, place} + lateness_columns + Columns{{"over_time", "over time", false}},
            r.lateness.at_places,
            [&](const Lateness& l) {
              return Row{count(static_cast<std::uint64_t>(l.rank)),
                         words(place_text(r.run, l.own_place))} +
                     cells_of(l) + Row{words(bars(l.lasts_of_part, l.calls_of_part))};
            }),
      table("ranks", "Ranks: how often last, and what the others waited",
            Columns{rank, {"host", "host", false}} + lateness_columns, r.lateness.ranks,
            [&](const Lateness& l) {
              const auto trace = std::lower_bound(
                  r.run.ranks.begin(), r.run.ranks.end(), l.rank,
                  [](const RankTrace& of, std::int32_t wanted) { return of.rank() < wanted; });
              return Row{count(static_cast<std::uint64_t>(l.rank)),
                         words(text_in(trace->header.host))} +
                     cells_of(l);
            }),
      table("totals", "Calls and time of the whole run, all ranks",
            Columns{collective, size} + total_columns, r.totals,
            [&](const TotalRow& x) {
              return Row{call(x), range(x)} + cells_of(r, x);
            }),
      table("totals_by_place", "The same by place", Columns{place, collective} + total_columns,
            r.totals_by_place,
            [&](const TotalRow& x) {
              return Row{at(x), call(x)} + cells_of(r, x);
            }),
      table("imbalance", "Imbalance by collective and size", Columns{collective, size} + summary,
            r.by_collective,
            [&](const SummaryRow& x) {
              return Row{call(x), range(x)} + cells_of(x.summary);
            }),
      table("places", "Imbalance by place", Columns{place, collective} + summary, r.by_place,
            [&](const SummaryRow& x) {
              return Row{at(x), call(x)} + cells_of(x.summary);
            }),
      table("communicators", "Imbalance by communicator",
            Columns{{"communicator", "communicator", false}, {"ranks", "ranks", true}} + summary,
            r.by_communicator,
            [&](const SummaryRow& x) {
              const Communicator& c = r.run.communicators[x.communicator];
              return Row{words(c.name), count(static_cast<std::uint64_t>(c.size))} +
                     cells_of(x.summary);
            }),
      phases_table(r)};
  constexpr std::size_t imbalance = 4;
  if (r.by_collective.size() > 1) {
    all[imbalance].rows.push_back(Row{words("all"), words("")} + cells_of(r.all));
  }
  std::erase_if(all, [](const Table& t) { return t.rows.empty(); });
  return all;
}

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
