// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A report for other programs: JSON, CSV and Chrome's trace events.

#include <papcoll/base/error.hpp>
#include <papcoll/draw/svg.hpp>
#include <papcoll/report/report.hpp>
#include <papcoll/report/run.hpp>
#include <papcoll/report/tables.hpp>
#include <papcoll/report/words.hpp>
#include <papcoll/tools/common.hpp>
#include <papcoll/tools/files/output_file.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// A text as JSON has it; bytes that are no UTF-8 are replaced.
inline std::string json_text(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A number in as few digits as keep it to a nanosecond in a day.
inline std::string number_text(double x) {
  std::array<char, 40> text{};
  static_cast<void>(std::snprintf(text.data(), text.size(), "%.15g", x));
  for (char& c : text) c = c == ',' ? '.' : c;
  return text.data();
}

/// Nanoseconds as seconds.
inline std::string seconds_text(double nanoseconds) {
  constexpr double nanosecond = 1e-9;
  return number_text(nanoseconds * nanosecond);
}

/// The columns of the table of all calls.
inline constexpr std::array<std::string_view, 21> call_columns{
    "call",         "begin",      "end",
    "collective",   "bytes",      "range",
    "root",         "place",      "communicator",
    "number",       "ranks",      "present",
    "omega",        "delta",      "omega_factor",
    "delta_factor", "node_omega", "node_delta",
    "last_rank",    "late_by",    "waited_for_last_alone"};

/// Their cells, as JSON has them.
inline std::vector<std::string> call_row(const report::Report& r, std::size_t index) {
  const report::Call& c = r.calls.calls[index];
  const report::Imbalance& i = r.imbalances[index];
  const report::Communicator& on = r.run.communicators[c.communicator];
  const std::int64_t zero = r.calls.calls.front().begin;
  const std::string null = "null";
  const auto factor = [&](double time) {
    return i.known && i.alpha > 0 ? number_text(time / i.alpha) : null;
  };
  std::int32_t root = -1;
  for (const report::Calls::Entry& e : r.calls.of(c)) {
    if (root < 0) root = report::Calls::record(r.run, c, e).root;
  }
  const auto last =
      i.decided ? std::to_string(report::world_rank(r.run, on.members[i.last])) : null;
  return {std::to_string(index),
          seconds_text(static_cast<double>(c.begin - zero)),
          c.end == 0 ? null : seconds_text(static_cast<double>(c.end - zero)),
          json_text(report::name_of(c.collective, c.flags)),
          std::to_string(c.bytes),
          json_text(r.ranges[range_of(r.ranges, c.bytes)].name),
          root < 0 ? null : std::to_string(root),
          json_text(report::place_text(r.run, c.place)),
          json_text(on.name),
          std::to_string(c.number),
          std::to_string(on.size),
          std::to_string(c.present),
          i.known ? seconds_text(i.omega) : null,
          i.known ? seconds_text(i.delta) : null,
          factor(i.omega),
          factor(i.delta),
          i.node_omega >= 0 ? seconds_text(i.node_omega) : null,
          i.node_delta >= 0 ? seconds_text(i.node_delta) : null,
          last,
          i.decided ? seconds_text(i.gap) : null,
          i.decided ? seconds_text(i.own) : null};
}

/// A call and where it was made.
inline Json call_json(const report::Report& r, const report::CallOf& c) {
  Json all{{"collective", report::name_of(c.collective, c.flags)},
           {"bytes", c.bytes},
           {"place", report::place_text(r.run, c.place)},
           {"number", c.number}};
  if (c.root >= 0) all["root"] = c.root;
  if (c.communicator < r.run.communicators.size()) {
    all["communicator"] = r.run.communicators[c.communicator].name;
  }
  return all;
}

/// A call in which ranks are, and who has not come.
inline Json unfinished_json(const report::Report& r, const report::Unfinished& u) {
  static constexpr std::array<std::string_view, 7> kinds{
      "inside", "outside", "finalizing", "finished", "exited", "aborted", "gone"};
  Json all{{"call", call_json(r, u.call)}, {"inside", u.inside}, {"hopeless", u.hopeless}};
  if (u.since) all["since"] = *u.since;
  all["members_without_trace"] = u.untraced;
  all["missing"] = Json::array();
  for (const report::Whereabouts& w : u.missing) {
    Json one{{"member", w.member},
             {"state", kinds.at(static_cast<std::size_t>(w.kind))},
             {"calls", w.calls},
             {"rank", w.rank}};
    if (w.call) one[w.in_call ? "inside" : "last"] = call_json(r, *w.call);
    if (w.since) one["since"] = *w.since;
    all["missing"].push_back(std::move(one));
  }
  if (u.skipped) {
    all["skipped"] = {{"rank", u.skipped->rank}, {"call", call_json(r, u.skipped->call)}};
  }
  return all;
}

/// Everything as one object: the findings, all tables and all calls. Times are in seconds.
inline void write_json(const report::Report& r, const std::string& name) {
  static constexpr std::array<std::string_view, 8> kinds{
      "fault", "unseen", "crowded", "clock", "straggler", "single_delay", "time", "nothing"};
  OutputFile out{name};
  const auto list = [&out](const std::string& key, const std::vector<std::string>& entries) {
    out.write(",\n\"" + key + "\": [");
    for (std::size_t i = 0; i < entries.size(); ++i) {
      out.write((i == 0 ? "\n  " : ",\n  ") + entries[i]);
    }
    out.write("]");
  };
  const auto texts = [](const std::vector<std::string>& all) {
    std::vector<std::string> quoted;
    for (const std::string& s : all) quoted.push_back(json_text(s));
    return quoted;
  };
  out.write("{\"papcoll_report\": 1,\n\"program\": " + json_text(report::program_of(r.run)) +
            ",\n\"run\": " + json_text(report::run_text(r.run.number)) +
            ",\n\"spawned\": " + (r.run.spawned ? "true" : "false") +
            ",\n\"world_size\": " + std::to_string(r.run.world_size) +
            ",\n\"running\": " + (r.ending.alive ? "true" : "false"));
  std::vector<std::string> entries;
  for (const report::Finding& f : report::findings(r)) {
    entries.push_back("{\"kind\": \"" + std::string(kinds.at(static_cast<std::size_t>(f.kind))) +
                      "\", \"text\": " + json_text(f.text) + "}");
  }
  list("findings", entries);
  out.write(",\n\"time_use\": {\"collectives\": " + number_text(r.time_use.collectives) +
            ", \"waiting\": " + number_text(r.time_use.waiting) +
            ", \"unsure\": " + number_text(r.time_use.unsure) + "}");
  entries.clear();
  for (const report::Straggler& s : r.lateness.stragglers) {
    const report::Call& c = r.calls.calls[s.example];
    entries.push_back(
        "{\"rank\": " + std::to_string(s.at.rank) +
        ", \"place\": " + json_text(report::place_text(r.run, s.at.own_place)) +
        ", \"collective\": " + json_text(report::name_of(c.collective, c.flags)) +
        ", \"always\": " + (s.kind == report::Straggler::Kind::always ? "true" : "false") +
        ", \"calls\": " + std::to_string(s.at.calls) +
        ", \"lasts\": " + std::to_string(s.at.lasts) + ", \"late_by\": " + seconds_text(s.typical) +
        ", \"each_other_rank_waited\": " + seconds_text(s.cost * r.lateness.span) +
        ", \"part_of_time\": " + number_text(s.cost) + "}");
  }
  list("stragglers", entries);
  entries.clear();
  constexpr double nanosecond = 1e-9;
  for (const report::LateGroup& g : r.late_groups) {
    entries.push_back(Json{
        {"ranks", g.ranks},
        {"place", report::place_text(r.run, g.place)},
        {"calls", g.calls},
        {"times", g.times},
        {"late_by", g.typical * nanosecond},
        {"part_of_time",
         g.cost}}.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  list("late_together", entries);
  entries.clear();
  for (const report::Unfinished& u : r.ending.unfinished) {
    entries.push_back(unfinished_json(r, u).dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  list("unfinished", entries);
  list("waiting_now", texts(report::waiting_now(r)));
  list("remarks", texts(report::remarks(r)));
  for (const report::Table& t : report::tables_of(r)) {
    entries.clear();
    for (const auto& row : t.rows) {
      std::string text = "{";
      for (std::size_t c = 0; c < row.size(); ++c) {
        const report::Cell& cell = row[c];
        text += (c == 0 ? "\"" : ", \"") + t.columns[c].key + "\": ";
        text += cell.number        ? number_text(*cell.number)
                : cell.text == "–" ? std::string("null")
                                   : json_text(cell.text);
      }
      entries.push_back(text + "}");
    }
    list(t.key, entries);
  }
  out.write(",\n\"call_columns\": [");
  for (std::size_t c = 0; c < call_columns.size(); ++c) {
    out.write((c == 0 ? "\"" : ", \"") + std::string(call_columns.at(c)) + "\"");
  }
  out.write("],\n\"calls\": [");
  for (std::size_t i = 0; i < r.calls.calls.size(); ++i) {
    std::string text = i == 0 ? "\n  [" : ",\n  [";
    for (const std::string& cell : call_row(r, i)) text += cell + ",";
    text.back() = ']';
    out.write(text);
  }
  out.write("]}\n");
  out.close();
}

/// A cell of a CSV file.
inline std::string csv_text(const std::string& any_text) {
  const std::string text = papcoll::detail::utf8_text(any_text);
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

/// A file for each table, `calls.csv` and `arrivals.csv`. Times are in seconds.
inline void write_csv(const report::Report& r, const std::string& directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed) {
    throw system_error("papcoll: cannot make the directory " + directory + ": " + failed.message(),
                       failed.value());
  }
  const auto line = [](const std::vector<std::string>& cells) {
    std::string text;
    for (const std::string& c : cells) text += c + ",";
    text.back() = '\n';
    return text;
  };
  for (const report::Table& t : report::tables_of(r)) {
    OutputFile out{directory + "/" + t.key + ".csv"};
    std::vector<std::string> cells;
    for (const report::Column& c : t.columns) cells.push_back(c.key);
    out.write(line(cells));
    for (const auto& row : t.rows) {
      cells.clear();
      for (const report::Cell& c : row) {
        cells.push_back(c.number ? number_text(*c.number) : c.text == "–" ? "" : csv_text(c.text));
      }
      out.write(line(cells));
    }
    out.close();
  }
  OutputFile calls{directory + "/calls.csv"};
  calls.write(line({call_columns.begin(), call_columns.end()}));
  OutputFile arrivals{directory + "/arrivals.csv"};
  arrivals.write("call,rank,arrival,exit\n");
  for (std::size_t i = 0; i < r.calls.calls.size(); ++i) {
    std::vector<std::string> cells = call_row(r, i);
    for (std::string& c : cells) {
      if (c == "null") c.clear();
      if (!c.empty() && c[0] == '"') c = csv_text(Json::parse(c).get<std::string>());
    }
    calls.write(line(cells));
    const report::Call& c = r.calls.calls[i];
    const auto& members = r.run.communicators[c.communicator].members;
    const std::int64_t zero = r.calls.calls.front().begin;
    for (const report::Calls::Entry& e : r.calls.of(c)) {
      const auto& record = report::Calls::record(r.run, c, e);
      const std::size_t trace = members[e.member].trace;
      const auto at = [&](std::uint64_t time) {
        return seconds_text(static_cast<double>(r.clocks.global(trace, time) - zero));
      };
      arrivals.write(line({std::to_string(i), std::to_string(r.run.ranks[trace].rank()),
                           at(record.arrival), record.exit == 0 ? "" : at(record.exit)}));
    }
  }
  calls.close();
  arrivals.close();
}

/// The trace events that Chrome and Perfetto show: a process for each rank, a thread for each of
/// its threads.
inline void write_trace_events(const report::Report& r, const std::string& name) {
  OutputFile out{name};
  out.write("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [");
  const char* before = "\n";
  const auto event = [&](const std::string& text) {
    out.write(before + text);
    before = ",\n";
  };
  const std::int64_t zero = report::first_arrival(r);
  for (std::size_t i = 0; i < r.run.ranks.size(); ++i) {
    const report::RankTrace& rank = r.run.ranks[i];
    const std::string process = "\"pid\": " + std::to_string(rank.rank());
    event("{\"ph\": \"M\", \"name\": \"process_name\", " + process + ", \"args\": {\"name\": " +
          json_text("rank " + std::to_string(rank.rank()) + " on " +
                    report::detail::text_in(rank.header.host)) +
          "}}");
    event("{\"ph\": \"M\", \"name\": \"process_sort_index\", " + process +
          ", \"args\": {\"sort_index\": " + std::to_string(rank.rank()) + "}}");
    for (const profile::Record& record : rank.records) {
      const auto micros = [](std::int64_t time) {
        std::array<char, 40> text{};
        const long long ns = std::max<std::int64_t>(0, time);
        static_cast<void>(
            std::snprintf(text.data(), text.size(), "%lld.%03lld", ns / 1000, ns % 1000));
        return std::string(text.data());
      };
      const std::int64_t begin = r.clocks.global(i, record.arrival);
      const std::uint32_t on = rank.communicator(record);
      std::string text = record.exit == 0 ? "{\"ph\": \"B\"" : "{\"ph\": \"X\"";
      text += ", \"cat\": \"collective\", \"name\": " +
              json_text(report::name_of(static_cast<profile::MpiCollective>(record.collective),
                                        report::detail::kind_flags(record))) +
              ", " + process + ", \"tid\": " + std::to_string(record.thread) +
              ", \"ts\": " + micros(begin - zero);
      if (record.exit != 0) {
        text += ", \"dur\": " + micros(r.clocks.global(i, record.exit) - begin);
      }
      text +=
          ", \"args\": {\"place\": " + json_text(report::place_text(r.run, rank.place(record))) +
          ", \"bytes\": " + std::to_string(record.bytes) +
          ", \"number\": " + std::to_string(record.number);
      if (on != profile::no_entry) {
        text += ", \"communicator\": " + json_text(r.run.communicators[on].name);
      }
      if (record.root >= 0) text += ", \"root\": " + std::to_string(record.root);
      event(text + "}}");
    }
  }
  out.write("\n]}\n");
  out.close();
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
