// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What `papcoll report` prints: the answer, then tables.

#include <papcoll/report/report.hpp>
#include <papcoll/report/tables.hpp>
#include <papcoll/report/words.hpp>
#include <papcoll/tools/common.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// Returns true if a text begins with a unit, such as "ms;".
inline bool is_unit(std::string_view text) {
  const std::string_view word = text.substr(0, std::min(text.find(' '), text.size()));
  for (const std::string_view unit : {"%", "s", "ms", "µs", "ns", "KB", "MB", "bytes"}) {
    if (word.starts_with(unit) &&
        (word.size() == unit.size() ||
         std::string_view{",.;:)"}.find(word[unit.size()]) != std::string_view::npos)) {
      return true;
    }
  }
  return false;
}

/// A text in lines of at most `width` columns, those after the first further in.
inline std::string wrapped(const std::string& text, const std::string& first,
                           const std::string& next, std::size_t width = 100) {
  std::string all = first;
  std::size_t at = columns_of(first);
  bool begins = true;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = std::min(text.find(' ', i), text.size());
    // A number and its unit stay together.
    while (end + 1 < text.size() && is_unit(std::string_view{text}.substr(end + 1))) {
      end = std::min(text.find(' ', end + 1), text.size());
    }
    const std::string word = text.substr(i, end - i);
    const std::size_t letters = columns_of(word);
    if (!begins && at + 1 + letters > width) {
      all += "\n" + next;
      at = columns_of(next);
      begins = true;
    }
    all += (begins ? "" : " ") + word;
    at += letters + (begins ? 0 : 1);
    begins = false;
    i = end + 1;
  }
  return all + "\n";
}

/// A table for readers: its first rows, or all.
inline std::string table_text(const report::Table& table, std::size_t most_rows) {
  std::vector<std::size_t> shown;
  std::vector<std::size_t> widths;
  const std::size_t rows = std::min(most_rows, table.rows.size());
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].heading.empty()) continue;
    shown.push_back(c);
    std::size_t width = columns_of(table.columns[c].heading);
    for (std::size_t r = 0; r < rows; ++r) {
      width = std::max(width, columns_of(table.rows[r][c].text));
    }
    widths.push_back(width);
  }
  const auto line = [&](const auto& text_of) {
    std::string text = " ";
    for (std::size_t i = 0; i < shown.size(); ++i) {
      text += (i == 0 ? " " : "  ") +
              padded(text_of(shown[i]), widths[i], table.columns[shown[i]].right);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::string text = table.title + "\n";
  text += line([&](std::size_t c) { return table.columns[c].heading; });
  for (std::size_t r = 0; r < rows; ++r) {
    text += line([&](std::size_t c) { return table.rows[r][c].text; });
  }
  if (rows < table.rows.size()) {
    text += "  … " + std::to_string(table.rows.size() - rows) + " more (--all shows them)\n";
  }
  return text;
}

/// All that is printed.
inline std::string report_text(const report::Report& r, bool all_rows) {
  std::string text = wrapped(report::program_of(r.run) + ": " + report::about(r), "", "  ");
  text += "\n";
  for (const report::Finding& f : report::findings(r)) text += wrapped(f.text, "", "  ");
  for (const std::string& s : report::waiting_now(r)) text += wrapped("Now: " + s, "", "  ");
  constexpr std::size_t usual_rows = 12;
  for (const report::Table& t : report::tables_of(r)) {
    if (t.key == "communicators" && t.rows.size() == 1) continue;
    text += "\n" + table_text(t, all_rows ? t.rows.size() : usual_rows);
  }
  const std::vector<std::string> remarks = report::remarks(r);
  if (!remarks.empty()) text += "\n";
  for (const std::string& s : remarks) text += wrapped(s, "- ", "  ");
  return text;
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
