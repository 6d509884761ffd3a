// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// For programs that read their command line with CLI11, whose own words for what it does not know
// name all that follows, too, and no remedy.

#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// For options with a value, which CLI11 takes from whatever follows: none that is an option.
inline CLI::Validator no_option() {
  return CLI::Validator(
      [](const std::string& text) {
        return text.starts_with("--")
                   ? text + " follows, and no value: write one, or ./" + text + " for such a file"
                   : std::string{};
      },
      "");
}

/// The long option that is meant, if it begins or ends so or at most one letter in three is wrong.
inline std::string nearest_option(const CLI::App& app, const std::string& written) {
  constexpr std::size_t dashes = 2;
  std::string nearest;
  std::size_t least = (std::max(written.size(), dashes) - dashes) / 3 + 1;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& letters : option->get_lnames()) {
      const std::string name = "--" + letters;
      const bool is_part = written.size() > dashes &&
                           (name.starts_with(written) || name.ends_with(written.substr(1)));
      const std::size_t distance = is_part ? 0 : detail::edit_distance(written, name);
      if (distance >= least) continue;
      least = distance;
      nearest = name;
    }
  }
  return nearest;
}

/// After parse() threw: the first option or subcommand that there is not, or not at that place, and
/// the remedy, in a sentence; empty if there is none. `command` is what the program is called.
inline std::string misspelt(const CLI::App& app, std::string command) {
  const auto given = app.get_subcommands();
  const bool within = !given.empty() && app.remaining().empty();
  const CLI::App& at = within ? *given.front() : app;
  if (within) command += " " + at.get_name();
  const std::vector<std::string> unknown = at.remaining();
  const auto is_option = [](const std::string& word) {
    return word.size() > 1 && word != "--" && word[0] == '-' && (word[1] < '0' || word[1] > '9');
  };
  const auto commands = at.get_subcommands(nullptr);
  const bool names_none = unknown.empty() || unknown.front().empty() || unknown.front() == "--";
  if (!names_none && !commands.empty() && given.empty() && !is_option(unknown.front())) {
    std::vector<std::string> names;
    for (const CLI::App* one : commands) names.push_back(one->get_name());
    return "there is no subcommand " + unknown.front() + ": " +
           detail::similar_names(unknown.front(), {names.begin(), names.end()});
  }
  const auto option = std::find_if(unknown.begin(), unknown.end(), is_option);
  if (option == unknown.end()) return {};
  const std::string name = option->substr(0, option->find('='));
  for (const CLI::App* one : commands) {
    if (one->get_option_no_throw(name) == nullptr) continue;
    return name + " belongs to a subcommand: write it after " + one->get_name();
  }
  const std::string nearest = nearest_option(at, name);
  return "there is no " + name + ": " +
         (nearest.empty() ? "see " + command + " --help" : "did you mean " + nearest + "?");
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
