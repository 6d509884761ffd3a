// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/tools/options/written.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// Sizes and times as they are written on a command line. All functions throw std::invalid_argument
// with a sentence that quotes what was wrong.
namespace bench {

inline std::string quoted(std::string_view text) {
  return std::string("'").append(text).append("'");
}

using papcoll::tool::parse_bytes;
using papcoll::tool::parse_duration;

/// "8", "8,100,64k" or "8:64M", doubling from the first to at most the last; these also in lists.
inline std::vector<std::size_t> parse_sizes(std::string_view text) {
  std::vector<std::size_t> sizes;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);

    const std::size_t colon = item.find(':');
    const std::size_t first = parse_bytes(item.substr(0, colon));
    if (colon == std::string_view::npos) {
      sizes.push_back(first);
      continue;
    }
    const std::size_t last = parse_bytes(item.substr(colon + 1));
    if (first == 0 || last < first) {
      throw std::invalid_argument(quoted(item) +
                                  " is not a range: it doubles from the first size to the last, "
                                  "starting above 0");
    }
    for (std::size_t size = first; size <= last; size *= 2) sizes.push_back(size);
  }
  return sizes;
}

/// The shortest way to write a size that parse_bytes reads: 8, 64k, 16M.
inline std::string format_bytes(std::size_t bytes) {
  constexpr std::string_view suffixes = "kMG";
  std::string suffix;
  for (std::size_t i = 0; i < suffixes.size() && bytes != 0 && bytes % 1024 == 0; ++i) {
    bytes /= 1024;
    suffix = suffixes[i];
  }
  return std::to_string(bytes) + suffix;
}

}  // namespace bench
