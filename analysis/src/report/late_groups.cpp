// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/late_groups.hpp>

#include <papcoll/report/calls.hpp>
#include <papcoll/report/clocks.hpp>
#include <papcoll/report/imbalance.hpp>
#include <papcoll/report/lateness.hpp>
#include <papcoll/report/one_way.hpp>
#include <papcoll/report/run.hpp>
#include <papcoll/report/summary.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {
namespace {

class LateGroupsOf {
 public:
  LateGroupsOf(const Run& run, const Clocks& clocks, const Calls& calls,
               const std::vector<Imbalance>& imbalances, double span, const NamingRule& rule)
      : run_(run),
        clocks_(clocks),
        calls_(calls),
        imbalances_(imbalances),
        span_(span),
        rule_(rule) {}

  std::vector<LateGroup> groups() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> places;
    constexpr std::size_t least = 4;  // of fewer, no two are at most half
    for (std::size_t i = 0; i < calls_.calls.size(); ++i) {
      const Call& c = calls_.calls[i];
      if (!imbalances_[i].known || run_.communicators[c.communicator].members.size() < least) {
        continue;
      }
      places[{c.place, c.communicator}].push_back(static_cast<std::uint32_t>(i));
    }
    tests_ = static_cast<double>(run_.ranks.size() * std::max<std::size_t>(1, places.size()));
    for (const auto& [where, positions] : places) look(where.second, positions);
    std::stable_sort(out_.begin(), out_.end(),
                     [](const LateGroup& a, const LateGroup& b) { return a.cost > b.cost; });
    return std::move(out_);
  }

 private:
  /// One member at the place at hand.
  struct Member {
    std::uint64_t times = 0;
    std::array<std::uint64_t, time_parts> of_part{};
  };

  void look(std::uint32_t communicator, const std::vector<std::uint32_t>& positions) {
    const std::size_t members = run_.communicators[communicator].members.size();
    std::vector<Member> late(members);
    std::array<std::uint64_t, time_parts> calls_of_part{};
    std::vector<double> gaps;
    double waited = 0;
    double sizes = 0;
    double floor = 0;
    LateGroup group;
    for (std::size_t k = 0; k < positions.size(); ++k) {
      const std::size_t part = k * time_parts / positions.size();
      ++calls_of_part.at(part);
      const Call& call = calls_.calls[positions[k]];
      const Split s = split(call);
      if (s.late == 0) continue;
      const Imbalance& i = imbalances_[positions[k]];
      floor = std::max(floor, i.alpha > 0 ? rule_.alphas * i.alpha : rule_.floor);
      gaps.push_back(s.gap);
      waited += s.waited;
      sizes += static_cast<double>(s.late);
      group.example = positions[k];
      for (std::size_t m = 0; m < s.late; ++m) {
        ++late[order_[m]].times;
        ++late[order_[m]].of_part.at(part);
      }
    }
    if (gaps.empty()) return;
    const auto n = static_cast<double>(positions.size());
    const double by_chance = sizes / n / static_cast<double>(members);
    group.typical = percentile(gaps, 0.5);
    group.cost = span_ > 0 ? waited / span_ : 0;
    if (group.typical <= floor || group.cost < rule_.cost) return;
    group.times = positions.size();
    for (std::size_t m = 0; m < members; ++m) {
      const auto times = static_cast<double>(late[m].times);
      if (times < (1 + by_chance) / 2 * n ||
          chance_of(times, n, by_chance) * tests_ > rule_.chance ||
          !is_steady(late[m], calls_of_part)) {
        continue;
      }
      group.ranks.push_back(world_rank(run_, run_.communicators[communicator].members[m]));
      group.times = std::min(group.times, late[m].times);
    }
    std::sort(group.ranks.begin(), group.ranks.end());
    if (group.ranks.size() < 2 || !are_nodes(communicator, group.ranks)) return;
    group.place = calls_.calls[positions.front()].place;
    group.communicator = communicator;
    group.calls = positions.size();
    out_.push_back(std::move(group));
  }

  /// Returns true if `ranks`, in rising order, are all members that their nodes have. Where ranks
  /// share processors, those that get one first may leave as many others late, time and again, in a
  /// balanced program.
  bool are_nodes(std::uint32_t communicator, const std::vector<std::int32_t>& ranks) const {
    const auto is_named = [&ranks](std::int32_t rank) {
      return std::binary_search(ranks.begin(), ranks.end(), rank);
    };
    const auto& members = run_.communicators[communicator].members;
    const auto node = [this](const Communicator::Member& m) {
      return run_.ranks[m.trace].header.node;
    };
    std::map<std::int32_t, bool> named;
    for (const Communicator::Member& m : members) {
      const bool is = is_named(world_rank(run_, m));
      const auto [known, is_new] = named.emplace(node(m), is);
      if (!is_new && known->second != is) return false;
    }
    return true;
  }

