// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/html.hpp>

#include <papcoll/draw/svg.hpp>
#include <papcoll/report/call_text.hpp>
#include <papcoll/report/report.hpp>
#include <papcoll/report/run.hpp>
#include <papcoll/report/tables.hpp>
#include <papcoll/report/words.hpp>

#include <boost/archive/iterators/base64_from_binary.hpp>
#include <boost/archive/iterators/transform_width.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <page.hpp>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {
namespace {

/// As base64 has it, numbers with the low byte first.
template <class T> std::string base64(const std::vector<T>& numbers) {
  using namespace boost::archive::iterators;
  using Digits = base64_from_binary<transform_width<std::string::const_iterator, 6, 8>>;
  std::string bytes;
  for (const T n : numbers) {
    for (unsigned b = 0; b < sizeof(T); ++b) bytes += static_cast<char>(n >> (8U * b) & 0xffU);
  }
  const std::size_t missing = (3 - bytes.size() % 3) % 3;
  bytes.append(missing, '\0');
  std::string text{Digits{bytes.cbegin()}, Digits{bytes.cend()}};
  return text.replace(text.size() - missing, missing, missing, '=');
}

/// A text in a script; no end of the script's element can be in it.
std::string script_text(const std::string& text) {
  std::string safe = "\"";
  for (const char c : papcoll::detail::utf8_text(text)) {
    if (c == '"' || c == '\\') safe += '\\';
    if (c == '<' || c == '\n') {
      safe += c == '<' ? "\\u003c" : "\\n";
    } else {
      safe += static_cast<unsigned char>(c) < 0x20U ? ' ' : c;
    }
  }
  return safe + "\"";
}

/// A time in 16 bits: 0 for less than a nanosecond, else 1 + 1024 log₂, which is exact to 0.07 %.
std::uint16_t time_code(double nanoseconds) {
  if (!(nanoseconds >= 1)) return 0;
  constexpr double most = 65535;
  constexpr double steps = 1024;
  return static_cast<std::uint16_t>(std::min(most, 1 + std::round(steps * std::log2(nanoseconds))));
}

/// The calls of the timeline, as the script of the page reads them.
class TimelineData {
 public:
  /// More calls are not shown: the most imbalanced of every few stand for them.
  static constexpr std::size_t most = 200000;

  explicit TimelineData(const Report& r) {
    std::vector<std::uint32_t> shown;
    for (std::size_t i = 0; i < r.calls.calls.size(); ++i) {
      if (r.imbalances[i].known) shown.push_back(static_cast<std::uint32_t>(i));
    }
    each_ = (shown.size() + most - 1) / most;
    if (each_ > 1) {
      std::vector<std::uint32_t> few;
      for (std::size_t i = 0; i < shown.size(); i += each_) {
        const auto begin = shown.begin() + static_cast<std::ptrdiff_t>(i);
        const auto end =
            shown.begin() + static_cast<std::ptrdiff_t>(std::min(shown.size(), i + each_));
        few.push_back(*std::max_element(begin, end, [&r](std::uint32_t a, std::uint32_t b) {
          return r.imbalances[a].omega < r.imbalances[b].omega;
        }));
      }
      shown = std::move(few);
    }
    // Places that cost most have the first colours.
    for (const SummaryRow& row : r.by_place) {
      place_of_[row.place] = places_.size();
      places_.push_back(place_text(r.run, row.place));
    }
    const std::int64_t zero = shown.empty() ? 0 : r.calls.calls[shown.front()].begin;
    const double span =
        shown.empty() ? 1 : static_cast<double>(r.calls.calls[shown.back()].begin - zero);
    constexpr double all_bits = 4294967295.0;
    constexpr double nanosecond = 1e-9;
    const double unit = std::max(1.0, span / all_bits);
    unit_ = unit * nanosecond;
    for (const std::uint32_t i : shown) {
      const Call& c = r.calls.calls[i];
      const Imbalance& x = r.imbalances[i];
      time_.push_back(static_cast<std::uint32_t>(
          std::min(all_bits, static_cast<double>(c.begin - zero) / unit)));
      omega_.push_back(time_code(x.omega));
      gap_.push_back(time_code(x.gap));
      kind_.push_back(kind(c));
      constexpr std::uint16_t nobody = 65535;
      const std::int32_t last =
          x.decided ? world_rank(r.run, r.run.communicators[c.communicator].members[x.last]) : -1;
      last_.push_back(last < 0 || last >= nobody ? nobody : static_cast<std::uint16_t>(last));
    }
    ranks_ = r.run.world_size;
  }

