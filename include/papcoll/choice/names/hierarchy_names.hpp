#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/policy.hpp>

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

constexpr std::string_view without_blanks(std::string_view text) noexcept {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// The pieces of a name of levels: [policy "+"] levels ["+" policy].
struct LevelsText {
  std::vector<std::string_view> beside;  ///< policies that are no part of a level
  bool is_open = false;                  ///< no parts are written
  std::string_view parts;                ///< else: what follows the colon
};

/// Takes a name apart if it is one of levels, whose schedule is called `levels`.
[[gnu::cold]] inline std::optional<LevelsText> split_levels(std::string_view text,
                                                            std::string_view levels) {
  constexpr auto none = std::string_view::npos;
  LevelsText found;
  for (std::size_t plus = text.find('+'); plus != none; plus = text.find('+')) {
    const std::string_view first = without_blanks(text.substr(0, plus));
    if (first.substr(0, first.find(':')) == levels) break;
    if (text.substr(plus + 1).find(levels) == none || first.find(':') != none) return {};
    found.beside.push_back(first);
    text = without_blanks(text.substr(plus + 1));
  }
  if (text.substr(0, text.find_first_of(":+")) != levels) return {};
  text.remove_prefix(levels.size());
  for (std::size_t plus = text.rfind('+'); plus != none; plus = text.rfind('+')) {
    const std::string_view last = without_blanks(text.substr(plus + 1));
    if (text.front() == ':' && !contract_named(last)) break;  // the last part's
    found.beside.push_back(last);
    text = without_blanks(text.substr(0, plus));
  }
  found.is_open = text.empty();
  if (!found.is_open) found.parts = text.substr(1);
  return found;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
