// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/summary.hpp>

#include <papcoll/report/calls.hpp>
#include <papcoll/report/imbalance.hpp>
#include <papcoll/report/one_way.hpp>
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

std::vector<SizeRange> usual_ranges() {
  return {{"small", std::uint64_t{1} << 10U},
          {"medium", std::uint64_t{1} << 20U},
          {"large", std::numeric_limits<std::uint64_t>::max()}};
}

std::size_t range_of(const std::vector<SizeRange>& ranges, std::uint64_t bytes) {
  std::size_t i = 0;
  while (i + 1 < ranges.size() && bytes > ranges[i].most) ++i;
  return i;
}

Distribution distribution_of(std::vector<double>& values) {
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

Summary summarise(const std::vector<Imbalance>& all, const std::vector<std::uint32_t>& positions) {
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

std::vector<std::uint32_t> all_positions(const Calls& calls) {
  std::vector<std::uint32_t> all(calls.calls.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint32_t>(i);
  return all;
}

namespace detail {
namespace {

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
}  // namespace
}  // namespace detail

std::vector<SummaryRow> by_collective(const Calls& calls, const std::vector<Imbalance>& all,
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

std::vector<SummaryRow> by_place(const Calls& calls, const std::vector<Imbalance>& all) {
  return detail::rows_by(
      calls, all, [](const Call& c) { return c.place; },
      [](SummaryRow& row, const Call& c) {
        row.place = c.place;
        row.collective = c.collective;
        row.flags = c.flags;
        row.communicator = c.communicator;
      });
}

std::vector<SummaryRow> by_communicator(const Calls& calls, const std::vector<Imbalance>& all) {
  return detail::rows_by(
      calls, all, [](const Call& c) { return c.communicator; },
      [](SummaryRow& row, const Call& c) { row.communicator = c.communicator; });
}

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
