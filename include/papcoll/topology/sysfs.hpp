// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The formats of small files in which Linux describes processors.

#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/topology/processor_set.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <dirent.h>

namespace papcoll::inline PAPCOLL_ABI::detail {

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { static_cast<void>(std::fclose(file)); }
};
using OpenFile = Owned<std::FILE, CloseFile>;

/// The first line of a small file, without its end; empty if it cannot be read.
inline std::string line_of(const std::string& path) {
  const OpenFile file{std::fopen(path.c_str(), "re")};
  if (!file) return {};
  char line[4096] = {};  // no such file is longer: a page
  std::string text = std::fgets(line, sizeof line, file.get()) != nullptr ? line : "";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

/// The whole number, in decimal digits, that a text is; −1 if it is nothing of the kind or more
/// than `most`.
inline int number_of(const std::string& text, int most) noexcept {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) return -1;
  const unsigned long number = std::strtoul(text.c_str(), nullptr, 10);
  return number <= static_cast<unsigned long>(most) ? static_cast<int>(number) : -1;
}

/// "49152K" or "48M" in bytes; 0 if it is nothing of the kind.
inline std::size_t bytes_of(const std::string& text) noexcept {
  unsigned long number = 0;
  char unit = 0;
  if (std::sscanf(text.c_str(), "%lu%c", &number, &unit) < 1) return 0;
  const std::size_t factor = unit == 'K' ? 1U << 10U : unit == 'M' ? 1U << 20U : 1U;
  return static_cast<std::size_t>(number) * factor;
}

/// The processors that a list such as "0-3,8" names; none if it is nothing of the kind.
[[gnu::cold]] inline ProcessorSet set_of(const std::string& list) {
  ProcessorSet set;
  const char* at = list.c_str();
  const auto read = [&at](unsigned& number) {
    int used = 0;
    const bool is_digit = *at >= '0' && *at <= '9';
    if (!is_digit || std::sscanf(at, "%u%n", &number, &used) != 1) return false;
    at += used;
    return true;
  };
  do {
    unsigned first = 0;
    if (!read(first)) return {};
    unsigned last = first;
    if (*at == '-') {
      ++at;
      if (!read(last) || last < first) return {};
    }
    for (unsigned p = first; p <= last && p < ProcessorSet::most; ++p) {
      set.add(static_cast<int>(p));
    }
    if (*at == 0) return set;
  } while (*at++ == ',');
  return {};
}

/// The names in a directory, in no order; none if it cannot be read.
[[gnu::cold]] inline std::vector<std::string> names_in(const std::string& directory) {
  struct Close {
    void operator()(DIR* d) const noexcept { static_cast<void>(closedir(d)); }
  };
  std::vector<std::string> names;
  const Owned<DIR, Close> open{opendir(directory.c_str())};
  if (!open) return names;
  while (const dirent* const entry = readdir(open.get())) names.emplace_back(entry->d_name);
  return names;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
