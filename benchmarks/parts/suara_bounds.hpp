// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "parts/suara_candidates.hpp"

#include <papcoll/algorithms/static/suara_choice.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

// Below what time no grid can be, and which grids that leaves open. A grid cannot be quicker than
// its longest lines one after the other: a bound, which all grids without gaps meet. Bounds count
// by `slacks`, since those who have less to do in a grid with gaps hand on early. Segmented rings
// in all dimensions overlap, and go by the closed form instead, with more slack. Lines are
// simulated only where bounds from their bytes and messages leave it open.

namespace bench::suara {

using namespace papcoll;

struct Slack {
  double line = 0.80;  ///< of a line's closed form
  double full = 0.98;
  double gaps = 0.95;
  double rings = 0.92;  ///< of the closed form
};
inline constexpr Slack slacks;

/// What the candidates take along lines, simulated once each.
class Lines {
 public:
  Lines(const std::vector<Candidate>& candidates, double m) : candidates_(candidates), m_(m) {}

  double seconds(std::size_t candidate, int n) {
    if (n < 2) return 0;
    const auto [at, fresh] = known_.try_emplace({candidate, n}, 0.0);
    if (fresh) {  // a grid of one row, in which steps are held apart as in any other
      const Candidate& c = candidates_[candidate];
      at->second = simulated(AnySuara{{c.schedule, Ring{}}, {n}, false}, n, m_);
      least_ = std::min(least_, at->second / by_form(c, n, m_));
    }
    return at->second;
  }

  std::size_t count() const { return known_.size(); }
  /// A simulation over its closed form.
  double least() const { return least_; }

 private:
  const std::vector<Candidate>& candidates_;
  double m_;
  std::map<std::pair<std::size_t, int>, double> known_;
  double least_ = 1e9;
};

/// A grid, and which candidate runs along each dimension.
struct Grid {
  SuaraChoice choice;
  std::array<std::size_t, SuaraChoice::most> along{};
  bool gaps = false;
  bool rings = false;  ///< segmented, in all dimensions
  double bound = 0;

  double slack() const { return rings ? 1 : gaps ? slacks.gaps : slacks.full; }
  /// Seconds.
  double least() const { return bound * slack(); }

  AnySchedule schedule(const std::vector<Candidate>& candidates, int ranks) const {
    AnySuara s;
    s.folded = choice.folded;
    const papcoll::detail::SuaraLines lines = papcoll::detail::lines_of(ranks, choice);
    for (std::size_t d = 0; d < choice.dimensions; ++d) {
      s.along.push_back(candidates[along[d]].schedule);
      s.extents.push_back(d == 0 ? lines.lengths[0] : choice.extents[d]);
    }
    return s;
  }
};

/// Which grids bounds from bytes and messages, then from lines, leave open.
class Sieve {
 public:
  /// `best`: seconds that a grid must be able to undercut.
  Sieve(const std::vector<Candidate>& candidates, Lines& lines, int ranks, double m, double best)
      : candidates_(candidates), lines_(lines), p_(ranks), m_(m), best_(best) {}

  /// Those of 2 to so many dimensions, from the lowest bound on.
  std::vector<Grid> open(std::size_t dimensions) {
    for (std::size_t d = 2; d <= dimensions; ++d) {
      SuaraChoice c;
      c.dimensions = d;
      papcoll::detail::each_grid(c, p_, false, [this](const SuaraChoice& one) { pairs_on(one); });
    }
    std::sort(open_.begin(), open_.end(),
              [](const Grid& a, const Grid& b) { return a.least() < b.least(); });
    return std::move(open_);
  }

  /// All that it looked at.
  std::size_t grids() const { return grids_; }

 private:
  void pairs_on(const SuaraChoice& c) {
    const papcoll::detail::SuaraLines lines = papcoll::detail::lines_of(p_, c);
    Grid g;
    g.choice = c;
    g.gaps = lines.folds + lines.hand_overs > 0;
    if (c.folded && !g.gaps) return;  // as without
    along(g, 0, lines);
  }

  void along(Grid& g, std::size_t d, const papcoll::detail::SuaraLines& lines) {
    if (d == g.choice.dimensions) return add(g, lines);
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      g.along[d] = i;
      g.choice.parts[d] = candidates_[i].part;
      along(g, d + 1, lines);
    }
  }

  void add(Grid g, const papcoll::detail::SuaraLines& lines) {
    ++grids_;
    g.rings = true;
    double floor = 0;
    for (std::size_t d = 0; d < g.choice.dimensions; ++d) {
      g.rings &= g.choice.parts[d] == SuaraPart::segmented_ring;
      floor += slacks.line * by_form(candidates_[g.along[d]], lines.lengths[d], m_);
    }
    if (g.rings) {
      g.bound = slacks.rings * seconds_of(model_, g.choice, p_, m_);
      if (g.bound < best_) open_.push_back(g);
      return;
    }
    const double gaps = papcoll::detail::seconds_of_gaps(taking_turns(), lines, m_);
    if ((floor + gaps) * g.slack() >= best_) return;
    g.bound = gaps;
    for (std::size_t d = 0; d < g.choice.dimensions; ++d) {
      g.bound += lines_.seconds(g.along[d], lines.lengths[d]);
      if (g.least() >= best_) return;
    }
    open_.push_back(g);
  }

  const std::vector<Candidate>& candidates_;
  Lines& lines_;
  int p_;
  double m_;
  double best_;
  SuaraModel model_ = network_model();
  std::vector<Grid> open_;
  std::size_t grids_ = 0;
};

}  // namespace bench::suara