  std::size_t calls() const noexcept { return time_.size(); }
  /// Returns of how many calls each shown one is the most imbalanced.
  std::size_t each() const noexcept { return each_; }

  std::string script() const {
    std::string text = "const D = {ranks: " + std::to_string(ranks_) + ", unit: ";
    std::array<char, 40> number{};
    static_cast<void>(std::snprintf(number.data(), number.size(), "%.17g", unit_));
    std::replace(number.begin(), number.end(), ',', '.');
    text += number.data();
    text += ",\nplaces: [";
    for (const std::string& p : places_) text += script_text(p) + ",";
    text += "],\nkinds: [";
    for (const auto& [place, call] : kinds_) {
      text += "{place: " + std::to_string(place) + ", call: " + script_text(call) + "},";
    }
    text += "],\ntime: \"" + base64(time_) + "\",\nomega: \"" + base64(omega_) + "\",\ngap: \"" +
            base64(gap_) + "\",\nkind: \"" + base64(kind_) + "\",\nlast: \"" + base64(last_) +
            "\"};\n";
    return text;
  }

 private:
  /// A number for place, collective and size; where there are too many, sizes are rounded up.
  std::uint16_t kind(const Call& c) {
    constexpr std::size_t many = 4000;
    constexpr std::size_t all = 60000;
    const std::uint64_t bytes = kinds_.size() < many ? c.bytes
                                : c.bytes == 0       ? 0
                                                     : std::bit_ceil(c.bytes >> 1U);
    const auto key = std::tuple{c.place, c.collective, c.flags, bytes};
    const auto known = kind_of_.find(key);
    if (known != kind_of_.end()) return known->second;
    if (kinds_.size() >= all) return static_cast<std::uint16_t>(all - 1);
    const auto number = static_cast<std::uint16_t>(kinds_.size());
    kind_of_[key] = number;
    kinds_.emplace_back(place_of_[c.place], call_text(c.collective, c.flags, bytes));
    return number;
  }

  std::size_t each_ = 1;
  std::int32_t ranks_ = 0;
  double unit_ = 1e-9;
  std::vector<std::uint32_t> time_;
  std::vector<std::uint16_t> omega_, gap_, kind_, last_;
  std::vector<std::string> places_;
  std::vector<std::pair<std::size_t, std::string>> kinds_;
  std::map<std::uint32_t, std::size_t> place_of_;
  std::map<std::tuple<std::uint32_t, profile::MpiCollective, std::uint32_t, std::uint64_t>,
           std::uint16_t>
      kind_of_;
};

/// Bars of what each rank made the others wait; of many ranks those that did so most.
std::string ranks_picture(const Report& r) {
  constexpr std::size_t most = 32;
  std::vector<Lateness> ranks = r.lateness.ranks;
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const Lateness& a, const Lateness& b) { return a.own > b.own; });
  if (ranks.size() > most) ranks.resize(most);
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const Lateness& a, const Lateness& b) { return a.rank < b.rank; });
  double longest = 1;
  for (const Lateness& l : ranks) longest = std::max(longest, l.own);
  constexpr double row = 22;
  constexpr double left = 80;
  constexpr double room = 330;
  papcoll::detail::Svg svg;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Lateness& l = ranks[i];
    const bool named =
        std::any_of(r.lateness.stragglers.begin(), r.lateness.stragglers.end(),
                    [&l](const Straggler& s) { return s.at.rank == l.rank; }) ||
        std::any_of(r.late_groups.begin(), r.late_groups.end(), [&l](const LateGroup& g) {
          return std::find(g.ranks.begin(), g.ranks.end(), l.rank) != g.ranks.end();
        });
    const double y = static_cast<double>(i) * row;
    const double length = std::max(1.0, l.own / longest * room);
    svg.text({left - 10, y + 15}, "rank " + std::to_string(l.rank), "name");
    svg.rect({left, y + 4}, length, row - 8, named ? "named" : "bar",
             "rank " + std::to_string(l.rank) + ": last in " + std::to_string(l.lasts) + " of " +
                 std::to_string(l.calls) + " calls");
    svg.text({left + length + 6, y + 15}, time_text(l.own), "value");
  }
  return svg.document(left + room + 100, static_cast<double>(ranks.size()) * row + 4,
                      "What each rank made the others wait", "");
}
}  // namespace

