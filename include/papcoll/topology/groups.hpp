// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Ranks 0…n−1 in groups, such as those of a node. Groups are numbered by their lowest ranks, which
/// are also their representatives.
struct Groups {
  std::vector<std::vector<int>> members;  ///< of each group, ascending
  std::vector<int> of;                    ///< each rank's group

  /// Ranks of one colour, any number, are a group.
  [[gnu::cold]] static Groups by_colour(const std::vector<int>& colours) {
    Groups g;
    std::vector<int> seen;
    for (std::size_t r = 0; r < colours.size(); ++r) {
      const auto at = std::find(seen.begin(), seen.end(), colours[r]) - seen.begin();
      if (at == static_cast<std::ptrdiff_t>(seen.size())) {
        seen.push_back(colours[r]);
        g.members.emplace_back();
      }
      g.members[static_cast<std::size_t>(at)].push_back(static_cast<int>(r));
      g.of.push_back(static_cast<int>(at));
    }
    return g;
  }

  /// Returns the number of groups.
  int count() const noexcept { return static_cast<int>(members.size()); }
  /// Returns the number of ranks.
  int size() const noexcept { return static_cast<int>(of.size()); }
  /// Ranks of the largest group.
  int largest() const noexcept {
    std::size_t most = 0;
    for (const std::vector<int>& ranks : members) most = std::max(most, ranks.size());
    return static_cast<int>(most);
  }
  /// The group of a rank.
  int group_of(int rank) const noexcept { return of[static_cast<std::size_t>(rank)]; }
  /// The ranks of a group, ascending.
  const std::vector<int>& ranks_of(int group) const noexcept {
    return members[static_cast<std::size_t>(group)];
  }
  /// The lowest rank of a group.
  int representative(int group) const noexcept { return ranks_of(group).front(); }

  /// The rank's number in its group.
  int number_of(int rank) const noexcept {
    const std::vector<int>& ranks = ranks_of(group_of(rank));
    return static_cast<int>(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin());
  }

  /// Returns true if the ranks of each group are consecutive, and groups follow each other in rank
  /// order.
  bool contiguous() const noexcept { return std::is_sorted(of.begin(), of.end()); }
};

/// Groups of groups: the first list gives each rank a colour, every further list one to each group
/// of the list before.
using GroupColours = std::vector<std::vector<int>>;

/// Returns what is wrong with the colours of a team of `size` ranks; empty if nothing is.
[[gnu::cold]] inline std::string problem_of(const GroupColours& levels, int size) {
  auto wanted = static_cast<std::size_t>(size);
  for (std::size_t level = 0; level < levels.size(); ++level) {
    if (levels[level].size() != wanted) {
      return detail::joined({"list ", level, " of groups has ", levels[level].size(),
                             " colours for ", wanted,
                             (level == 0 ? " ranks" : " groups of the list before")});
    }
    wanted = Groups::by_colour(levels[level]).members.size();
  }
  return {};
}

/// Returns a hash of the colours.
inline std::uint64_t hash_of(const GroupColours& levels) noexcept {
  std::uint64_t h = 14695981039346656037U;
  for (const auto& level : levels) {
    h = (h ^ level.size()) * 1099511628211U;
    for (const int colour : level) h = (h ^ static_cast<std::uint32_t>(colour)) * 1099511628211U;
  }
  return h;
}

}  // namespace papcoll::inline PAPCOLL_ABI
