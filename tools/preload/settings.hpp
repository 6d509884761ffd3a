// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What the environment asks for. papcoll-run sets these variables from its options.

#include "call_outcomes.hpp"

#include <papcoll/base/error.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/choice/names/algorithm.hpp>

#include <strings.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace preload {

using papcoll::Algorithm;

/// A setting that cannot be used; what() is a sentence.
struct bad_setting : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A sentence of papcoll's, as part of another.
inline std::string without_prefix(std::string_view text) {
  constexpr std::string_view prefix = "papcoll: ";
  if (text.substr(0, prefix.size()) == prefix) text.remove_prefix(prefix.size());
  return std::string(text);
}

/// Which algorithm runs calls of a collective whose bytes are in a range. Bytes are those that
/// papcoll goes by: of the vector, or of a rank's block.
struct AlgorithmRule {
  std::optional<Function> function;  ///< none: all
  std::size_t least = 0;
  std::size_t most = SIZE_MAX;
  Algorithm algorithm;
};

/// PAPCOLL_RUN_ALGORITHM: rules, of which a call follows the first that fits.
///
///     rules      =  rule { ";" rule }
///     rule       =  [ collective [ "[" [ bytes ] ".." [ bytes ] "]" ] "=" ] name
///     collective =  [ "MPI_" ] ( "allreduce" | "reduce" | "bcast" | … )
///     bytes      =  digits [ "k" | "M" | "G" ]
///
/// Upper and lower case of collectives and units are the same.
///
/// `name` as in choice/names/name_parser.hpp, which has none of these signs.
///
///     Ring
///     allreduce[..4k]=RecursiveDoubling; allreduce=Ring+MpiTransport; bcast=auto
class RuleParser {
 public:
  RuleParser(std::string_view text, std::string_view contract) : text_(text), contract_(contract) {}

  std::vector<AlgorithmRule> parse() const {
    std::vector<AlgorithmRule> rules;
    for (std::size_t begin = 0; begin <= text_.size();) {
      const std::size_t end = std::min(text_.find(';', begin), text_.size());
      const std::string_view rule = trimmed(text_.substr(begin, end - begin));
      if (!rule.empty()) rules.push_back(rule_of(rule));
      begin = end + 1;
    }
    return rules;
  }

 private:
  static constexpr std::size_t mpi = std::string_view{"MPI_"}.size();

  static std::string_view trimmed(std::string_view s) {
    while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
    while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
    return s;
  }

  [[noreturn]] static void fail(std::string_view rule, const std::string& what) {
    throw bad_setting("PAPCOLL_RUN_ALGORITHM: '" + std::string(rule) + "': " + what);
  }

  AlgorithmRule rule_of(std::string_view rule) const {
    AlgorithmRule r;
    std::string_view name = rule;
    const std::size_t equals = rule.find('=');
    if (equals != rule.rfind('=')) fail(rule, "write ';' between rules");
    if (equals != std::string_view::npos) {
      std::string_view where = trimmed(rule.substr(0, equals));
      name = trimmed(rule.substr(equals + 1));
      if (const std::size_t bracket = where.find('['); bracket != std::string_view::npos) {
        if (where.back() != ']') fail(rule, "write a range of bytes as [4k..1M]");
        take_range(rule, where.substr(bracket + 1, where.size() - bracket - 2), r);
        where = trimmed(where.substr(0, bracket));
      }
      r.function = function_of(where);
      if (!r.function) fail_unknown(rule, where);
    } else if (const std::string first{rule.substr(0, rule.find_first_of(" :"))};
               function_of(first)) {
      fail(rule, "write " + first + "=NAME");
    }
    if (name.find(',') < name.find(':')) fail(rule, "write ';' between rules");
    r.algorithm = algorithm_of(name);
    return r;
  }

  static std::optional<Function> function_of(std::string_view name) {
    const auto is = [name](std::string_view known) {
      return name.size() == known.size() &&
             strncasecmp(name.data(), known.data(), known.size()) == 0;
    };
    for (std::size_t i = 0; i < function_names.size(); ++i) {
      const std::string_view known = function_names[i];
      if (is(known) || is(known.substr(mpi))) return static_cast<Function>(i);
    }
    return {};
  }

  [[noreturn]] static void fail_unknown(std::string_view rule, std::string_view name) {
    std::string all;
    for (const std::string_view known : function_names) {
      all += " ";
      for (const char c : known.substr(mpi)) all += papcoll::detail::lower(c);
    }
    fail(rule,
         "'" + std::string(name) + "' is no collective that papcoll takes over; those are" + all);
  }