std::string place_label(const Run& run, std::uint32_t place) {
  if (place >= run.places.size()) return "?";
  std::string name = short_text(run.places[place]);
  constexpr std::size_t letters = 30;
  if (name.size() <= letters) return name;
  const std::size_t module = name.rfind(" (");
  if (module != std::string::npos && name.ends_with(')')) name.resize(module);
  if (name.size() <= letters) return name;
  constexpr std::size_t begin = 9;
  const auto is_inside_letter = [&name](std::size_t at) {
    return at < name.size() && (static_cast<unsigned char>(name[at]) & 0xc0U) == 0x80U;
  };
  std::size_t from = name.size() - (letters - begin - 1);
  std::size_t to = begin;
  while (is_inside_letter(from)) ++from;
  while (to > 0 && is_inside_letter(to)) --to;
  return name.substr(0, to) + "…" + name.substr(from);
}

namespace {

/// Median, 99 % and worst of Ω of the dearest places, on a logarithmic axis.
std::string places_picture(const Report& r) {
  constexpr std::size_t most = 16;
  const std::size_t n = std::min(most, r.by_place.size());
  double low = 1e18;
  double high = 10;
  for (std::size_t i = 0; i < n; ++i) {
    const Distribution& d = r.by_place[i].summary.omega;
    if (d.median > 0) low = std::min(low, d.median);
    high = std::max(high, d.worst);
  }
  const double first = std::floor(std::log10(std::max(1.0, std::min(low, high / 10))));
  const double last = std::max(first + 1, std::ceil(std::log10(high)));
  constexpr double row = 22;
  constexpr double left = 210;
  constexpr double room = 290;
  const double height = static_cast<double>(n) * row;
  const auto x = [&](double ns) {
    const double part = ns > 0 ? (std::log10(ns) - first) / (last - first) : 0;
    return left + room * std::max(0.0, part);
  };
  papcoll::detail::Svg svg;
  for (double e = first; e <= last; e += 1) {
    svg.line({x(std::pow(10, e)), 0}, {x(std::pow(10, e)), height}, "grid");
    svg.text({x(std::pow(10, e)), height + 16}, time_text(std::pow(10, e)), "tick");
  }
  for (std::size_t i = 0; i < n; ++i) {
    const SummaryRow& s = r.by_place[i];
    const Distribution& d = s.summary.omega;
    const double y = (static_cast<double>(i) + 0.5) * row;
    svg.text({left - 10, y + 4}, place_label(r.run, s.place), "name", place_text(r.run, s.place));
    svg.line({x(d.median), y}, {x(d.p99), y}, "range");
    svg.circle({x(d.median), y}, 4, "median");
    svg.circle({x(d.worst), y}, 3, "worst");
  }
  return svg.document(left + room + 40, height + 24, "Imbalance by place", "");
}

std::string table_html(const Table& t) {
  constexpr std::size_t open = 12;
  constexpr std::size_t most = 1000;
  using papcoll::detail::escaped;
  const auto rows = [&t](std::size_t begin, std::size_t end) {
    std::string text = "<div class=\"scroll card\"><table><thead><tr>";
    for (const Column& c : t.columns) {
      if (c.heading.empty()) continue;
      text += (c.right ? "<th>" : "<th class=\"l\">") + escaped(c.heading) + "</th>";
    }
    text += "</tr></thead>\n";
    for (std::size_t i = begin; i < end; ++i) {
      text += "<tr>";
      for (std::size_t c = 0; c < t.columns.size(); ++c) {
        if (t.columns[c].heading.empty()) continue;
        text += (t.columns[c].right ? "<td>" : "<td class=\"l\">") + escaped(t.rows[i][c].text) +
                "</td>";
      }
      text += "</tr>\n";
    }
    return text + "</table></div>\n";
  };
  std::string text = "<h2>" + escaped(t.title) + "</h2>\n";
  text += rows(0, std::min(open, t.rows.size()));
  if (t.rows.size() <= open) return text;
  const std::size_t end = std::min(most, t.rows.size());
  text +=
      "<details><summary class=\"note\">" + std::to_string(t.rows.size() - open) + " more" +
      (end < t.rows.size() ? ", the first " + std::to_string(end - open) + " of them here" : "") +
      "</summary>\n" + rows(open, end) + "</details>\n";
  return text;
}
}  // namespace
}  // namespace detail

