// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/unfinished.hpp>

#include <papcoll/report/calls.hpp>
#include <papcoll/report/clocks.hpp>
#include <papcoll/report/run.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {
namespace {

CallOf call_of(const RankTrace& rank, const profile::Record& r) {
  return {static_cast<profile::MpiCollective>(r.collective),
          kind_flags(r),
          r.bytes,
          r.root,
          r.number,
          rank.communicator(r),
          rank.place(r)};
}

/// Returns true if all ranks name the same number of bytes.
bool has_same_bytes(profile::MpiCollective c) {
  using enum profile::MpiCollective;
  return c == bcast || c == reduce || c == allreduce || c == scan || c == exscan ||
         c == allgather || c == alltoall || c == reduce_scatter_block;
}

/// Returns what distinguishes calls of a communicator.
auto signature(const CallOf& c) {
  return std::tuple{c.collective, c.flags, c.root, c.place,
                    has_same_bytes(c.collective) ? c.bytes : 0};
}

/// The calls on one communicator, by number, of one rank and of most of the others.
class Sequences {
 public:
  /// `by_entry`: records_by_entry() of each rank.
  Sequences(const Run& run, const std::vector<std::vector<std::vector<std::uint32_t>>>& by_entry,
            std::uint32_t communicator)
      : run_(run), by_entry_(by_entry), members_(run.communicators[communicator].members) {}

  std::optional<CallOf> of(std::size_t member, std::uint64_t number) const {
    const Communicator::Member& m = members_[member];
    const RankTrace& rank = run_.ranks[m.trace];
    const auto& list = by_entry_[m.trace][m.entry];
    const auto at = std::lower_bound(
        list.begin(), list.end(), number,
        [&rank](std::uint32_t r, std::uint64_t n) { return rank.records[r].number < n; });
    if (at == list.end() || rank.records[*at].number != number) return {};
    return call_of(rank, rank.records[*at]);
  }

  /// Returns the call of most members but one; a few of them stand for all.
  std::optional<CallOf> of_others(std::size_t but, std::uint64_t number) const {
    constexpr std::size_t enough = 16;
    std::vector<std::pair<CallOf, int>> seen;
    std::size_t looked = 0;
    for (std::size_t m = 0; m < members_.size() && looked < enough; ++m) {
      const std::optional<CallOf> c = m == but ? std::nullopt : of(m, number);
      if (!c) continue;
      ++looked;
      const auto known = std::find_if(seen.begin(), seen.end(), [&](const auto& s) {
        return signature(s.first) == signature(*c);
      });
      if (known == seen.end()) {
        seen.emplace_back(*c, 1);
      } else {
        ++known->second;
      }
    }
    const auto most = std::max_element(
        seen.begin(), seen.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == seen.end()) return {};
    return most->first;
  }

  /// Returns which call a member left out that does another one at `number`, or none any more.
  std::optional<CallOf> skipped(std::size_t member, std::uint64_t number) const {
    const auto same = [](const std::optional<CallOf>& a, const std::optional<CallOf>& b) {
      return a && b && signature(*a) == signature(*b);
    };
    std::uint64_t at = number;
    if (const std::optional<CallOf> own = of(member, number)) {
      // It does what usually follows the others' call.
      const std::optional<CallOf> theirs = of_others(member, number);
      if (!theirs || same(own, theirs)) return {};
      bool follows = false;
      constexpr std::uint64_t far = 10000;
      for (std::uint64_t back = 1; back < far && back < number && !follows; ++back) {
        const std::uint64_t n = number - back;
        follows = n + 1 < number && same(of_others(member, n), theirs) &&
                  same(of_others(member, n + 1), own);
      }
      if (!follows) return {};
    } else {
      return left_out_before(member, number);
    }
    // If it was ahead before, that began when it first differed.
    while (at > 0) {
      const std::optional<CallOf> before = of(member, at - 1);
      if (!before || same(before, of_others(member, at - 1)) ||
          !same(before, of_others(member, at))) {
        break;
      }
      --at;
    }
    return of_others(member, at);
  }

  /// Returns which call before `number`, to which it has not come, a member left out: from some
  /// call on it makes those that the others make one later, and the first of these differs from
  /// theirs. None if its calls are the same either way.
  std::optional<CallOf> left_out_before(std::size_t member, std::uint64_t number) const {
    constexpr std::uint64_t far = 10000;
    std::optional<std::uint64_t> first;
    for (std::uint64_t n = number; n > 0 && number - n < far; --n) {
      const std::optional<CallOf> own = of(member, n - 1);
      const std::optional<CallOf> next = of_others(member, n);
      if (!own || !next || signature(*own) != signature(*next)) break;
      const std::optional<CallOf> theirs = of_others(member, n - 1);
      if (theirs && signature(*own) != signature(*theirs)) first = n - 1;
    }
    return first ? of_others(member, *first) : std::nullopt;
  }