  static void take_range(std::string_view rule, std::string_view range, AlgorithmRule& r) {
    const std::size_t dots = range.find("..");
    if (dots == std::string_view::npos) fail(rule, "write a range of bytes as [4k..1M]");
    const std::string_view least = trimmed(range.substr(0, dots));
    const std::string_view most = trimmed(range.substr(dots + 2));
    if (!least.empty()) r.least = bytes_of(rule, least);
    if (!most.empty()) r.most = bytes_of(rule, most);
    if (r.least > r.most) fail(rule, "the range of bytes is empty");
  }

  static std::size_t bytes_of(std::string_view rule, std::string_view text) {
    std::size_t n = 0;
    const char* const last = text.data() + text.size();
    auto [end, problem] = std::from_chars(text.data(), last, n);
    unsigned shift = 0;
    if (problem == std::errc{} && end != last) {
      const char unit = papcoll::detail::lower(*end);
      shift = unit == 'k' ? 10 : unit == 'm' ? 20 : unit == 'g' ? 30 : 0;
      if (shift != 0) ++end;
    }
    if (problem != std::errc{} || end != last || n > (SIZE_MAX >> shift)) {
      fail(rule, "'" + std::string(text) + "' is no number of bytes, such as 4096 or 4k");
    }
    return n << shift;
  }

  /// The contract is that of PAPCOLL_RUN_CONTRACT unless the name has its own.
  Algorithm algorithm_of(std::string_view name) const {
    try {
      for (std::size_t begin = 0; begin < name.size();) {
        const std::size_t end = std::min(name.find('+', begin), name.size());
        if (papcoll::contract_named(trimmed(name.substr(begin, end - begin)))) {
          return papcoll::algorithm(name);
        }
        begin = end + 1;
      }
      static_cast<void>(papcoll::algorithm(name));  // what is wrong with it is said in its words
      return papcoll::algorithm(std::string(name) + "+" + std::string(contract_));
    } catch (const papcoll::error& e) {
      throw bad_setting("PAPCOLL_RUN_ALGORITHM: " + without_prefix(e.what()));
    }
  }

  std::string_view text_;
  std::string_view contract_;
};

/// All settings of this process.
struct Settings {
  bool off = false;
  bool summary = false;
  bool ignores_gpu = false;
  /// The call of a communicator from which on it is taken over; 0: from where that pays.
  std::uint64_t after = 0;
  std::vector<AlgorithmRule> rules;
  Algorithm otherwise;  ///< what runs calls that no rule fits
  std::string text;     ///< the same on all ranks if the settings are

  /// Throws bad_setting. If `off` is true, the others may be wrong.
  void read() {
    summary = is_on("PAPCOLL_RUN_SUMMARY");
    off = is_on("PAPCOLL_RUN_OFF");
    if (off) return;
    const std::string contract = value("PAPCOLL_RUN_CONTRACT", "Reproducible");
    if (!papcoll::contract_named(contract)) {
      throw bad_setting("PAPCOLL_RUN_CONTRACT: '" + contract + "' is no contract: take " +
                        papcoll::contract_choices());
    }
    if (const std::string number = value("PAPCOLL_RUN_TAKE_OVER_AFTER", "auto"); number != "auto") {
      const auto [end, problem] =
          std::from_chars(number.data(), number.data() + number.size(), after);
      if (problem != std::errc{} || end != number.data() + number.size() || after == 0) {
        throw bad_setting("PAPCOLL_RUN_TAKE_OVER_AFTER: '" + number +
                          "' is no number of calls: take 1 or more, or auto");
      }
    }
    ignores_gpu = is_on("PAPCOLL_RUN_IGNORE_GPU");
    const std::string shm = value("PAPCOLL_SHM", "named");
    if (shm != "named")
      throw bad_setting("PAPCOLL_SHM: '" + shm + "' is not known: there is named");
    rules = RuleParser(value("PAPCOLL_RUN_ALGORITHM", ""), contract).parse();
    otherwise = papcoll::algorithm("auto+" + contract);
  }

  /// Takes the text of all.
  void read_text() {
    for (const char* name :
         {"PAPCOLL_RUN_TAKE_OVER_AFTER", "PAPCOLL_RUN_ALGORITHM", "PAPCOLL_RUN_CONTRACT",
          "PAPCOLL_RUN_IGNORE_GPU", "PAPCOLL_RUN_OFF", "PAPCOLL_RUN_SUMMARY"}) {
      text += value(name, "") + '\n';
    }
  }

 private:
  static std::string value(const char* name, const char* otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr || *text == '\0' ? otherwise : text;
  }
  static bool is_on(const char* name) {
    const std::string text = value(name, "0");
    const auto is = [&](const char* word) { return strcasecmp(text.c_str(), word) == 0; };
    if (is("1") || is("yes") || is("true") || is("on")) return true;
    if (is("0") || is("no") || is("false") || is("off")) return false;
    throw bad_setting(std::string(name) + ": '" + text +
                      "' is not known: there are 1, yes, true, on, and 0, no, false, off");
  }
};

}  // namespace preload
