// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/calls.hpp>

#include <papcoll/profile/trace_format.hpp>
#include <papcoll/report/clocks.hpp>
#include <papcoll/report/run.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {

std::vector<std::vector<std::uint32_t>> records_by_entry(const RankTrace& rank) {
  std::vector<std::vector<std::uint32_t>> by_entry(rank.communicators.size());
  for (std::size_t k = 0; k < rank.records.size(); ++k) {
    if (rank.communicator(rank.records[k]) == profile::no_entry) continue;
    by_entry[rank.records[k].communicator].push_back(static_cast<std::uint32_t>(k));
  }
  const auto earlier = [&rank](std::uint32_t a, std::uint32_t b) {
    return rank.records[a].number < rank.records[b].number;
  };
  for (std::vector<std::uint32_t>& list : by_entry) {
    if (!std::is_sorted(list.begin(), list.end(), earlier)) {  // threads
      std::stable_sort(list.begin(), list.end(), earlier);
    }
  }
  return by_entry;
}

namespace {

class Joiner {
 public:
  Joiner(const Run& run, const Clocks& clocks) : run_(run), clocks_(clocks) {}

  Calls join() {
    // The records of each communicator and member, by their numbers.
    std::size_t all = 0;
    for (const RankTrace& rank : run_.ranks) {
      all += rank.records.size();
      by_entry_.push_back(records_by_entry(rank));
    }
    out_.records.reserve(all);
    for (std::size_t c = 0; c < run_.communicators.size(); ++c) join(c);
    std::sort(out_.calls.begin(), out_.calls.end(), [](const Call& a, const Call& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.records < b.records;
    });
    return std::move(out_);
  }

 private:
  void join(std::size_t communicator) {
    constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
    const auto& members = run_.communicators[communicator].members;
    std::vector<std::size_t> next(members.size(), 0);
    const auto number_of = [&](std::size_t m) {
      const auto& list = by_entry_[members[m].trace][members[m].entry];
      return next[m] < list.size() ? run_.ranks[members[m].trace].records[list[next[m]]].number
                                   : none;
    };
    // A call that dropped out of one ring is never complete again: what others still have of it
    // says nothing, and would take room for all members.
    std::uint64_t first = 0;
    for (std::size_t m = 0; m < members.size(); ++m) {
      const std::uint64_t number = number_of(m);
      if (number == none) continue;
      const RankTrace& rank = run_.ranks[members[m].trace];
      if (rank.begun > rank.records.size() + rank.damaged) first = std::max(first, number);
    }
    // The next call of each member, the earliest first: only members with a record are looked at.
    using Next = std::pair<std::uint64_t, std::uint32_t>;
    std::priority_queue<Next, std::vector<Next>, std::greater<>> numbers;
    const auto await = [&](std::uint32_t m) {
      if (number_of(m) != none) numbers.emplace(number_of(m), m);
    };
    for (std::uint32_t m = 0; m < members.size(); ++m) {
      while (number_of(m) < first) ++next[m];
      await(m);
    }
    while (!numbers.empty()) {
      Call call;
      call.number = numbers.top().first;
      call.communicator = static_cast<std::uint32_t>(communicator);
      call.records = out_.records.size();
      while (!numbers.empty() && numbers.top().first == call.number) {
        const std::uint32_t m = numbers.top().second;
        numbers.pop();
        out_.records.push_back({m, by_entry_[members[m].trace][members[m].entry][next[m]]});
        // In a damaged file a number may be there twice: the first one counts.
        while (number_of(m) == call.number) ++next[m];
        await(m);
      }
      call.present = static_cast<std::uint32_t>(out_.records.size() - call.records);
      describe(call);
      out_.calls.push_back(call);
    }
  }

  void describe(Call& call) {
    const Communicator& on = run_.communicators[call.communicator];
    kinds_.clear();
    places_.clear();
    bool inside = false;
    const bool is_inter = (on.flags & profile::communicator_inter) != 0;
    call.begin = std::numeric_limits<std::int64_t>::max();
    for (const Calls::Entry& e : out_.of(call)) {
      const profile::Record& r = Calls::record(run_, call, e);
      const std::size_t trace = on.members[e.member].trace;
      call.bytes = std::max(call.bytes, r.bytes);
      call.begin = std::min(call.begin, clocks_.global(trace, r.arrival));
      if (r.exit == 0) inside = true;
      if (r.exit != 0) call.end = std::max(call.end, clocks_.global(trace, r.exit));
      kinds_.add({r.collective, kind_flags(r), is_inter ? 0 : r.root});
      places_.add(run_.ranks[trace].place(r));
    }
    if (inside) call.end = 0;
    call.complete = call.present == static_cast<std::uint32_t>(on.size);
    call.differs = !kinds_.unanimous();
    call.collective = static_cast<profile::MpiCollective>(std::get<0>(kinds_.value()));
    call.flags = std::get<1>(kinds_.value());
    call.place = places_.value();
  }

  const Run& run_;
  const Clocks& clocks_;
  std::vector<std::vector<std::vector<std::uint32_t>>> by_entry_;
  Majority<std::tuple<std::uint16_t, std::uint32_t, std::int32_t>> kinds_;
  Majority<std::uint32_t> places_;
  Calls out_;
};
}  // namespace
}  // namespace detail

Calls join_calls(const Run& run, const Clocks& clocks) {
  return detail::Joiner{run, clocks}.join();
}

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
