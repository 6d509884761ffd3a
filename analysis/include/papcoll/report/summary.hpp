#pragma once

// Imbalances of many calls, summed up: of all of them, and by collective and size, place and
// communicator.

#include <papcoll/report/calls.hpp>
#include <papcoll/report/imbalance.hpp>
#include <papcoll/report/run.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {

/// Sizes of messages that are looked at together.
struct SizeRange {
  std::string name;
  std::uint64_t most;  ///< bytes that the largest of them has
};

/// The ranges of P. Alizadeh's thesis (2021), section 3.2.4: up to 1 KB, up to 1 MB, and more.
inline std::vector<SizeRange> usual_ranges() {
  return {{"small", std::uint64_t{1} << 10U},
          {"medium", std::uint64_t{1} << 20U},
          {"large", std::numeric_limits<std::uint64_t>::max()}};
}

/// Position of the range that has a size; the last one has no end.
inline std::size_t range_of(const std::vector<SizeRange>& ranges, std::uint64_t bytes) {
  std::size_t i = 0;
  while (i + 1 < ranges.size() && bytes > ranges[i].most) ++i;
  return i;
}

/// What some numbers are like.
struct Distribution {
  std::size_t count = 0;
  double mean = 0;
  double median = 0;
  double p90 = 0;  ///< nine in ten are below
  double p99 = 0;
  double worst = 0;
};

/// The values are left in another order.
inline Distribution distribution_of(std::vector<double>& values) {
  Distribution d;
  d.count = values.size();
  if (values.empty()) return d;
  for (const double v : values) d.mean += v / static_cast<double>(values.size());
  d.median = percentile(values, 0.5);
  d.p90 = percentile(values, 0.9);
  d.p99 = percentile(values, 0.99);
  d.worst = *std::max_element(values.begin(), values.end());
  return d;
}

/// Imbalances of some calls. Times in nanoseconds; factors are of α, see Imbalance.
struct Summary {
  std::size_t calls = 0;     ///< those that the figures are of
  std::size_t balanced = 0;  ///< of these: Ω was below what the clocks resolve
  double own = 0;            ///< what ranks waited for the last one alone, summed
  Distribution omega, delta, omega_factor, delta_factor;
  Distribution node_omega, node_delta, node_omega_factor, node_delta_factor;
};

/// A summary and what it is of.
struct SummaryRow {
  profile::MpiCollective collective{};             ///< by_collective()
  std::uint32_t flags = 0;                         ///< by_collective()
  std::size_t range = 0;                           ///< by_collective()
  std::uint32_t place = profile::no_entry;         ///< by_place()
  std::uint32_t communicator = profile::no_entry;  ///< by_communicator()
  Summary summary;
};

/// Of the calls with these positions.
inline Summary summarise(const std::vector<Imbalance>& all,
                         const std::vector<std::uint32_t>& positions) {
  Summary s;
  std::vector<double> values;
  const auto of = [&](auto value) {
    values.clear();
    for (const std::uint32_t i : positions) {
      if (!all[i].known) continue;
      const double v = value(all[i]);
      if (v >= 0) values.push_back(v);
    }
    return distribution_of(values);
  };
  for (const std::uint32_t i : positions) {
    if (!all[i].known) continue;
    ++s.calls;
    if (!(all[i].omega > 0)) ++s.balanced;
    s.own += all[i].own;
  }
  const auto factor = [](double time, double alpha) {
    return alpha > 0 && time >= 0 ? time / alpha : -1.0;
  };
  s.omega = of([](const Imbalance& i) { return i.omega; });
  s.delta = of([](const Imbalance& i) { return i.delta; });
  s.omega_factor = of([&](const Imbalance& i) { return factor(i.omega, i.alpha); });
  s.delta_factor = of([&](const Imbalance& i) { return factor(i.delta, i.alpha); });
  s.node_omega = of([](const Imbalance& i) { return i.node_omega; });
  s.node_delta = of([](const Imbalance& i) { return i.node_delta; });
  s.node_omega_factor = of([&](const Imbalance& i) { return factor(i.node_omega, i.node_alpha); });
  s.node_delta_factor = of([&](const Imbalance& i) { return factor(i.node_delta, i.node_alpha); });
  return s;
}

/// Positions of all calls.
inline std::vector<std::uint32_t> all_positions(const Calls& calls) {
  std::vector<std::uint32_t> all(calls.calls.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint32_t>(i);
  return all;
}

namespace detail {
/// A row for each key that calls have, those who cost most first.
template <class Key, class Fill>
std::vector<SummaryRow> rows_by(const Calls& calls, const std::vector<Imbalance>& all,
                                const Key& key, const Fill& fill) {
  std::map<decltype(key(calls.calls.front())), std::vector<std::uint32_t>> groups;
  for (std::size_t i = 0; i < calls.calls.size(); ++i) {
    if (all[i].known) groups[key(calls.calls[i])].push_back(static_cast<std::uint32_t>(i));
  }
  std::vector<SummaryRow> rows;
  for (const auto& [k, positions] : groups) {
    SummaryRow row;
    fill(row, calls.calls[positions.front()]);
    row.summary = summarise(all, positions);
    rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const SummaryRow& a, const SummaryRow& b) {
    return a.summary.own > b.summary.own;
  });
  return rows;
}
}  // namespace detail

/// A row for each collective and size.
inline std::vector<SummaryRow> by_collective(const Calls& calls, const std::vector<Imbalance>& all,
                                             const std::vector<SizeRange>& ranges) {
  return detail::rows_by(
      calls, all,
      [&](const Call& c) {
        return std::tuple{c.collective, c.flags, range_of(ranges, c.bytes)};
      },
      [&](SummaryRow& row, const Call& c) {
        row.collective = c.collective;
        row.flags = c.flags;
        row.range = range_of(ranges, c.bytes);
      });
}

/// A row for each place.
inline std::vector<SummaryRow> by_place(const Calls& calls, const std::vector<Imbalance>& all) {
  return detail::rows_by(
      calls, all, [](const Call& c) { return c.place; },
      [](SummaryRow& row, const Call& c) {
        row.place = c.place;
        row.collective = c.collective;
        row.flags = c.flags;
        row.communicator = c.communicator;
      });
}

/// A row for each communicator.
inline std::vector<SummaryRow> by_communicator(const Calls& calls,
                                               const std::vector<Imbalance>& all) {
  return detail::rows_by(
      calls, all, [](const Call& c) { return c.communicator; },
      [](SummaryRow& row, const Call& c) { row.communicator = c.communicator; });
}

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
