// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/lateness.hpp>

#include <papcoll/report/calls.hpp>
#include <papcoll/report/clocks.hpp>
#include <papcoll/report/imbalance.hpp>
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
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {

double chance_of(double k, double n, double p) {
  if (n <= 0 || k <= n * p) return 1;
  if (p <= 0) return 0;
  const double q = std::min(k / n, 1.0);
  const double rest = q < 1 ? (1 - q) * std::log((1 - q) / (1 - p)) : 0;
  return std::exp(-n * (q * std::log(q / p) + rest));
}

namespace {

class LatenessOf {
 public:
  LatenessOf(const Run& run, const Calls& calls, const std::vector<Imbalance>& imbalances,
             const NamingRule& rule, double span)
      : run_(run), calls_(calls), imbalances_(imbalances), rule_(rule), span_(span) {}

  LatenessReport report() {
    std::map<std::uint32_t, std::vector<std::uint32_t>> places;
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    for (std::size_t i = 0; i < calls_.calls.size(); ++i) {
      const Call& c = calls_.calls[i];
      first = std::min(first, c.begin);
      last = std::max({last, c.begin, c.end});
      if (imbalances_[i].known) places[c.place].push_back(static_cast<std::uint32_t>(i));
    }
    if (last > first) calls_span_ = static_cast<double>(last - first);
    out_.span = span_ > 0 ? span_ : calls_span_;
    tests_ = static_cast<double>(run_.ranks.size() * std::max<std::size_t>(1, places.size()));
    all_.resize(run_.ranks.size());
    gaps_.resize(run_.ranks.size());
    others_.resize(run_.ranks.size());
    for (const auto& [p, positions] : places) place(p, positions);
    ranks();
    std::stable_sort(out_.at_places.begin(), out_.at_places.end(),
                     [](const Lateness& a, const Lateness& b) { return a.own > b.own; });
    std::stable_sort(out_.stragglers.begin(), out_.stragglers.end(),
                     [](const Straggler& a, const Straggler& b) { return a.cost > b.cost; });
    std::stable_sort(out_.single_delays.begin(), out_.single_delays.end(),
                     [](const SingleDelay& a, const SingleDelay& b) { return a.gap > b.gap; });
    return std::move(out_);
  }

 private:
  /// One rank at the place at hand.
  struct PlaceTally {
    Lateness sum;
    std::vector<double> gaps, others, large;  ///< of its own lasts
    std::vector<double> all_gaps, all_others;
    Majority<std::uint32_t> places;
    std::map<std::uint32_t, std::uint32_t> example_at;  ///< by place, the latest of its own lasts
    std::array<std::uint64_t, time_parts> own_of_part{};
    std::array<std::uint64_t, time_parts> large_of_part{};
    std::vector<std::size_t> at;     ///< of `gaps`, among the calls of the place
    std::vector<double> own_waited;  ///< of the same
    double floor = 0;                ///< the largest number of α of its lasts
    double large_own = 0;
  };

  std::uint32_t trace_of_last(const Call& c, const Imbalance& i) const {
    return run_.communicators[c.communicator].members[i.last].trace;
  }

  void place(std::uint32_t number, const std::vector<std::uint32_t>& positions) {
    std::map<std::uint32_t, PlaceTally> here;  // by trace: of the ranks with calls here
    take_part(positions, here);
    std::vector<double> omegas;
    omegas.reserve(positions.size());
    for (const std::uint32_t p : positions) omegas.push_back(imbalances_[p].omega_most);
    const double usual = percentile(omegas, 0.25);
    std::uint64_t large = 0;
    for (std::size_t k = 0; k < positions.size(); ++k) {
      const std::uint32_t p = positions[k];
      const Imbalance& i = imbalances_[p];
      // Where clocks leave it open, another rank may have been as late.
      const bool may_be_large = i.bound > 0 && i.gap_most >= rule_.large * usual;
      if (!i.decided && may_be_large) ++large;
      if (!i.decided) continue;
      const std::size_t part = k * time_parts / positions.size();
      const std::uint32_t trace = trace_of_last(calls_.calls[p], i);
      PlaceTally& h = here[trace];
      const std::uint32_t at =
          run_.ranks[trace].place(calls_.record(run_, calls_.calls[p], i.last));
      h.places.add(at);
      h.all_gaps.push_back(i.gap);
      h.all_others.push_back(i.others);
      ++h.sum.lasts;
      ++h.sum.lasts_of_part.at(part);
      h.sum.own += i.own;
      h.sum.waited += i.waited;
      h.sum.worst = std::max(h.sum.worst, i.gap);
      gaps_[trace].push_back(static_cast<float>(i.gap));
      others_[trace].push_back(static_cast<float>(i.others));
      if (i.excess < i.gap / 2) continue;
      ++h.sum.own_lasts;
      ++h.own_of_part.at(part);
      h.gaps.push_back(i.gap);
      h.others.push_back(i.others);
      h.at.push_back(k);
      h.own_waited.push_back(i.own);
      h.floor = std::max(h.floor, i.alpha > 0 ? rule_.alphas * i.alpha : rule_.floor);
      h.example_at[at] = p;
      const bool is_large = i.gap >= rule_.large * usual;
      if (is_large || may_be_large) ++large;
      if (!is_large) continue;
      ++h.large_of_part.at(part);
      h.large.push_back(i.gap);
      h.large_own += i.own;
    }
    for (auto& [r, h] : here) {
      if (h.sum.calls == 0) continue;
      h.sum.rank = run_.ranks[r].rank();
      h.sum.place = number;
      add(all_[r], h.sum);
      if (h.sum.lasts == 0) continue;
      h.sum.own_place = h.places.value();
      h.sum.gap = median_of(h.all_gaps);
      h.sum.others = median_of(h.all_others);
      out_.at_places.push_back(h.sum);
      name(h, positions, large);
    }
    single_delay(positions);
  }

  /// Counts the calls of each rank.
  void take_part(const std::vector<std::uint32_t>& positions,
                 std::map<std::uint32_t, PlaceTally>& here) const {
    std::map<std::uint32_t, std::array<std::uint64_t, time_parts>> counts;
    for (std::size_t k = 0; k < positions.size(); ++k) {
      auto& of = counts.try_emplace(calls_.calls[positions[k]].communicator).first->second;
      ++of.at(k * time_parts / positions.size());
    }
    for (const auto& [communicator, parts] : counts) {
      const auto& members = run_.communicators[communicator].members;
      for (const Communicator::Member& m : members) {
        Lateness& sum = here[m.trace].sum;
        for (std::size_t i = 0; i < time_parts; ++i) {
          sum.calls += parts.at(i);
          sum.calls_of_part.at(i) += parts.at(i);
          sum.by_chance += static_cast<double>(parts.at(i)) / static_cast<double>(members.size());
        }
      }
    }
  }

  static double median_of(std::vector<double> values) { return percentile(values, 0.5); }

  static void add(Lateness& sum, const Lateness& part) {
    sum.calls += part.calls;
    sum.lasts += part.lasts;
    sum.own_lasts += part.own_lasts;
    sum.by_chance += part.by_chance;
    sum.own += part.own;
    sum.waited += part.waited;
    sum.worst = std::max(sum.worst, part.worst);
  }

  void ranks() {
    // Parts of the run's time, since places have their calls at different times.
    for (std::size_t i = 0; i < calls_.calls.size(); ++i) {
      if (!imbalances_[i].decided) continue;
      const Call& c = calls_.calls[i];
      const double at = static_cast<double>(c.begin - calls_.calls.front().begin);
      const auto part = std::min<std::size_t>(
          time_parts - 1, static_cast<std::size_t>(at / std::max(1.0, calls_span_) * time_parts));
      ++all_[trace_of_last(c, imbalances_[i])].lasts_of_part.at(part);
    }
    for (std::size_t r = 0; r < all_.size(); ++r) {
      if (all_[r].calls == 0) continue;
      all_[r].rank = run_.ranks[r].rank();
      all_[r].gap = median_of({gaps_[r].begin(), gaps_[r].end()});
      all_[r].others = median_of({others_[r].begin(), others_[r].end()});
      out_.ranks.push_back(all_[r]);
    }
  }

  /// Part of the records' time that each other rank waits.
  double cost(const Lateness& l, double own) const {
    const double members = static_cast<double>(l.calls) / std::max(l.by_chance, 1e-9);
    return out_.span > 0 && members > 1 ? own / (members - 1) / out_.span : 0;
  }

  void name(const PlaceTally& h, const std::vector<std::uint32_t>& positions, std::uint64_t large) {
    if (h.example_at.empty()) return;
    // One at the place that is reported, if there is one.
    const auto told = h.example_at.find(h.sum.own_place);
    const std::uint32_t example =
        told != h.example_at.end() ? told->second : h.example_at.begin()->second;
    const auto n = static_cast<double>(h.sum.calls);
    const auto lasts = static_cast<double>(h.sum.own_lasts);
    const double p = h.sum.by_chance / n;
    const double most = (1 + p) / 2;
    const auto by_chance = [&](double k, double of) { return chance_of(k, of, p) * tests_; };
    const double cost_of_all = cost(h.sum, h.sum.own);
    const double gap = median_of(h.gaps);
    if (lasts >= most * n && by_chance(lasts, n) <= rule_.chance && gap >= median_of(h.others) &&
        gap > h.floor && cost_of_all >= rule_.cost && is_steady(h)) {
      out_.stragglers.push_back({Straggler::Kind::always, h.sum, h.sum.own_lasts, h.sum.gap,
                                 h.sum.worst, cost_of_all, example});
      return;
    }
    if (name_of_stretch(h, positions)) return;
    const auto own = static_cast<double>(h.large.size());
    const double cost_of_large = cost(h.sum, h.large_own);
    const auto parts_with =
        static_cast<std::size_t>(std::count_if(h.large_of_part.begin(), h.large_of_part.end(),
                                               [](std::uint64_t times) { return times > 0; }));
    const double typical = median_of(h.large);
    if (h.large.size() >= rule_.often_least &&
        own >= std::max(rule_.often_share, most) * static_cast<double>(large) &&
        by_chance(own, static_cast<double>(large)) <= rule_.chance && typical > h.floor &&
        cost_of_large >= rule_.cost && parts_with >= time_parts / 2) {
      out_.stragglers.push_back({Straggler::Kind::often, h.sum, h.large.size(), typical,
                                 *std::max_element(h.large.begin(), h.large.end()), cost_of_large,
                                 example});
    }
  }

  /// Of calls in a row at a place, positions in PlaceTally::at.
  struct Stretch {
    std::size_t first = 0, last = 0;
    double score = 0;
  };
  /// The calls in a row that hold the most delays beyond `share` of their number (Kadane's
  /// algorithm).
  static Stretch stretch_of(const PlaceTally& h, double share) {
    Stretch best;
    Stretch now;
    for (std::size_t i = 0; i < h.at.size(); ++i) {
      if (h.gaps[i] <= h.floor) continue;
      if (now.score > 0) now.score -= share * static_cast<double>(h.at[i] - h.at[now.last] - 1);
      if (now.score <= 0) now = {i, i, 0};
      now.score += 1 - share;
      now.last = i;
      if (now.score > best.score) best = now;
    }
    return best;
  }

  /// Names a rank that is last in most calls of one stretch.
  bool name_of_stretch(const PlaceTally& h, const std::vector<std::uint32_t>& positions) {
    if (h.sum.calls != positions.size()) return false;
    const double p = h.sum.by_chance / static_cast<double>(h.sum.calls);
    const Stretch stretch = stretch_of(h, (1 + p) / 2);
    if (!(stretch.score > 0)) return false;
    const auto of = [&stretch](const std::vector<double>& values) {
      return std::vector<double>(values.begin() + static_cast<std::ptrdiff_t>(stretch.first),
                                 values.begin() + static_cast<std::ptrdiff_t>(stretch.last) + 1);
    };
    const std::vector<double> gaps = of(h.gaps);
    const std::vector<double> waited = of(h.own_waited);
    const std::size_t from = h.at[stretch.first];
    const std::size_t to = h.at[stretch.last];
    const auto n = static_cast<double>(positions.size());
    const double chance =
        chance_of(static_cast<double>(gaps.size()), static_cast<double>(to - from + 1), p);
    const double gap = median_of(gaps);
    const double its_cost = cost(h.sum, std::accumulate(waited.begin(), waited.end(), 0.0));
    if (chance * n * n * tests_ > rule_.chance || gap < median_of(of(h.others)) || gap <= h.floor ||
        its_cost < rule_.cost) {
      return false;
    }
    out_.stragglers.push_back({Straggler::Kind::for_a_while, h.sum, gaps.size(), gap,
                               *std::max_element(gaps.begin(), gaps.end()), its_cost, positions[to],
                               positions[from], positions[to]});
    return true;
  }

  /// Returns true if it is last in half of the calls in most parts of the time.
  bool is_steady(const PlaceTally& h) const {
    double parts = 0;
    double of = 0;
    for (std::size_t i = 0; i < time_parts; ++i) {
      const std::uint64_t calls = h.sum.calls_of_part.at(i);
      if (calls == 0) continue;
      of += 1;
      if (2 * h.own_of_part.at(i) >= calls) parts += 1;
    }
    return parts >= rule_.parts * of;
  }

  void single_delay(const std::vector<std::uint32_t>& positions) {
    double first = 0;
    double second = 0;
    std::uint32_t call = 0;
    for (const std::uint32_t p : positions) {
      const Imbalance& i = imbalances_[p];
      if (!i.decided) continue;
      if (i.gap > first) {
        second = first;
        first = i.gap;
        call = p;
      } else {
        second = std::max(second, i.gap);
      }
    }
    // With few calls it is not known what is usual: only what costs much is reported.
    constexpr std::size_t few = 10;
    constexpr double much = 0.05;
    const Imbalance& i = imbalances_[call];
    if (!(first > 0) || first < rule_.single * second ||
        first < (positions.size() < few ? much : rule_.cost) * out_.span ||
        first <= (i.alpha > 0 ? rule_.alphas * i.alpha : rule_.floor) || i.excess < i.gap / 2 ||
        !(i.own > 0)) {
      return;
    }
    const std::uint32_t trace = trace_of_last(calls_.calls[call], i);
    out_.single_delays.push_back({run_.ranks[trace].rank(), call, first});
  }

  const Run& run_;
  const Calls& calls_;
  const std::vector<Imbalance>& imbalances_;
  NamingRule rule_;
  double span_;
  double calls_span_ = 0;  // from the first arrival to the last exit
  LatenessReport out_;
  double tests_ = 1;
  std::vector<Lateness> all_;
  std::vector<std::vector<float>> gaps_, others_;
};
}  // namespace
}  // namespace detail

LatenessReport lateness_of(const Run& run, const Calls& calls,
                           const std::vector<Imbalance>& imbalances, const NamingRule& rule,
                           double span) {
  return detail::LatenessOf{run, calls, imbalances, rule, span}.report();
}

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
