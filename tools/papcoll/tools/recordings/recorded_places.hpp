// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The calls at a place of a recorded run, as `papcoll what-if` takes them.

#include <papcoll/base/collective.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/profile/trace_format.hpp>
#include <papcoll/report/calls.hpp>
#include <papcoll/report/one_way.hpp>
#include <papcoll/report/report.hpp>
#include <papcoll/schedule/vector_layout.hpp>
#include <papcoll/what_if/recorded.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// papcoll's collective that does the same as one of MPI, which has its name, if there is one whose
/// blocks are equal.
inline std::optional<Collective> collective_of(profile::MpiCollective c) {
  std::string name{profile::collective_names.at(static_cast<std::size_t>(c))};
  name[0] = detail::lower(name[0]);
  if (name == "reduce_scatter_block") name = "reduce_scatter";
  for (std::size_t i = 0; i < collective_count; ++i) {
    if (name_of(static_cast<Collective>(i)) == name) return static_cast<Collective>(i);
  }
  return std::nullopt;
}

/// Elements of a call of so many bytes: doubles, or what divides them.
inline void set_bytes(Shape& shape, std::size_t bytes) {
  const bool has = has_data(shape.collective) && bytes > 0;
  std::size_t element = sizeof(double);
  while (bytes % element != 0) element /= 2;
  shape.element_size = has ? element : 1;
  shape.count = has ? bytes / element : (has_data(shape.collective) ? 0 : 1);
}

/// The calls at a place that are most often the same: on one communicator, of one collective, size
/// and root. Throws argument_error if there is none that could have been another algorithm's.
inline what_if::Recorded recorded_at(const report::Report& r, std::uint32_t place) {
  using Key = std::tuple<std::uint32_t, profile::MpiCollective, std::uint64_t, std::int32_t>;
  std::map<Key, std::vector<const report::Call*>> kinds;
  std::size_t others = 0;
  for (const report::Call& c : r.calls.calls) {
    if (c.place != place) continue;
    if (!c.complete || c.differs || c.flags != 0 || c.end == 0 || !collective_of(c.collective)) {
      ++others;
      continue;
    }
    const std::int32_t root = r.calls.record(r.run, c, std::size_t{0}).root;
    kinds[{c.communicator, c.collective, c.bytes, root}].push_back(&c);
  }
  if (kinds.empty()) {
    throw argument_error(
        "papcoll: what-if: at " + report::place_text(r.run, place) +
        (others == 0 ? " there is no call"
                     : " there is no call that ranks wait in, with blocks of equal sizes and "
                       "with records of all ranks"));
  }
  const auto most = std::max_element(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  });
  const auto& [communicator, collective, bytes, root] = most->first;
  const auto& members = r.run.communicators[communicator].members;
  what_if::Recorded recorded;
  Shape& shape = recorded.shape;
  shape.collective = *collective_of(collective);
  shape.size = static_cast<int>(members.size());
  shape.root = std::max(root, 0);
  // A record has all blocks of an alltoall or reduce-scatter.
  const bool has_all =
      shape.collective == Collective::alltoall || shape.collective == Collective::reduce_scatter;
  set_bytes(shape, static_cast<std::size_t>(bytes) / (has_all ? members.size() : 1));
  recorded.arrivals.ranks = members.size();
  recorded.left_out = others;
  for (const auto& [key, of] : kinds) recorded.left_out += of.size();
  recorded.left_out -= most->second.size();
  std::vector<double> bounds;
  constexpr double nanosecond = 1e-9;
  for (const report::Call* c : most->second) {
    bounds.push_back(r.imbalances[static_cast<std::size_t>(c - r.calls.calls.data())].bound);
    for (std::size_t m = 0; m < members.size(); ++m) {
      const profile::Record& record = r.calls.record(r.run, *c, m);
      recorded.arrivals.seconds.push_back(
          static_cast<double>(r.clocks.global(members[m].trace, record.arrival) - c->begin) *
          nanosecond);
      recorded.durations.push_back(static_cast<double>(record.exit - record.arrival) * nanosecond);
    }
  }
  recorded.clocks = report::percentile(bounds, 0.5) * nanosecond;
  for (const report::Communicator::Member& m : members) {
    recorded.nodes.push_back(r.run.ranks[m.trace].header.node);
  }
  return recorded;
}

/// Places by the time that ranks are in their calls, the dearest first.
inline std::vector<std::uint32_t> dearest_places(const report::Report& r, std::size_t most) {
  std::map<std::uint32_t, double> time;
  for (const report::Call& c : r.calls.calls) {
    if (!c.complete || c.flags != 0 || c.place >= r.run.places.size()) continue;
    const std::size_t members = r.run.communicators[c.communicator].members.size();
    if (members < 2) continue;
    for (std::size_t m = 0; m < members; ++m) {
      const profile::Record& record = r.calls.record(r.run, c, m);
      if (record.exit > record.arrival) {
        time[c.place] += static_cast<double>(record.exit - record.arrival);
      }
    }
  }
  std::vector<std::uint32_t> places;
  for (const auto& [place, seconds] : time) places.push_back(place);
  std::stable_sort(places.begin(), places.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return time[a] > time[b]; });
  if (places.size() > most) places.resize(most);
  return places;
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
