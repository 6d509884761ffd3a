#pragma once

#include <papcoll/schedule/range.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// Where the current value of an element stands while a plan is made: in a space, at the element's
/// number in the vector plus `shift` (modulo 2^64, so that it may be less).
struct ElementLocation {
  enum Where : unsigned char {
    absent,
    in,
    out,
    scratch,  ///< which has a place for every element
    area,     ///< of scratch memory that is used again, see Areas
  };
  Where where = absent;
  std::size_t shift = 0;
  friend bool operator==(const ElementLocation&, const ElementLocation&) = default;
};

/// The locations of all elements of a vector.
class ElementLocations {
 public:
  /// Elements that stand together.
  struct Piece {
    Range range;
    ElementLocation location;
  };

  /// `size` elements that are absent.
  explicit ElementLocations(std::size_t size) : pieces_{{{0, size}, ElementLocation{}}} {}

  /// The pieces that r is made of, as long as can be, in order.
  [[gnu::cold]] std::vector<Piece> in(Range r) const {
    std::vector<Piece> found;
    if (r.empty()) return found;
    for (auto p = at(r.lo); p != pieces_.end() && p->range.lo < r.hi; ++p) {
      found.push_back({{std::max(p->range.lo, r.lo), std::min(p->range.hi, r.hi)}, p->location});
    }
    return found;
  }

  /// From now on r, which is not empty, has this location.
  [[gnu::cold]] void place(Range r, ElementLocation location) {
    auto first = at(r.lo);
    auto last = std::partition_point(first, pieces_.end(),
                                     [&](const Piece& p) { return p.range.hi < r.hi; });
    // What is left of the pieces at both ends; with r it grows together where it has the same.
    Piece before{{first->range.lo, r.lo}, first->location};
    Piece after{{r.hi, last->range.hi}, last->location};
    ++last;
    if (before.range.empty() && first != pieces_.begin()) before = *--first;
    if (after.range.empty() && last != pieces_.end()) after = *last++;
    Piece now{r, location};
    if (before.location == location) now.range.lo = before.range.lo;
    if (after.location == location) now.range.hi = after.range.hi;
    Piece pieces[3];
    std::size_t n = 0;
    if (before.location != location && !before.range.empty()) pieces[n++] = before;
    pieces[n++] = now;
    if (after.location != location && !after.range.empty()) pieces[n++] = after;
    const auto there = static_cast<std::size_t>(last - first);
    const std::size_t kept = std::min(n, there);
    std::copy(pieces, pieces + kept, first);
    first += static_cast<std::ptrdiff_t>(kept);
    if (kept < n) {
      pieces_.insert(first, pieces + kept, pieces + n);
    } else {
      pieces_.erase(first, last);
    }
  }

 private:
  using Iterator = std::vector<Piece>::iterator;

  std::vector<Piece>::const_iterator at(std::size_t element) const {
    return std::partition_point(pieces_.begin(), pieces_.end(),
                                [&](const Piece& p) { return p.range.hi <= element; });
  }
  Iterator at(std::size_t element) {
    return std::partition_point(pieces_.begin(), pieces_.end(),
                                [&](const Piece& p) { return p.range.hi <= element; });
  }

  std::vector<Piece> pieces_;  ///< sorted, covering the vector; neighbours have different locations
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
