// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The grid that Suara's ranks make, in words: they need not fit the one that its name gives.

#include <papcoll/algorithms/static/suara.hpp>
#include <papcoll/algorithms/static/suara_choice.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// Describes a grid of so many ranks; the extents are Suara's.
class GridWords {
 public:
  GridWords(int ranks, std::span<const int> extents, std::size_t dimensions, bool folded)
      : folded_(folded), lengths_(dimensions, 1), text_(grid(ranks, extents, dimensions)) {}

  const std::string& text() const noexcept { return text_; }

  /// Returns what the ranks do that the grid has no place for.
  std::string about_extras() const {
    return std::string(longer_ ? "; the last rank of a longer one is handed the result" : "") +
           (too_many_ ? "; a neighbour speaks for a folded rank" : "");
  }

  /// Returns the lengths of the dimensions, the inmost first; the shorter where they differ.
  const std::vector<int>& lengths() const noexcept { return lengths_; }

  /// Returns true if it is the grid of these extents, of which the last may be left out.
  bool is(const std::vector<int>& extents) const {
    const auto same = [](const std::vector<int>& given, const std::vector<int>& lengths) {
      return std::equal(given.begin(), given.end(), lengths.begin());
    };
    std::vector<int> longest = lengths_;
    longest.front() = longest_;
    return same(extents, lengths_) || same(extents, longest);
  }

 private:
  std::string grid(int n, std::span<const int> extents, std::size_t dimensions) {
    const auto g = UnevenGrid::of(n, rows_of_grid(n, extents, dimensions));
    const bool has_longer = g.extras > 0 && !folded_;
    const std::size_t inner = dimensions - 1;
    std::string text = std::to_string(g.rows) + (inner == 1 ? " row" : " block") +
                       (g.rows == 1 ? "" : "s") + " of " + std::to_string(g.columns);
    if (has_longer) {
      longer_ = true;
      text += " (the first " + (g.extras == 1 ? "" : std::to_string(g.extras) + " ") + "of " +
              std::to_string(g.columns + 1) + ")";
    } else if (g.extras > 0) {
      too_many_ = true;
      text += " and " + std::to_string(g.extras) + " folded";
    }
    if (inner > 1) {
      const auto within = extents.first(std::min(inner, extents.size()));
      // The longer block first, so that the lengths that stay are the shorter's.
      const std::string longer = has_longer ? grid(g.columns + 1, within, inner) : "";
      text += ", each " + grid(g.columns, within, inner);
      if (has_longer) text += ", the longer " + longer;
    }
    lengths_[inner] = g.rows;
    if (inner == 1) {
      lengths_[0] = g.columns;
      longest_ = std::max(longest_, g.columns + (has_longer ? 1 : 0));
    }
    return text;
  }

  bool folded_;
  int longest_ = 1;
  bool longer_ = false;
  bool too_many_ = false;
  std::vector<int> lengths_;
  std::string text_;
};

/// Returns the grid that so many ranks make of Suara's name, for so many bytes, in one line; empty
/// if the schedule is none of Suara's or has no grid.
inline std::string suara_grid_text(const AnySchedule& schedule, int ranks, std::size_t bytes) {
  const AnySuara* const named = schedule.target<AnySuara>();
  if (named == nullptr) return {};
  const AnySchedule resolved = schedule.resolved(ranks, bytes);
  const AnySuara* const played = resolved.target<AnySuara>();
  if (played == nullptr || played->along.size() < 2 || ranks == 1) return {};
  const GridWords words{ranks, played->extents, played->along.size(), played->folded};
  std::string text = words.text();
  for (std::size_t d = 0; d < played->along.size(); ++d) {
    if (words.lengths()[d] == ranks) text += ", which is " + played->along[d].name() + " alone";
  }
  if (const std::vector<int>& given = named->extents; !words.is(given)) {
    text += ", instead of " + std::string(given.size() == 1 ? "rows of " : "") +
            detail::extents_text(given);
  }
  return text + words.about_extras();
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
