// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What the subcommands of papcoll share.

#include <papcoll/base/collective.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/tools/options/misspelt.hpp>
#include <papcoll/tools/options/whole_number.hpp>
#include <papcoll/tools/options/written.hpp>

#include <CLI/CLI.hpp>
#include <array>
#include <cstddef>
#include <cstdio>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
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

/// For options: what is written is replaced by what one of the functions in written.hpp reads.
template <class Parse> CLI::Validator read_by(Parse parse, const std::string& type) {
  return CLI::Validator(
      [parse](std::string& text) {
        try {
          std::array<char, 32> number{};
          std::snprintf(number.data(), number.size(), "%.17g", static_cast<double>(parse(text)));
          text = number.data();
        } catch (const std::invalid_argument& e) {
          return std::string{e.what()};
        }
        return std::string{};
      },
      type);
}

/// For options: a number of bytes, such as 8, 64k or 1.5M.
inline CLI::Validator as_bytes() { return read_by(parse_bytes, "SIZE"); }

/// For options: a duration, such as 100us, in seconds.
inline CLI::Validator as_duration() { return read_by(parse_duration, "DURATION"); }

/// For options: a number in a range.
inline CLI::Validator between(double least, double most) {
  const CLI::Range range{least, most};
  return CLI::Validator(range).operation([range](std::string& text) {
    const Quantity written = quantity(text);
    const bool is_number = written.number >= 0 && written.unit.empty();
    return is_number ? range(text) : "'" + text + "' is no number from 0 on";
  });
}

/// For options that take several names: one of them, in which a comma stands behind a colon only.
inline CLI::Validator one_name() {
  return CLI::Validator(
      [](const std::string& text) {
        return text.find(',') < text.find(':') ? text + ": write a blank between names, no comma"
                                               : std::string{};
      },
      "");
}

/// For options whose absence has a meaning of its own.
inline CLI::Validator not_empty() {
  const CLI::Validator filled{
      [](std::string& text) {
        return text.empty() ? "it is empty: write something, or leave it out" : std::string{};
      },
      ""};
  return filled & no_option();
}

/// The end of a command's help: its examples, which the tests run.
inline std::string examples(std::initializer_list<const char*> lines) {
  std::string text = "Examples:";
  for (const char* const line : lines) text += std::string("\n  papcoll ") + line;
  return text;
}

inline std::vector<Collective> collectives_of(const CatalogueRow& row) {
  std::vector<Collective> served;
  for (std::size_t i = 0; i < collective_count; ++i) {
    const auto c = static_cast<Collective>(i);
    if (row.serves(c)) served.push_back(c);
  }
  return served;
}

/// Returns the number of columns of a terminal that a text takes.
inline std::size_t columns_of(const std::string& text) {
  std::size_t letters = 0;
  // Continuing bytes and the accent of Δ̄ take none.
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    letters += (c & 0xc0U) != 0x80U ? 1 : 0;
    if (c == 0xccU) --letters;
  }
  return letters;
}

/// A column of a table: the text, and blanks before or after it.
inline std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t letters = columns_of(text);
  const std::string blanks(width > letters ? width - letters : 0, ' ');
  return right ? blanks + text : text + blanks;
}

template <class Names> std::string joined(const Names& names) {
  std::string text;
  for (const auto& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
