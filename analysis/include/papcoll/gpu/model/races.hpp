// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/gpu/model/clock.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// Accesses to the same bytes that nothing orders. Order is what streams, events and the host's own
// looks at events say, not when the model happened to perform an operation: a missing wait is found
// whatever the times are.
//
// An access is compared when the program asks for the operation, with all accesses of operations
// that it has asked for before. That finds every race: all that puts an operation behind others
// (its stream, records of events, looks of the host) was there before it, so an operation that was
// asked for earlier is either certainly before it, or unordered.

namespace papcoll::inline PAPCOLL_ABI::gpu {
namespace detail {

/// An operation, for people and for clocks.
struct Doer {
  const char* kind = "";   ///< "copy" or "combine"
  int process = 0;         ///< whose program asked for it
  int device = 0;          ///< which performs it
  std::size_t stream = 0;  ///< of all streams
  std::size_t number = 0;  ///< in the stream, from 1
};

/// What an operation does to some bytes.
struct Access {
  Doer by;                ///< who
  bool writes = false;    ///< or reads
  std::size_t first = 0;  ///< in its area
  std::size_t last = 0;   ///< behind the end

  /// Bytes are counted from `origin` on.
  std::string name(std::size_t origin) const {
    return papcoll::detail::joined({by.kind, " (process ", by.process, ", stream ", by.stream,
                                    " of device ", by.device, ", operation ", by.number,
                                    writes ? ", writes " : ", reads ", last - first,
                                    " bytes at offset ", first - origin, ")"});
  }
};

/// All accesses so far, in areas that do not overlap.
class Races {
 public:
  /// Where an access is.
  struct Where {
    std::size_t area = 0;    ///< number of the area
    std::size_t origin = 0;  ///< of what has that name, in the area
    std::string name;        ///< of the allocation
  };

  /// Compares an access with those before it, and keeps it. `clock` has what comes before, with the
  /// operation itself.
  void add(const Where& where, const Access& access, const Clock& clock,
           std::vector<std::string>& problems) {
    if (access.first == access.last) return;
    Area& area = areas_[where.area];
    const auto made = std::make_shared<const Access>(access);
    std::vector<Kept> told;
    const auto check = [&](const Kept& earlier) {
      if (earlier == nullptr || clock.of(earlier->by.stream) >= earlier->by.number) return;
      if (std::find(told.begin(), told.end(), earlier) != told.end()) return;
      told.push_back(earlier);
      problems.push_back(papcoll::detail::joined(
          {"papcoll: a race in ", where.name, ": nothing puts the ", made->name(where.origin),
           " behind the ", earlier->name(where.origin),
           "; record an event behind the one and wait for it before the other"}));
    };
    split(area, access.first);
    split(area, access.last);
    fill(area, access.first, access.last);
    const auto end = area.lower_bound(access.last);
    for (auto it = area.lower_bound(access.first); it != end; ++it) {
      Part& part = it->second;
      check(part.write);
      if (access.writes) {
        for (const Kept& read : part.reads) check(read);
        part.reads.clear();
        part.write = made;
      } else {
        std::erase_if(part.reads, [&](const Kept& read) {
          return clock.of(read->by.stream) >= read->by.number;  // who is behind this is behind it
        });
        part.reads.push_back(made);
      }
    }
    merge(area, access.first, access.last);
  }

  /// Forgets accesses to a part of an area.
  void forget(std::size_t area, std::size_t first = 0,
              std::size_t last = std::numeric_limits<std::size_t>::max()) {
    const auto found = areas_.find(area);
    if (found == areas_.end()) return;
    split(found->second, first);
    split(found->second, last);
    found->second.erase(found->second.lower_bound(first), found->second.lower_bound(last));
    if (found->second.empty()) areas_.erase(found);
  }

 private:
  using Kept = std::shared_ptr<const Access>;
  /// Bytes with the same accesses.
  struct Part {
    std::size_t last = 0;     ///< behind the end
    Kept write;               ///< the last, or null
    std::vector<Kept> reads;  ///< after that, without those that another one is behind

    bool same(const Part& other) const { return write == other.write && reads == other.reads; }
  };
  using Area = std::map<std::size_t, Part>;  ///< by the first byte

  /// No part has bytes on both sides of `at`.
  static void split(Area& area, std::size_t at) {
    auto it = area.upper_bound(at);
    if (it == area.begin()) return;
    --it;
    if (it->first == at || it->second.last <= at) return;
    area[at] = it->second;
    it->second.last = at;
  }

  /// Every byte from first to last has a part.
  static void fill(Area& area, std::size_t first, std::size_t last) {
    while (first < last) {
      const auto next = area.lower_bound(first);
      if (next != area.end() && next->first == first) {
        first = next->second.last;
        continue;
      }
      const std::size_t end = next == area.end() ? last : std::min(last, next->first);
      area[first].last = end;
      first = end;
    }
  }

  /// Neighbours that are the same become one.
  static void merge(Area& area, std::size_t first, std::size_t last) {
    auto it = area.lower_bound(first);
    if (it != area.begin()) --it;
    while (it != area.end() && it->first < last) {
      const auto next = std::next(it);
      if (next == area.end()) return;
      if (it->second.last == next->first && it->second.same(next->second)) {
        it->second.last = next->second.last;
        area.erase(next);
      } else {
        it = next;
      }
    }
  }

  std::map<std::size_t, Area> areas_;
};

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI::gpu
