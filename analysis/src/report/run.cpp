// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/run.hpp>

#include <papcoll/profile/trace_format.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {

std::string run_text(std::uint64_t number) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text(16, '0');
  for (auto c = text.rbegin(); c != text.rend(); ++c, number /= 16) *c = digits[number % 16];
  return text;
}

std::string name_of(profile::MpiCollective collective, std::uint32_t flags) {
  const auto index = static_cast<std::size_t>(collective);
  std::string name{index < profile::collective_names.size() ? profile::collective_names[index]
                                                            : std::string_view{"?"}};
  if ((flags & profile::record_persistent) != 0) return "MPI_Start of MPI_" + name + "_init";
  if ((flags & profile::record_nonblocking) != 0) {
    name[0] = static_cast<char>(name[0] - 'A' + 'a');
    return "MPI_I" + name;
  }
  return "MPI_" + name;
}

std::string file_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string short_function(const std::string& name) {
  const auto is_operator = [&](std::size_t at) {  // the < or > of operator<, operator->> and so on
    constexpr std::string_view word = "operator";
    while (at > 0 && (name[at - 1] == '<' || name[at - 1] == '>' || name[at - 1] == '-')) --at;
    return at >= word.size() && name.compare(at - word.size(), word.size(), word) == 0;
  };
  const auto names_operator = [](const std::string& t) {
    constexpr std::string_view word = "operator";
    const std::size_t at = t.rfind(word);
    return at != std::string::npos && t.find_first_not_of("<>-", at + word.size()) == t.npos;
  };
  std::string text;
  std::size_t depth = 0;
  std::size_t begin = 0;  // of the name, in text: after the result's type
  std::size_t round = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool angle = (c == '<' || c == '>') && !is_operator(i);
    if (angle && c == '<') ++depth;
    if (depth == 0) {
      if (c == '(' || c == '{') ++round;
      if ((c == ')' || c == '}') && round > 0) --round;
      const bool qualifies = name.compare(i + 1, std::string::npos, "const") == 0;
      if (c == ' ' && round == 0 && !qualifies && !names_operator(text)) begin = text.size() + 1;
      text += c;
    }
    if (angle && c == '>' && depth > 0) --depth;
  }
  text.erase(0, begin);
  if (text.ends_with(" const")) text.resize(text.size() - 6);
  if (!text.ends_with(')')) return text.empty() ? name : text;
  std::size_t open = text.size();
  for (round = 0; open > 0; --open) {
    const char c = text[open - 1];
    if (c == ')') ++round;
    if (c == '(' && --round == 0) break;
  }
  // "(anonymous namespace)" is part of the name.
  if (open > 1 && text[open - 2] != ':') text.resize(open - 1);
  while (text.ends_with(' ')) text.pop_back();
  return text.empty() ? name : text;
}

std::string short_text(const Place& place) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto hexadecimal = [&](std::uint64_t x) {
    std::string text;
    do {
      text.insert(text.begin(), digits[x % 16]);
      x /= 16;
    } while (x != 0);
    return "0x" + text;
  };
  if (!place.file.empty() && place.line > 0) {
    return file_name(place.file) + ":" + std::to_string(place.line);
  }
  const std::string module = place.module.empty() ? "?" : file_name(place.module);
  if (!place.function.empty()) {
    return short_function(place.function) + "+" + hexadecimal(place.into_function) + " (" + module +
           ")";
  }
  return module + "+" + hexadecimal(place.offset);
}

std::string text_of(const Place& place) {
  const std::string text = short_text(place);
  const bool has_line = !place.file.empty() && place.line > 0;
  return has_line && !place.function.empty() ? text + " (" + short_function(place.function) + ")"
                                             : text;
}

std::string place_text(const Run& run, std::uint32_t place) {
  return place < run.places.size() ? text_of(run.places[place]) : "a place that is not known";
}

namespace detail {
namespace {

/// "2, 5–7 and 9".
std::string list_text(const std::vector<RankRange>& ranges) {
  std::vector<std::string> parts;
  for (const auto& [first, last] : ranges) {
    parts.push_back(std::to_string(first));
    if (last == first + 1) parts.push_back(std::to_string(last));
    if (last > first + 1) parts.back() += "–" + std::to_string(last);
  }
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 < parts.size() ? ", " : " and ";
    text += parts[i];
  }
  return text;
}

}  // namespace

std::string ranks_text(const std::vector<RankRange>& ranges) {
  const bool one = ranges.size() == 1 && ranges[0].first == ranges[0].second;
  return (one ? "rank " : "ranks ") + list_text(ranges);
}

std::string ranks_text(const std::vector<std::int32_t>& ranks) {
  std::vector<RankRange> ranges;
  for (const std::int32_t r : ranks) {
    if (ranges.empty() || ranges.back().second + 1 != r) ranges.emplace_back(r, r);
    ranges.back().second = r;
  }
  return ranks_text(ranges);
}

}  // namespace detail

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