  bool is_steady(const Member& m, const std::array<std::uint64_t, time_parts>& calls) const {
    double parts = 0;
    double of = 0;
    for (std::size_t i = 0; i < time_parts; ++i) {
      if (calls.at(i) == 0) continue;
      of += 1;
      if (2 * m.of_part.at(i) >= calls.at(i)) parts += 1;
    }
    return parts >= rule_.parts * of;
  }

  /// How many came late, if that is at least two and at most half; by what; and what each of the
  /// others waited for them in the mean.
  struct Split {
    std::size_t late = 0;
    double gap = 0;
    double waited = 0;
  };

  /// Leaves the members in order_, the latest first.
  Split split(const Call& call) {
    const auto& members = run_.communicators[call.communicator].members;
    const std::size_t n = members.size();
    arrivals_.resize(n);
    order_.resize(n);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    for (std::size_t m = 0; m < n; ++m) {
      const std::uint64_t arrival = calls_.record(run_, call, m).arrival;
      arrivals_[m] = static_cast<double>(clocks_.global(members[m].trace, arrival) - call.begin);
    }
    std::sort(order_.begin(), order_.end(), [this](std::size_t a, std::size_t b) {
      return arrivals_[a] != arrivals_[b] ? arrivals_[a] > arrivals_[b] : a < b;
    });
    const auto at = [this](std::size_t i) { return arrivals_[order_[i]]; };
    std::size_t late = 1;
    for (std::size_t k = 2; k <= n / 2; ++k) {
      if (at(k - 1) - at(k) > at(late - 1) - at(late)) late = k;
    }
    Split s;
    // The least that clocks leave of it.
    double come = std::numeric_limits<double>::max();
    double before = std::numeric_limits<double>::lowest();
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t m = order_[i];
      const double bound =
          is_one_clock_ ? 0 : clocks_.bound(members[m].trace, calls_.record(run_, call, m).arrival);
      if (i < late) come = std::min(come, at(i) - bound);
      if (i >= late) before = std::max(before, at(i) + bound);
    }
    s.gap = come - before;
    // Apart from each other, neither side is further apart than the two from one another.
    if (late < 2 || s.gap <= 0 || s.gap < at(late) - at(n - 1) || s.gap < at(0) - at(late - 1) ||
        !is_own_doing(call, late, s.gap)) {
      return {};
    }
    s.late = late;
    for (std::size_t i = late; i < n; ++i) {
      const std::size_t m = order_[i];
      const profile::Record& r = calls_.record(run_, call, m);
      const double left =
          r.exit == 0 ? at(late) + s.gap
                      : static_cast<double>(clocks_.global(members[m].trace, r.exit) - call.begin);
      s.waited += std::max(0.0, std::min(left, at(late) + s.gap) - at(late)) /
                  static_cast<double>(n - late);
    }
    return s;
  }

  /// Returns true if the late ranks took longer since their calls before than the others, in the
  /// median.
  bool is_own_doing(const Call& call, std::size_t late, double gap) {
    const auto middle = [&](std::size_t begin, std::size_t end) {
      outside_.clear();
      for (std::size_t i = begin; i < end; ++i) {
        const double since = outside_before(run_, calls_, call, order_[i]);
        if (since >= 0) outside_.push_back(since);
      }
      return outside_.empty() ? -1 : percentile(outside_, 0.5);
    };
    const double theirs = middle(0, late);
    const double others = middle(late, order_.size());
    return theirs < 0 || others < 0 || theirs - others >= gap / 2;
  }

  const Run& run_;
  const Clocks& clocks_;
  const Calls& calls_;
  const std::vector<Imbalance>& imbalances_;
  double span_;
  NamingRule rule_;
  double tests_ = 1;
  bool is_one_clock_ = clocks_.all_same();
  std::vector<double> arrivals_, outside_;
  std::vector<std::size_t> order_;
  std::vector<LateGroup> out_;
};
}  // namespace
}  // namespace detail

std::vector<LateGroup> late_groups_of(const Run& run, const Clocks& clocks, const Calls& calls,
                                      const std::vector<Imbalance>& imbalances, double span,
                                      const NamingRule& rule) {
  return detail::LateGroupsOf{run, clocks, calls, imbalances, span, rule}.groups();
}

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
