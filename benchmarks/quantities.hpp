#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
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

/// "8", "64k", "16M", "1G": bytes, in powers of 1024.
inline std::size_t parse_bytes(std::string_view text) {
  const auto fail = [text](const char* why) {
    throw std::invalid_argument(quoted(text) + " " + why);
  };
  std::size_t value = 0;
  const char* last = text.data() + text.size();
  const auto [end, code] = std::from_chars(text.data(), last, value);
  if (end == text.data()) fail("is not a size (write 8, 64k, 16M or 1G)");
  const std::string_view suffix(end, static_cast<std::size_t>(last - end));
  unsigned shift = 0;
  if (suffix == "k" || suffix == "K") {
    shift = 10;
  } else if (suffix == "m" || suffix == "M") {
    shift = 20;
  } else if (suffix == "g" || suffix == "G") {
    shift = 30;
  } else if (!suffix.empty()) {
    fail("is not a size (write 8, 64k, 16M or 1G)");
  }
  if (code == std::errc::result_out_of_range ||
      value > std::numeric_limits<std::size_t>::max() >> shift >> 1) {
    fail("is too large");
  }
  return value << shift;
}

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

/// "250ns", "100us", "2ms", "1.5s", "0": seconds.
inline double parse_duration(std::string_view text) {
  double value = 0;
  const char* last = text.data() + text.size();
  const auto [end, code] = std::from_chars(text.data(), last, value);
  const std::string_view unit(end, static_cast<std::size_t>(last - end));
  const double factor = unit == "ns"                 ? 1e-9
                        : unit == "us"               ? 1e-6
                        : unit == "ms"               ? 1e-3
                        : unit == "s"                ? 1
                        : unit.empty() && value == 0 ? 1
                                                     : 0;
  if (code != std::errc{} || factor == 0 || !std::isfinite(value) || value < 0) {
    throw std::invalid_argument(quoted(text) +
                                " is not a duration (write 250ns, 100us, 2ms or 1s)");
  }
  return value * factor;
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
