// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/time_words.hpp>

#include <papcoll/report/call_text.hpp>
#include <papcoll/report/one_way.hpp>
#include <papcoll/report/report.hpp>
#include <papcoll/report/run.hpp>
#include <papcoll/simulate/quantity_text.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {

std::string nodes_text(const std::vector<std::string>& hosts) {
  std::string text = counted(hosts.size(), "node") + " (";
  constexpr std::size_t most = 4;
  for (std::size_t i = 0; i < std::min(most, hosts.size()); ++i) {
    text += (i == 0 ? "" : ", ") + (hosts[i].empty() ? "?" : hosts[i]);
  }
  return text + (hosts.size() > most ? ", …)" : ")");
}

std::string sentence(const CrowdedNodes& n) {
  const std::string& host = n.hosts.front();
  return counted(n.ranks, "rank") + " share " + counted(n.processors, "processor") +
         (n.hosts.size() > 1 ? " on each of " + nodes_text(n.hosts)
          : host.empty()     ? ""
                             : " of " + host) +
         ": a rank that has none is late, and keeps the others in their calls. What follows is of "
         "the scheduler first, of the program and of algorithms second.";
}

std::string sentence(const Report& r, const ClockFault& f) {
  const bool one = f.ranks.size() == 1;
  std::string text = (one ? "The clock of " : "The clocks of ") + ranks_text(f.ranks);
  if (f.jump == 0) {
    text += " cannot be right";
  } else {
    text += " jumped by " + time_text(std::fabs(f.jump)) + " against " +
            (f.of_rank_0 ? "all others" : "rank 0's");
    if (f.over > 0) {
      constexpr double million = 1e6;
      text += ", or drifted by " +
              papcoll::detail::decimal(million * std::fabs(f.jump) / f.over, 0) + " ppm,";
    }
    text += " between MPI_Init and MPI_Finalize";
  }
  if (f.calls > 0) {
    text += ": in " + counted(f.calls, "call") +
            " a rank would have left before another one came, by up to " + time_text(f.worst);
  }
  std::vector<double> bounds;
  for (const profile::Record& record : r.run.ranks[f.trace].records) {
    bounds.push_back(r.clocks.bound(f.trace, record.arrival));
  }
  constexpr double most = 0.9;
  return text + ". Corrected by what the calls allow, " + (one ? "its" : "their") +
         " times are known to within " + time_text(percentile(bounds, 0.5)) + " typically, " +
         time_text(percentile(bounds, most)) + " in one call of ten.";
}

namespace {

/// A part in percent; parts of a whole that has the same number of digits add up.
double rounded(double part, double digit) { return std::round(part * 100 / digit) * digit; }
}  // namespace

std::string top_text(const Report& r) {
  const TimeUse& use = r.time_use;
  const std::uint64_t bytes = use.top.bytes_each();
  std::string text = percent_text(use.top_part) + " is " +
                     call_text(use.top.collective, use.top.flags, bytes) + " at " +
                     place_text(r.run, use.top.place);
  if (use.top_kind == TimeKind::waiting) {
    return text + ", most of it until the last rank has come.";
  }
  if (use.unsure > use.collectives / 2) return text + ".";
  text += ", where a call takes " + papcoll::detail::duration_text(use.top_after) +
          " after the last rank has come";
  if (!use.crowded.empty() || use.top_kind == TimeKind::unknown) return text + ".";
  if (use.top_kind == TimeKind::volume) {
    constexpr double most = 1e18;  // damaged records may say more than an integer holds
    const double rate = std::min(most, static_cast<double>(bytes) / use.top_after);
    return text + ": volume (" + papcoll::detail::bytes_text(static_cast<std::size_t>(rate)) +
           "/s a rank).";
  }
  if (use.top_kind == TimeKind::algorithm) {
    return text + ": algorithm (as long as " + papcoll::detail::decimal(use.top_alphas, 0) +
           " messages of this size one after another; " +
           counted(static_cast<std::uint64_t>(use.top_steps), "step") +
           (use.top_steps == 1 ? " is" : " are") + " the least).";
  }
  return text + ": their number (" +
         counted(use.top.calls / std::max<std::size_t>(1, r.run.ranks.size()), "call") +
         " of each rank, hardly longer than a call must take).";
}

std::string time_sentence(const Report& r, bool somebody_is_late) {
  const TimeUse& use = r.time_use;
  const double recorded = r.rank_seconds / static_cast<double>(r.run.ranks.size());
  constexpr double ten_percent = 0.1;
  const double digit = use.collectives < ten_percent ? 0.1 : 1;
  const auto percent = [](double p) { return papcoll::detail::decimal(p, 1) + " %"; };
  const double all = rounded(use.collectives, digit);
  const double waiting = rounded(use.waiting, digit);
  const bool is_sure = use.unsure <= use.collectives * ten_percent;
  // Clocks that jumped within calls, of which not all are in the records.
  const bool is_unknown = !r.clocks.faults().empty() && use.collectives > 1;
  std::string text = (is_unknown                                  ? "Clocks do not tell how much"
                      : use.moved > use.collectives * ten_percent ? "About " + percent(all)
                                                                  : percent(all)) +
                     " of the " + papcoll::detail::duration_text(recorded) +
                     " recorded is in collectives";
  if (!somebody_is_late && r.all.calls > 0) {
    text += r.lateness.single_delays.empty() ? ", and nobody is late"
                                             : ", and nobody is late more than once at a place";
    if (!r.clocks.faults().empty() || !is_sure) text += " as far as clocks tell";
  }
  constexpr double little = 1;
  if (all < little || is_unknown) return text + ".";
  if (r.all.calls == 0) {
    text += ". ";
  } else if (use.unsure > use.collectives / 2) {
    text += "; clocks do not tell how much of it until the last rank of a call has come. ";
  } else {
    text += std::string(": ") + (is_sure ? "" : "at least ") + percent(waiting) +
            " until the last rank of a call has come, " +
            (is_sure ? percent(all - waiting) : std::string("the rest")) + " after it. ";
  }
  return text + capital(top_text(r));
}

}  // namespace detail
}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
