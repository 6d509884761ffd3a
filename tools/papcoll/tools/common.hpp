#pragma once

// What the subcommands of papcoll share.

#include <papcoll/base/collective.hpp>
#include <papcoll/error.hpp>
#include <papcoll/names/row.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace tool {

using Json = nlohmann::ordered_json;

inline constexpr int all_well = 0;
inline constexpr int found_fault = 1;
inline constexpr int bad_input = 2;

inline void print(const std::string& text) { std::fputs(text.c_str(), stdout); }

/// Returns a JSON document as text; bytes that are no UTF-8, as names of files may have, are
/// replaced.
inline std::string document_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Throws error if something that was printed is lost.
inline void require_written() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw error("papcoll: cannot write all of the output: is the disk full?");
}

/// For options: a number of bytes, such as 8, 64k or 4M. (CLI11 alone takes −8 for 2⁶⁴ − 8.)
inline CLI::Validator as_bytes() {
  const auto refuse = [](const std::string& why) {
    return why + ": write a number of bytes, as 8, 64k or 4M";
  };
  CLI::Validator bytes = CLI::AsSizeValue(false);
  return CLI::Validator(
      [bytes, refuse](std::string& text) {
        const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
        constexpr std::ptrdiff_t most_digits = 19;
        const auto digits = std::find_if_not(text.begin(), text.end(), is_digit) - text.begin();
        if (digits == 0) return refuse("'" + text + "'");
        if (digits > most_digits) return refuse(text + " is too much");
        const std::string written = text;
        return bytes(text).empty() ? std::string{} : refuse("'" + written + "'");
      },
      "SIZE");
}

/// For options: a number in a range, which nan is not.
inline CLI::Validator between(double least, double most) {
  CLI::Validator range = CLI::Range(least, most);
  return range.operation([range](std::string& text) {
    return text.find_first_of("nN") == std::string::npos ? range(text) : text + " is no number";
  });
}

/// For options whose absence has a meaning of its own.
inline CLI::Validator not_empty() {
  return CLI::Validator(
      [](std::string& text) {
        return text.empty() ? "it is empty: write something, or leave it out" : std::string{};
      },
      "");
}

inline std::vector<Collective> collectives_of(const CatalogueRow& row) {
  std::vector<Collective> served;
  for (std::size_t i = 0; i < collective_count; ++i) {
    const auto c = static_cast<Collective>(i);
    if (row.serves(c)) served.push_back(c);
  }
  return served;
}

template <class Names>
std::string joined(const Names& names) {
  std::string text;
  for (const auto& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

}  // namespace tool
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
