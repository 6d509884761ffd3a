// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/topology/machine.hpp>

#include <cstddef>
#include <numeric>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// The free places of a machine. A place has the number of the rank there. Taking one costs about
/// as many steps as the machine's tree has levels.
class FreePlaces {
 public:
  /// All are free. Of places that are equally near, the first is that which Machine::order(anchor)
  /// has first. The machine must outlive this.
  FreePlaces(const Machine& machine, int anchor)
      : levels_(machine.depth() + 1),
        places_(machine.order(anchor)),
        at_(places_.size()),
        next_(places_.size() + 1),
        groups_(places_.size() * static_cast<std::size_t>(levels_)) {
    std::iota(next_.begin(), next_.end(), std::size_t{0});
    // In this order the places of a group stand together, on each level.
    std::vector<std::size_t> open(static_cast<std::size_t>(levels_), 0);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      at_[static_cast<std::size_t>(places_[i])] = i;
      const int together = i == 0 ? -1 : machine.together(places_[i - 1], places_[i]);
      for (int level = together + 1; level < levels_; ++level) {
        open[static_cast<std::size_t>(level)] = i;
      }
      for (int level = 0; level < levels_; ++level) {
        const std::size_t first = open[static_cast<std::size_t>(level)];
        group(i, level).first = first;
        ++group(first, level).size;
      }
    }
  }

  /// Takes the free place that has most levels in common with a place. There is one.
  int take_nearest(int place) {
    const std::size_t here = at_[static_cast<std::size_t>(place)];
    std::size_t found = places_.size();
    for (int level = levels_ - 1; level >= 0; --level) {
      const std::size_t first = group(here, level).first;
      found = free_from(first);
      if (found < first + group(first, level).size) break;
    }
    next_[found] = found + 1;
    return places_[found];
  }

  /// Takes a place, if it is free.
  bool take(int place) noexcept {
    const std::size_t i = at_[static_cast<std::size_t>(place)];
    if (next_[i] != i) return false;
    next_[i] = i + 1;
    return true;
  }

 private:
  /// Of a place and a level: where its group begins; and the size of the group that begins here.
  struct Group {
    std::size_t first = 0;
    std::size_t size = 0;
  };
  Group& group(std::size_t i, int level) noexcept {
    return groups_[i * static_cast<std::size_t>(levels_) + static_cast<std::size_t>(level)];
  }

  /// The first that is free from here on; ways that were gone are made shorter.
  std::size_t free_from(std::size_t i) noexcept {
    while (next_[i] != i) {
      next_[i] = next_[next_[i]];
      i = next_[i];
    }
    return i;
  }

  int levels_;  ///< of groups: the machine first, ranks on one core last
  std::vector<int> places_;
  std::vector<std::size_t> at_;    ///< by place: where it stands in places_
  std::vector<std::size_t> next_;  ///< itself: it is free; else something later to look at
  std::vector<Group> groups_;      ///< by where it stands, then level
};

}  // namespace papcoll::inline PAPCOLL_ABI
