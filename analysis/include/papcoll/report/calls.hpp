#pragma once

// The records of the ranks, joined to calls: those with the same number on the same communicator.

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

/// A call of the members of a communicator. Times are in nanoseconds of rank 0's clock.
struct Call {
  std::uint64_t number = 0;             ///< on its communicator, from 0
  std::uint64_t bytes = 0;              ///< the largest of its ranks'
  std::size_t records = 0;              ///< where its `present` entries of Calls::records begin
  std::int64_t begin = 0;               ///< the first arrival
  std::int64_t end = 0;                 ///< the last exit, or 0 while a rank is inside
  std::uint32_t communicator = 0;       ///< in Run::communicators
  std::uint32_t place = 0;              ///< where most of its ranks called, or profile::no_entry
  std::uint32_t present = 0;            ///< of how many members there is a record
  std::uint32_t flags = 0;              ///< bits of RecordFlag: nonblocking and persistent only
  profile::MpiCollective collective{};  ///< of most of its ranks
  bool complete = false;                ///< there is a record of each member
  bool differs = false;  ///< its ranks called different collectives, or with different roots
};

/// All calls of a run that have records, by their begin.
struct Calls {
  std::vector<Call> calls;
  /// The record of a member in one call.
  struct Entry {
    std::uint32_t member = 0;    ///< in Communicator::members
    std::uint32_t position = 0;  ///< in RankTrace::records
  };
  /// Of each call those members that have a record, in the order of Communicator::members.
  std::vector<Entry> records;

  /// Returns the entries of one call.
  std::span<const Entry> of(const Call& call) const {
    return {records.data() + call.records, call.present};
  }
  /// Returns the record of an entry of `call`.
  static const profile::Record& record(const Run& run, const Call& call, const Entry& entry) {
    const auto& members = run.communicators[call.communicator].members;
    return run.ranks[members[entry.member].trace].records[entry.position];
  }
  /// Returns the record of a member of a call that is complete.
  const profile::Record& record(const Run& run, const Call& call, std::size_t member) const {
    return record(run, call, records[call.records + member]);
  }
};

namespace detail {

/// The flags that make other calls of a collective.
inline std::uint32_t kind_flags(const profile::Record& r) noexcept {
  return r.flags & (profile::record_nonblocking | profile::record_persistent);
}

/// What most of several values are: the first of these that more than any other are.
template <class T>
class Majority {
 public:
  void add(const T& value) {
    // Few differ, as a rule: of these a list is the fastest.
    constexpr std::size_t few = 16;
    for (std::size_t i = 0; i < std::min(few, seen_.size()); ++i) {
      if (seen_[i].first == value) {
        ++seen_[i].second;
        return;
      }
    }
    if (seen_.size() >= few) {
      const auto [known, is_new] = later_.emplace(value, seen_.size());
      if (!is_new) {
        ++seen_[known->second].second;
        return;
      }
    }
    seen_.emplace_back(value, 1);
  }
  void clear() {
    seen_.clear();
    later_.clear();
  }
  bool unanimous() const { return seen_.size() <= 1; }
  const T& value() const {
    return std::max_element(seen_.begin(), seen_.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }

 private:
  std::vector<std::pair<T, std::size_t>> seen_;
  std::map<T, std::size_t> later_;  ///< positions in seen_ beyond the first few
};

/// Returns the positions of a rank's records by the entries of its communicators, each in the order
/// of their numbers.
inline std::vector<std::vector<std::uint32_t>> records_by_entry(const RankTrace& rank) {
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

}  // namespace detail

/// Joins the records. Takes time and memory in proportion to them.
inline Calls join_calls(const Run& run, const Clocks& clocks) {
  return detail::Joiner{run, clocks}.join();
}

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
