// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/time_use.hpp>

#include <papcoll/report/calls.hpp>
#include <papcoll/report/imbalance.hpp>
#include <papcoll/report/one_way.hpp>
#include <papcoll/report/read.hpp>
#include <papcoll/report/run.hpp>
#include <papcoll/report/totals.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {
namespace {

std::vector<CrowdedNodes> crowded_nodes(const Run& run) {
  std::map<std::int32_t, CrowdedNodes> nodes;
  for (const RankTrace& r : run.ranks) {
    CrowdedNodes& n = nodes[r.header.node];
    n.hosts = {text_in(r.header.host)};
    n.processors = static_cast<std::size_t>(std::max(0, r.header.processors));
    ++n.ranks;
  }
  std::vector<CrowdedNodes> crowded;
  for (const auto& [number, n] : nodes) {
    if (n.processors == 0 || n.ranks <= n.processors) continue;
    const auto alike = std::find_if(crowded.begin(), crowded.end(), [&n = n](const auto& c) {
      return c.ranks == n.ranks && c.processors == n.processors;
    });
    if (alike == crowded.end()) {
      crowded.push_back(n);
    } else {
      alike->hosts.push_back(n.hosts.front());
    }
  }
  return crowded;
}

/// What the records have of the calls of a row of totals_by_place(), in nanoseconds.
struct Recorded {
  double in_call = 0, waiting = 0, unsure = 0, alpha = 0, calls = 0;
  std::size_t most_members = 0;
};

/// Returns true if a message takes its time for the bytes, not for the latency.
bool is_by_volume(const OneWay& one_way, std::uint64_t bytes) {
  const OneWayTimes& times =
      one_way.between_nodes.measured() ? one_way.between_nodes : one_way.on_node;
  constexpr std::uint64_t large = std::uint64_t{1} << 16U;
  return times.measured() ? times.of(bytes) >= 2 * times.of(1) : bytes >= large;
}

/// `waiting` and `unsure`: parts of the time in the calls.
TimeKind kind_of(double waiting, double unsure, const TotalRow& row, const OneWay& one_way,
                 const TimeUse& use) {
  constexpr double most = 0.5;
  if (waiting > most) return TimeKind::waiting;
  if (unsure > most) return TimeKind::unknown;
  if (is_by_volume(one_way, row.bytes_each())) return TimeKind::volume;
  if (!(use.top_alphas > 0)) return TimeKind::unknown;
  // A call costs a rank more than the message, of any algorithm: on a node much more.
  constexpr double several = 4;
  constexpr double microsecond = 1e-6;
  return use.top_alphas >= several * use.top_steps &&
                 use.top_after >= several * use.top_steps * microsecond
             ? TimeKind::algorithm
             : TimeKind::number;
}
}  // namespace
}  // namespace detail

TimeUse time_use_of(const Run& run, const Calls& calls, const std::vector<Imbalance>& all,
                    const std::vector<TotalRow>& by_place, double rank_seconds) {
  TimeUse use;
  use.crowded = detail::crowded_nodes(run);
  if (!(rank_seconds > 0)) return use;
  using Key = std::tuple<std::uint32_t, profile::MpiCollective, std::uint32_t>;
  std::map<Key, detail::Recorded> recorded;
  for (std::size_t i = 0; i < calls.calls.size(); ++i) {
    const Call& c = calls.calls[i];
    if (!all[i].known || !(all[i].in_call > 0)) continue;
    detail::Recorded& at = recorded[{c.place, c.collective, c.flags}];
    const std::size_t members = run.communicators[c.communicator].members.size();
    at.in_call += all[i].in_call;
    at.waiting += all[i].waiting;
    at.alpha += all[i].alpha;
    at.calls += 1;
    at.unsure +=
        std::min(all[i].in_call - all[i].waiting, 2 * all[i].bound * static_cast<double>(members));
    at.most_members = std::max(at.most_members, members);
  }
  for (const TotalRow& row : by_place) {
    use.collectives += row.time / rank_seconds;
    use.moved += row.moved / rank_seconds;
    use.unsure += row.moved / rank_seconds;
    const auto found = recorded.find({row.place, row.collective, row.flags});
    const detail::Recorded at = found == recorded.end() ? detail::Recorded{} : found->second;
    const auto part = [&at](double of) { return at.in_call > 0 ? of / at.in_call : 0; };
    use.waiting += part(at.waiting) * row.time / rank_seconds;
    use.unsure += part(at.unsure) * row.time / rank_seconds;
    if (&row != &by_place.front()) continue;
    use.top = row;
    use.top_part = row.time / rank_seconds;
    use.top_after = row.time * (1 - part(at.waiting)) / static_cast<double>(row.calls);
    constexpr double second = 1e9;
    if (at.alpha > 0) use.top_alphas = use.top_after * second / (at.alpha / at.calls);
    use.top_steps = static_cast<int>(std::bit_width(std::max<std::size_t>(2, at.most_members) - 1));
    use.top_kind = detail::kind_of(part(at.waiting), part(at.unsure), row, one_way_of(run), use);
  }
  return use;
}

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
