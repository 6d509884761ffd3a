// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The records of the ranks, joined to calls: those with the same number on the same communicator.

#include <papcoll/profile/trace_format.hpp>
#include <papcoll/report/clocks.hpp>
#include <papcoll/report/run.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
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
template <class T> class Majority {
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
std::vector<std::vector<std::uint32_t>> records_by_entry(const RankTrace& rank);

}  // namespace detail

/// Joins the records. Takes time and memory in proportion to them.
Calls join_calls(const Run& run, const Clocks& clocks);

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