 private:
  const Run& run_;
  const std::vector<std::vector<std::vector<std::uint32_t>>>& by_entry_;
  const std::vector<Communicator::Member>& members_;
};

class EndingOf {
 public:
  EndingOf(const Run& run, const Calls& calls, std::int64_t now_unix)
      : run_(run), calls_(calls), now_(now_unix) {}

  Ending ending() {
    for (const RankTrace& r : run_.ranks) out_.alive = out_.alive || r.alive;
    inside_of_.resize(run_.ranks.size(), nullptr);
    for (std::size_t i = 0; i < run_.ranks.size(); ++i) find_inside(i);
    for (std::size_t i = 0; i < run_.ranks.size(); ++i) {
      const profile::RunState state = run_.ranks[i].state();
      const bool well = state == profile::RunState::finished ||
                        (state == profile::RunState::finalizing && run_.ranks[i].alive);
      if (well || run_.ranks[i].alive) continue;
      if (state == profile::RunState::finalizing) continue;  // in it or after it, as it ended
      Whereabouts w;
      locate(i, w);
      out_.not_finished.push_back(w);
      out_.early = out_.early || !out_.alive;
    }
    // If no rank of several calls can go on, those with most ranks say most.
    constexpr std::size_t most = 100;
    std::vector<decltype(inside_)::const_iterator> calls;
    for (auto c = inside_.cbegin(); c != inside_.cend(); ++c) calls.push_back(c);
    std::stable_sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) {
      return a->second.size() > b->second.size();
    });
    for (const auto& c : calls) {
      if (out_.unfinished.size() == most) {
        ++out_.more_unfinished;
      } else {
        unfinished(c->first.first, c->first.second, c->second);
      }
    }
    mismatches();
    std::stable_sort(
        out_.unfinished.begin(), out_.unfinished.end(),
        [](const Unfinished& a, const Unfinished& b) { return a.inside.size() > b.inside.size(); });
    return std::move(out_);
  }

 private:
  /// The records of calls that a rank is in: the last one of each thread, if it has no exit.
  void find_inside(std::size_t trace) {
    const RankTrace& rank = run_.ranks[trace];
    std::map<std::uint16_t, const profile::Record*> last;
    for (const profile::Record& r : rank.records) last[r.thread] = &r;
    for (const auto& [thread, r] : last) {
      if (r->exit != 0 || rank.communicator(*r) == profile::no_entry) continue;
      if (kind_flags(*r) != 0) continue;
      inside_[{rank.communicator(*r), r->number}].emplace_back(trace, r);
      if (inside_of_[trace] == nullptr || inside_of_[trace]->index < r->index) {
        inside_of_[trace] = r;
      }
    }
  }

  /// Seconds from a time of a rank's clock until now, if it runs.
  std::optional<double> since(const RankTrace& rank, std::uint64_t time) const {
    if (!rank.alive || rank.header.began_unix <= 0) return {};
    constexpr double nanosecond = 1e-9;
    const double running = static_cast<double>(now_ - rank.header.began_unix);
    const double then = static_cast<double>(time) - static_cast<double>(rank.header.began);
    return std::max(0.0, (running - then) * nanosecond);
  }

  void locate(std::size_t trace, Whereabouts& w) const {
    const RankTrace& rank = run_.ranks[trace];
    w.rank = rank.rank();
    w.abort_code = rank.header.abort_code;
    const profile::Record* const in = inside_of_[trace];
    const profile::Record* const last = in != nullptr          ? in
                                        : rank.records.empty() ? nullptr
                                                               : &rank.records.back();
    if (last != nullptr) w.call = call_of(rank, *last);
    w.in_call = in != nullptr;
    using Kind = Whereabouts::Kind;
    switch (rank.state()) {
      case profile::RunState::finalizing: w.kind = Kind::finalizing; break;
      case profile::RunState::finished: w.kind = Kind::finished; break;
      case profile::RunState::exited: w.kind = Kind::exited; break;
      case profile::RunState::aborted: w.kind = Kind::aborted; break;
      default:
        w.kind = !rank.alive ? Kind::gone : in != nullptr ? Kind::inside : Kind::outside;
        if (last != nullptr) w.since = since(rank, in != nullptr ? in->arrival : last->exit);
    }
  }

  using RanksInside = std::vector<std::pair<std::size_t, const profile::Record*>>;

  void unfinished(std::uint32_t communicator, std::uint64_t number, const RanksInside& ranks) {
    // What most of them call; who calls something else under this number has not come.
    Majority<std::tuple<std::uint16_t, std::int32_t, std::uint32_t>> kinds;
    // The groups of an inter-communicator name other roots.
    const bool is_inter =
        (run_.communicators[communicator].flags & profile::communicator_inter) != 0;
    const auto kind = [is_inter](const profile::Record& r) {
      return std::tuple{r.collective, is_inter ? -1 : r.root, kind_flags(r)};
    };
    for (const auto& [trace, r] : ranks) kinds.add(kind(*r));
    Unfinished u;
    Majority<std::uint32_t> places;
    std::set<std::size_t> came;
    std::set<std::size_t> here;
    for (const auto& [trace, r] : ranks) {
      here.insert(trace);
      if (kind(*r) != kinds.value()) continue;
      const RankTrace& rank = run_.ranks[trace];
      // Who died in it keeps the others waiting, too.
      if (out_.alive && !rank.alive) continue;
      const std::uint64_t bytes = std::max(u.call.bytes, r->bytes);
      u.call = call_of(rank, *r);
      u.call.bytes = bytes;
      places.add(u.call.place);
      u.inside.push_back(rank.rank());
      came.insert(trace);
      if (const std::optional<double> s = since(rank, r->arrival)) {
        u.since = std::max(u.since.value_or(0), *s);
      }
    }
    if (u.inside.empty()) return;
    u.call.place = places.value();
    std::sort(u.inside.begin(), u.inside.end());
    const Communicator& on = run_.communicators[communicator];
    u.untraced = static_cast<std::uint64_t>(on.size) - on.members.size();
    bool cannot = !out_.alive;
    for (std::size_t m = 0; m < on.members.size(); ++m) {
      const std::uint32_t trace = on.members[m].trace;
      if (came.contains(trace)) continue;
      Whereabouts w;
      w.member = on.members[m].rank;
      locate(trace, w);
      w.calls = run_.ranks[trace].communicators[on.members[m].entry].calls;
      if (w.calls > number && !here.contains(trace)) continue;  // it has been there, and left
      constexpr double long_inside = 1;
      cannot = cannot ||
               (w.kind != Whereabouts::Kind::inside && w.kind != Whereabouts::Kind::outside) ||
               (w.kind == Whereabouts::Kind::inside && w.since.value_or(0) > long_inside &&
                u.since.value_or(0) > long_inside);
      if (!u.skipped) u.skipped = skipped(communicator, m, number);
      u.missing.push_back(w);
    }
    // All are there: a long call, or the run was ended in it.
    if (u.missing.empty() && u.untraced == 0 && out_.alive) return;
    u.hopeless = cannot;
    out_.unfinished.push_back(std::move(u));
  }

  void mismatches() {
    std::map<std::uint32_t, std::size_t> of_communicator;
    for (const Call& c : calls_.calls) {
      if (!c.differs) continue;
      const auto [found, is_new] = of_communicator.emplace(c.communicator, out_.mismatches.size());
      if (!is_new) {
        ++out_.mismatches[found->second].calls;
        continue;
      }
      out_.mismatches.push_back(mismatch(c));
    }
  }

  /// The call that a member left out before one that it has not come to. A few members are looked
  /// at: whom the others wait for is known without.
  std::optional<Skipped> skipped(std::uint32_t communicator, std::size_t member,
                                 std::uint64_t number) {
    if (looks_ == 0) return {};
    --looks_;
    if (by_entry_.empty()) {
      for (const RankTrace& r : run_.ranks) by_entry_.push_back(records_by_entry(r));
    }
    const auto call = Sequences{run_, by_entry_, communicator}.skipped(member, number);
    if (!call) return {};
    return Skipped{world_rank(run_, run_.communicators[communicator].members[member]), *call};
  }

  Mismatch mismatch(const Call& c) {
    Mismatch out;
    const auto& members = run_.communicators[c.communicator].members;
    std::vector<std::pair<std::size_t, CallOf>> all;
    for (const Calls::Entry& e : calls_.of(c)) {
      all.emplace_back(e.member,
                       call_of(run_.ranks[members[e.member].trace], Calls::record(run_, c, e)));
    }
    const auto kind = [](const CallOf& x) { return std::tuple{x.collective, x.flags, x.root}; };
    Majority<std::tuple<profile::MpiCollective, std::uint32_t, std::int32_t>> kinds;
    for (const auto& [m, x] : all) kinds.add(kind(x));
    constexpr std::size_t most = 8;
    bool has_call = false;
    for (const auto& [m, x] : all) {
      if (kind(x) == kinds.value()) {
        if (!has_call) out.call = x;
        has_call = true;
        continue;
      }
      if (out.others.size() < most) out.others.emplace_back(world_rank(run_, members[m]), x);
      if (!out.skipped) out.skipped = skipped(c.communicator, m, c.number);
    }
    return out;
  }

  const Run& run_;
  const Calls& calls_;
  std::int64_t now_;
  Ending out_;
  std::vector<const profile::Record*> inside_of_;
  std::vector<std::vector<std::vector<std::uint32_t>>> by_entry_;  ///< see Sequences
  std::size_t looks_ = 32;                                         ///< that skipped() has left
  std::map<std::pair<std::uint32_t, std::uint64_t>, RanksInside> inside_;
};
}  // namespace
}  // namespace detail

std::int64_t unix_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Ending ending_of(const Run& run, const Calls& calls, std::int64_t now_unix) {
  return detail::EndingOf{run, calls, now_unix}.ending();
}

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