std::string html_page(const Report& r) {
  using papcoll::detail::escaped;
  const detail::TimelineData data{r};
  const std::string title = file_name(program_of(r.run)) + ": who arrives late";
  std::string page = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  page += "<meta name=\"viewport\" content=\"width=device-width\">\n";
  page += "<meta name=\"color-scheme\" content=\"light dark\">\n";
  page += "<link rel=\"icon\" href=\"data:,\">\n<title>" + escaped(title) + "</title>\n<style>";
  page.append(page_style).append("</style>\n</head>\n<body>\n<main>\n");
  page += "<h1>" + escaped(title) + "</h1>\n<div class=\"dim\">" +
          escaped(about(r) + " · " + detail::text_in(r.run.ranks.front().header.library) + " · " +
                  program_of(r.run)) +
          "</div>\n";
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> looks{
      {{"fault", "A fault"},
       {"single", "Calls that are not recorded"},
       {"single", "More ranks than processors"},
       {"fault", "A clock"},
       {"straggler", "Late"},
       {"single", "Late once"},
       {"nothing", "Where the time is"},
       {"nothing", "Nobody is late"}}};
  for (const Finding& f : findings(r)) {
    const auto& [kind, heading] = looks.at(static_cast<std::size_t>(f.kind));
    page.append("<div class=\"card finding ").append(kind).append("\"><b>").append(heading);
    page += "</b>" + escaped(f.text) + "</div>\n";
  }
  for (const std::string& s : waiting_now(r)) {
    page += "<div class=\"card finding single\"><b>Now</b>" + escaped(s) + "</div>\n";
  }
  if (data.calls() > 0) {
    page +=
        "<h2>Imbalance of each call, and who came last<button id=\"whole\">whole run</button>"
        "</h2>\n<div class=\"card\"><div id=\"legend\"></div>\n<div id=\"frame\"><canvas "
        "id=\"timeline\"></canvas><div id=\"tip\"></div></div>\n<p class=\"note\">Above: Ω, the "
        "time between the first and the last arrival of each call. Below: stronger where the "
        "others waited longer for this rank alone. The wheel zooms, dragging moves, a "
        "click on a place hides it." +
        (data.each() > 1 ? " Of every " + std::to_string(data.each()) +
                               " calls the most imbalanced one is shown."
                         : std::string{}) +
        "</p></div>\n";
    page +=
        "<div class=\"pair\"><div><h2>What each rank made the others wait</h2>\n<div "
        "class=\"card\">" +
        detail::ranks_picture(r) +
        "</div></div>\n<div><h2>Ω by place: median to 99 %, and the worst</h2>\n<div "
        "class=\"card\">" +
        detail::places_picture(r) + "</div></div></div>\n";
  }
  for (const Table& t : tables_of(r)) page += detail::table_html(t);
  const std::vector<std::string> all = remarks(r);
  page += "<h2>Remarks</h2>\n";
  for (const std::string& s : all) page += "<p class=\"note\">" + escaped(s) + "</p>\n";
  page += "</main>\n";
  if (data.calls() > 0) {
    page += "<script>\n" + data.script();
    page.append(page_script).append("</script>\n");
  }
  return page + "</body>\n</html>\n";
}

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
