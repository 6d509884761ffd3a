#pragma once

#include <papcoll/algorithms/static/suara_cost.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>

#include <algorithm>
#include <cstddef>

// Which grid, and what along each of its dimensions: the search.

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// Calls f(c) with c's extents set to all grids, from dimension d down. n: the positions of the
/// longest block. `flat`: also those that have only one row, or only one column without gaps.
void each_grid(SuaraChoice& c, std::size_t d, int n, bool flat, const auto& f) {
  if (d == 1) {
    c.extents[0] = n;
    return f(c);
  }
  const int last = flat ? n : n - 1;
  for (int rows = flat ? 1 : 2; rows <= last; ++rows) {
    const int columns = n / rows;
    const bool longer = rows * columns != n && !c.folded;
    c.extents[d - 1] = rows;
    each_grid(c, d - 1, columns + (longer ? 1 : 0), flat, f);
  }
}

/// The same for both ways to fill gaps.
void each_grid(SuaraChoice c, int p, bool flat, const auto& f) {
  for (const bool folded : {false, true}) {
    c.folded = folded;
    each_grid(c, c.dimensions, p, flat, f);
  }
}

/// Looks for the best choice; costs of lines are computed once.
class SuaraSearch {
 public:
  SuaraSearch(const SuaraModel& model, int p, double m) : model_(model), p_(p), m_(m) {}

  [[gnu::cold]] SuaraChoice best(std::size_t most_dimensions) {
    SuaraChoice flat;
    flat.extents[0] = p_;
    flat.seconds = -1;
    for (const SuaraPart part : suara_parts) {
      if (!model_.commutative && !keeps_order(part)) continue;
      const double seconds = seconds_of(model_, part, p_, m_);
      if (flat.seconds < 0 || seconds < flat.seconds) flat.seconds = seconds, flat.parts[0] = part;
    }
    flat.flat = flat.seconds;
    best_ = flat;
    if (most_dimensions > 1) known_.resize(lengths * (static_cast<std::size_t>(p_) + 1));
    for (std::size_t d = 2; d <= std::min(most_dimensions, SuaraChoice::most); ++d) {
      SuaraChoice c;
      c.dimensions = d;
      each_grid(c, p_, false, [this](SuaraChoice& one) { examine(one); });
    }
    return best_;
  }

 private:
  struct Line {
    SuaraPart part{};
    double seconds = -1;
    SuaraPart other{};  ///< the best but segmented rings
    double other_seconds = -1;
  };

  /// How many lengths the rows of one grid may have: blocks differ by one, and their rows.
  static constexpr std::size_t lengths = 3;

  /// The best algorithms along dimension d.
  [[gnu::cold]] const Line& line(const SuaraLines& lines, std::size_t d) {
    const int longest = lines.lengths[d];
    const int shortest = d == 0 ? lines.shortest : longest;
    Line& known = known_[lengths * static_cast<std::size_t>(longest) +
                         static_cast<std::size_t>(longest - shortest)];
    if (known.seconds >= 0) return known;
    const auto better = [](double a, double b) { return b < 0 || a < b; };
    for (const SuaraPart part : suara_parts) {
      if (!model_.commutative && !keeps_order(part)) continue;
      const double seconds = detail::seconds_along(model_, part, shortest, longest, m_);
      if (better(seconds, known.seconds)) known.part = part, known.seconds = seconds;
      if (part == SuaraPart::segmented_ring) continue;
      if (better(seconds, known.other_seconds)) known.other = part, known.other_seconds = seconds;
    }
    return known;
  }

  [[gnu::cold]] void examine(SuaraChoice& c) {
    const SuaraLines lines = lines_of(p_, c);
    const double gaps = seconds_of_gaps(model_, lines, m_);
    double seconds = gaps;
    bool all_segmented = true;
    for (std::size_t d = 0; d < c.dimensions; ++d) {
      const Line& l = line(lines, d);
      c.parts[d] = l.part;
      seconds += l.seconds;
      all_segmented = all_segmented && l.part == SuaraPart::segmented_ring;
    }
    if (!all_segmented) {
      take(c, seconds);
    } else {  // which is a case of its own: see below
      for (std::size_t d = 0; d < c.dimensions; ++d) {
        const Line& l = line(lines, d);
        c.parts[d] = l.other;
        take(c, seconds - l.seconds + l.other_seconds);
        c.parts[d] = l.part;
      }
    }
    if (!model_.commutative) return;
    c.parts.fill(SuaraPart::segmented_ring);
    take(c, seconds_of_rings(model_, lines, c.dimensions, m_));
  }

  [[gnu::cold]] void take(const SuaraChoice& c, double seconds) {
    if (seconds >= best_.seconds) return;
    const double flat = best_.flat;
    best_ = c;
    best_.seconds = seconds;
    best_.flat = flat;
  }

  const SuaraModel& model_;
  int p_;
  double m_;
  Vector<Line> known_;
  SuaraChoice best_;
};

}  // namespace detail

/// The best of all grids of at most so many dimensions (up to 3), with and without gaps, and all
/// algorithms for each of them, by the corrected closed forms. All ranks find the same. A search
/// among P positions takes some P evaluations of each closed form for two dimensions (16 µs for 64
/// positions, 0.25 ms for 1,000), and some P·log P sums for three.
[[gnu::cold]] inline SuaraChoice choose_suara(const SuaraModel& model, int p, double m,
                                              std::size_t most_dimensions = 2) {
  return detail::SuaraSearch{model, p, m}.best(most_dimensions);
}

/// The best grid for given algorithms: `choice` says how many dimensions and what runs along them.
[[gnu::cold]] inline SuaraChoice choose_suara_grid(const SuaraModel& model,
                                                   const SuaraChoice& choice, int p, double m) {
  SuaraChoice best = choice;
  best.seconds = -1;
  detail::each_grid(choice, p, true, [&](SuaraChoice& c) {
    c.seconds = seconds_of(model, c, p, m);
    if (best.seconds < 0 || c.seconds < best.seconds) best = c;
  });
  return best;
}

}  // namespace papcoll::inline PAPCOLL_ABI
