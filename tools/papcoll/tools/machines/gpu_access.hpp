// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Which GPUs reach each other's memory, as text, for people.

#include <papcoll/base/config.hpp>
#include <papcoll/tools/machines/indented.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// In a line or several; can(from, to) says of two numbers if `from` reaches memory of `to`.
template <class Can> std::string access_text(const std::vector<std::string>& names, Can can) {
  Indented out;
  const std::size_t n = names.size();
  std::vector<std::string> reached(n);
  std::size_t pairs = 0;
  for (std::size_t from = 0; from < n; ++from) {
    for (std::size_t to = 0; to < n; ++to) {
      if (from == to || !can(static_cast<int>(from), static_cast<int>(to))) continue;
      reached[from] += (reached[from].empty() ? "" : ", ") + names[to];
      ++pairs;
    }
  }
  if (n < 2) return "";
  if (pairs == n * (n - 1)) {
    out.line(1, "peer access: each GPU reaches each other one");
  } else if (pairs == 0) {
    out.line(1, "peer access: no GPU reaches another one");
  } else {
    for (std::size_t from = 0; from < n; ++from) {
      out.line(1, "peer access: " + names[from] + " reaches " +
                      (reached[from].empty() ? "none" : reached[from]));
    }
  }
  return out.text();
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
