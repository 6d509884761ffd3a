// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/clock_check.hpp>

#include <papcoll/report/calls.hpp>
#include <papcoll/report/clocks.hpp>
#include <papcoll/report/run.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {

bool is_left_by_nobody_before_all_came(const Run& run, const Call& c) {
  using enum profile::MpiCollective;
  const bool has_data = (c.collective == allreduce || c.collective == allgather) && c.bytes > 0;
  return c.complete && !c.differs && c.flags == 0 && c.end != 0 &&
         (c.collective == barrier || has_data) &&
         (run.communicators[c.communicator].flags & profile::communicator_inter) == 0;
}

namespace {

/// Where a clock's correction must lie at a time of its own.
struct Allowed {
  double at, low, high;
  bool after_a_jump = false;

  /// Returns what holds some time before or later.
  Allowed when(double time) const {
    const double more = Clocks::drift * std::fabs(time - at);
    return {time, low - more, high + more, after_a_jump};
  }
  bool meets(const Allowed& o) const { return low <= o.high && o.low <= high; }
  void narrow(const Allowed& o) {
    low = std::max(low, o.low);
    high = std::min(high, o.high);
  }
};

/// Returns what is left open at each time by all that is known of a clock. A jump is where two that
/// follow one another exclude each other; those before it that would also hold after it are left
/// out, as it may have been before them.
std::vector<Allowed> narrowed(std::vector<Allowed> all) {
  std::sort(all.begin(), all.end(), [](const Allowed& a, const Allowed& b) { return a.at < b.at; });
  std::vector<Allowed> out;
  for (Allowed now : all) {
    if (!out.empty()) {
      const Allowed before = out.back().when(now.at);
      now.after_a_jump = !before.meets(now);
      if (!now.after_a_jump) now.narrow(before);
    }
    out.push_back(now);
  }
  std::vector<Allowed> kept;  // from the last one on
  for (std::size_t i = out.size(); i-- > 0;) {
    Allowed now = out[i];
    if (!kept.empty()) {
      const Allowed later = kept.back().when(now.at);
      if (kept.back().after_a_jump) {
        const bool is_first = i == 0 || now.after_a_jump;
        if (!is_first && later.meets(all[i])) continue;
      } else {
        now.narrow(later);
      }
    }
    kept.push_back(now);
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

/// One way through what is allowed that changes by no more than clocks drift, but for jumps, and
/// lets no time run backwards.
std::vector<Clocks::Correction> corrections_in(const std::vector<Allowed>& all) {
  std::vector<Clocks::Correction> out;
  for (const Allowed& a : all) {
    const bool is_new = out.empty() || a.after_a_jump;
    const double least =
        out.empty() ? a.low : std::max(a.low, out.back().value - (a.at - out.back().at));
    const double value =
        std::max(least, std::min(a.high, is_new ? a.low / 2 + a.high / 2 : out.back().value));
    out.push_back({a.at, value, std::max(a.high - value, value - a.low), a.after_a_jump});
  }
  return out;
}

/// Finds the clocks that contradict the calls, and corrects them.
class ClockCheck {
 public:
  ClockCheck(const Run& run, Clocks& clocks, const Calls& calls)
      : run_(run), clocks_(clocks), calls_(calls), group_of_(run.ranks.size()) {}

  /// Returns whether a clock was corrected.
  bool correct() {
    std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> known;
    for (std::size_t t = 0; t < run_.ranks.size(); ++t) {
      const profile::FileHeader& h = run_.ranks[t].header;
      group_of_[t] = known.try_emplace({h.clock, h.node}, known.size()).first->second;
    }
    groups_.resize(known.size());
    split();
    for (std::size_t t = 0; t < group_of_.size(); ++t) {
      Group& g = groups_[group_of_[t]];
      g.traces.push_back(t);
      if (g.fault.ranks.empty()) g.fault.trace = t;
      g.fault.ranks.push_back(run_.ranks[t].rank());
      g.fault.jump = clocks_.jump(t);
      g.fault.over = clocks_.measured_over(t);
      g.at_begin = static_cast<double>(run_.ranks[t].header.clock_begin.bound);
    }
    std::erase_if(groups_, [](const Group& g) { return g.traces.empty(); });
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (const std::size_t t : groups_[g].traces) group_of_[t] = g;
    }
    if (groups_.size() < 2) return false;
    find_jump_of_rank_0();
    for (Group& g : groups_) g.wrong = g.fault.jump != 0;
    constexpr int most_rounds = 16;  // each looks at all calls
    for (int i = 0; blame_next(i >= most_rounds); ++i) {
    }
    if (std::none_of(groups_.begin(), groups_.end(), [](const Group& g) { return g.wrong; })) {
      return false;
    }
    for (const Group& g : groups_) {
      if (g.wrong) clocks_.distrust_end(g.traces);
    }
    for_each_call([this](const Call& c) { compare(c); });
    for (Group& g : groups_) {
      if (!g.wrong) continue;
      add_measured(g);
      clocks_.correct(g.traces, std::move(g.fault), corrections_in(narrowed(std::move(g.allowed))));
    }
    return true;
  }

 private:
  /// Ranks of one clock on one node, and what a call has of them.
  struct Group {
    std::vector<std::size_t> traces;
    ClockFault fault;
    bool wrong = false;
    double at_begin = 0;   // the bound of what was measured there
    double taken_out = 0;  // of what was measured at the end
    std::vector<Allowed> allowed;

    double come = 0, leave = 0;  // the last arrival, the first exit, as clocks have them
    double bound = 0;
    std::uint64_t at = 0, until = 0;  // the same by the group's own clock
    std::size_t seen = 0;             // by which look()
  };

  template <class F> void for_each_call(const F& f) const {
    for (const Call& c : calls_.calls) {
      if (is_left_by_nobody_before_all_came(run_, c)) f(c);
    }
  }

  template <class F> void for_each_record(const Call& c, const F& f) const {
    const auto& members = run_.communicators[c.communicator].members;
    for (const Calls::Entry& e : calls_.of(c)) {
      f(members[e.member].trace, Calls::record(run_, c, e));
    }
  }

  /// Ranks of which one leaves before another one comes do not read one clock.
  void split() {
    std::vector<bool> is_split(groups_.size());
    std::vector<std::uint64_t> come(groups_.size()), leave(groups_.size());
    for_each_call([&](const Call& c) {
      for_each_record(c, [&](std::size_t t, const profile::Record&) {
        come[group_of_[t]] = 0;
        leave[group_of_[t]] = std::numeric_limits<std::uint64_t>::max();
      });
      for_each_record(c, [&](std::size_t t, const profile::Record& r) {
        const std::size_t g = group_of_[t];
        come[g] = std::max(come[g], r.arrival);
        leave[g] = std::min(leave[g], r.exit);
        if (come[g] > leave[g]) is_split[g] = true;
      });
    });
    for (std::size_t& g : group_of_) {
      if (!is_split[g]) continue;
      g = groups_.size();
      groups_.emplace_back();
    }
  }

  /// All are measured against rank 0: if all others jumped alike, it was rank 0's clock.
  void find_jump_of_rank_0() {
    std::map<std::int32_t, double> by_clock;  // which split() may have made several groups of
    double tolerance = 0;
    double over = 0;
    for (const Group& g : groups_) {
      const profile::FileHeader& h = header(g);
      if (h.clock == 0 || g.fault.over == 0) continue;
      if (g.fault.jump == 0) return;
      by_clock[h.clock] = g.fault.jump;
      over = g.fault.over;
      const auto bounds = static_cast<double>(h.clock_begin.bound + h.clock_end.bound);
      tolerance = std::max(tolerance, 2 * (bounds + Clocks::drift * std::fabs(g.fault.over)));
    }
    std::vector<double> jumps;
    jumps.reserve(by_clock.size());
    for (const auto& [clock, jump] : by_clock) jumps.push_back(jump);
    std::sort(jumps.begin(), jumps.end());
    constexpr std::size_t several = 2;  // of two clocks nobody knows which one it was
    if (jumps.size() < several) return;
    const double jump = jumps[jumps.size() / 2];
    constexpr double alike = 0.5;
    if (tolerance > alike * std::fabs(jump) || jumps.back() - jumps.front() > tolerance) return;
    for (Group& g : groups_) {
      const profile::FileHeader& h = header(g);
      if (h.clock == 0) {
        g.fault.jump = -jump;
        g.fault.over = over;
        g.fault.of_rank_0 = true;
        const auto began = static_cast<double>(h.began);
        g.allowed.push_back({began, -tolerance, tolerance});
        g.allowed.push_back({began + over + jump, -jump - tolerance, -jump + tolerance});
        continue;
      }
      for (const std::size_t t : g.traces) clocks_.take_out(t, jump);
      g.fault.jump = clocks_.jump(g.traces.front());
      g.taken_out = jump;
    }
  }

  const profile::FileHeader& header(const Group& g) const {
    return run_.ranks[g.traces.front()].header;
  }

  /// Takes the group for wrong that is blamed for most calls; what it caused, no other one did.
  /// `all`: takes all that are blamed but the first one. Returns false if none is.
  bool blame_next(bool all) {
    for (Group& g : groups_) {
      if (!g.wrong) g.fault.calls = 0;
      if (!g.wrong) g.fault.worst = 0;
    }
    for_each_call([this](const Call& c) { blame(c); });
    Group* most = nullptr;
    for (Group& g : groups_) {
      if (g.wrong || g.fault.calls == 0) continue;
      // Of as many the last one, so that rank 0's is blamed for no other's.
      if (most == nullptr || g.fault.calls >= most->fault.calls) most = &g;
      if (all && &g != &groups_[group_of_.front()]) g.wrong = true;
    }
    if (most != nullptr) most->wrong = true;
    return most != nullptr;
  }

  /// What the groups have of a call, in `here_`; `all`: also those that are wrong.
  void look(const Call& c, bool all) {
    here_.clear();
    ++looks_;
    for_each_record(c, [&](std::size_t t, const profile::Record& r) {
      Group& g = groups_[group_of_[t]];
      if (!all && g.wrong) return;
      const auto come = static_cast<double>(clocks_.measured(t, r.arrival) - c.begin);
      const auto leave = static_cast<double>(clocks_.measured(t, r.exit) - c.begin);
      if (g.seen != looks_) {
        g.seen = looks_;
        here_.push_back(&g);
        g.come = come;
        g.leave = leave;
        g.at = r.arrival;
        g.until = r.exit;
      } else {
        g.come = std::max(g.come, come);
        g.leave = std::min(g.leave, leave);
        g.at = std::max(g.at, r.arrival);
        g.until = std::min(g.until, r.exit);
      }
      g.bound = clocks_.bound(t, r.exit);
    });
  }

  /// There is a moment at which all are in the call. Those who are not in it when most are, are
  /// blamed; where as many are at two times, those who are not in it at either.
  void blame(const Call& c) {
    look(c, false);
    double from = std::numeric_limits<double>::lowest();
    double until = std::numeric_limits<double>::max();
    for (const Group* g : here_) {
      from = std::max(from, g->come - g->bound);
      until = std::min(until, g->leave + g->bound);
    }
    if (from <= until) return;
    std::vector<std::pair<double, double>> steps;  // time, and how many are in the call from it on
    for (const Group* g : here_) {
      // Of two clocks the first one's is right.
      const double weight = here_.size() == 2 && g == here_.front() ? 2 : 1;
      steps.emplace_back(g->come - g->bound, -weight);  // those who come, first
      steps.emplace_back(g->leave + g->bound, weight);
    }
    std::sort(steps.begin(), steps.end());
    double inside = 0;
    double most = 0;
    std::pair<double, double> first, last;  // times at which most are inside
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
      inside -= steps[i].second;
      if (inside < most || inside <= 0) continue;
      last = {steps[i].first, steps[i + 1].first};
      if (inside > most) first = last;
      most = inside;
    }
    for (Group* g : here_) {
      double off = 0;
      for (const auto& [begin, end] : {first, last}) {
        off = std::max({off, g->come - g->bound - end, begin - g->leave - g->bound});
      }
      g->fault.calls += off > 0 ? 1 : 0;
      g->fault.worst = std::max(g->fault.worst, off);
    }
  }

  /// What a call says of the clocks that are wrong, by those that are right.
  void compare(const Call& c) {
    look(c, true);
    double come = std::numeric_limits<double>::lowest();
    double leave = std::numeric_limits<double>::max();
    bool is_told = false;
    for (const Group* g : here_) {
      if (g->wrong) continue;
      is_told = true;
      come = std::max(come, g->come - g->bound);
      leave = std::min(leave, g->leave + g->bound);
    }
    if (!is_told) return;
    for (Group* g : here_) {
      if (!g->wrong) continue;
      const double more = Clocks::drift * static_cast<double>(g->until - g->at);
      const Allowed a{static_cast<double>(g->at), come - g->leave - more, leave - g->come + more};
      const double off = std::max(a.low, -a.high) - g->at_begin;
      if (g->fault.jump != 0 && off > 0) {
        ++g->fault.calls;
        g->fault.worst = std::max(g->fault.worst, off);
      }
      // A clock that jumps within the call may allow nothing.
      if (g->until >= g->at && a.low <= a.high) g->allowed.push_back(a);
    }
  }

  /// What was measured at begin and end, if anything was.
  void add_measured(Group& g) const {
    const std::size_t t = g.traces.front();
    const profile::FileHeader& h = run_.ranks[t].header;
    if (h.clock == 0) return;
    profile::ClockPoint end = h.clock_end;
    end.offset -= std::llround(g.taken_out);
    for (const profile::ClockPoint& p : {h.clock_begin, end}) {
      if (p.measured == 0) continue;
      const auto is = static_cast<double>(p.at + p.offset -
                                          clocks_.measured(t, static_cast<std::uint64_t>(p.at)));
      const auto bound = static_cast<double>(p.bound);
      g.allowed.push_back({static_cast<double>(p.at), is - bound, is + bound});
    }
  }

  const Run& run_;
  Clocks& clocks_;
  const Calls& calls_;
  std::vector<std::size_t> group_of_;  // of each trace
  std::vector<Group> groups_;
  std::vector<Group*> here_;
  std::size_t looks_ = 0;
};
}  // namespace
}  // namespace detail

Calls checked_calls(const Run& run, Clocks& clocks) {
  Calls calls = join_calls(run, clocks);
  if (detail::ClockCheck{run, clocks, calls}.correct()) calls = join_calls(run, clocks);
  return calls;
}

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
