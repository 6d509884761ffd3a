// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The tables of a report, for readers and for programs: text, pages, CSV and JSON show the same.

#include <papcoll/report/report.hpp>

#include <optional>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {

/// A column. Programs get all columns under their keys, readers those with a heading.
struct Column {
  std::string key;
  std::string heading;  ///< empty: for programs only
  bool right = true;    ///< how its texts stand
};

/// A cell: a text, and a number where it is one: times in seconds.
struct Cell {
  std::string text;
  std::optional<double> number;
};

/// A table. Rows have a cell for each column.
struct Table {
  std::string key;
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

/// All tables but that of the single calls; those without rows are left out.
std::vector<Table> tables_of(const Report& r);

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
