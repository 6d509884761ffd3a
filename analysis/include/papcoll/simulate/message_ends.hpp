// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// Which send meets which receive: the k-th of a to b meets b's k-th from a.

namespace papcoll::inline PAPCOLL_ABI::detail {

/// A message as one of its two ranks has it.
struct MessageEnd {
  std::uint32_t from = 0;  ///< ranks
  std::uint32_t to = 0;
  std::uint32_t number = 0;  ///< of the messages between the two
  std::uint32_t step = 0;    ///< of the rank that has it

  bool of_same_pair(const MessageEnd& other) const noexcept {
    return from == other.from && to == other.to;
  }
  bool meets(const MessageEnd& other) const noexcept {
    return of_same_pair(other) && number == other.number;
  }
  friend auto operator<=>(const MessageEnd&, const MessageEnd&) = default;
};

/// Brings them into the order of one of their ranks; those of the same keep theirs.
inline void sort_stably(std::vector<MessageEnd>& ends, std::uint32_t MessageEnd::*rank,
                        std::size_t ranks, std::vector<MessageEnd>& room) {
  std::vector<std::size_t> at(ranks + 1, 0);
  for (const MessageEnd& e : ends) ++at[e.*rank + std::size_t{1}];
  for (std::size_t r = 0; r < ranks; ++r) at[r + 1] += at[r];
  room.resize(ends.size());
  for (const MessageEnd& e : ends) room[at[e.*rank]++] = e;
  std::swap(ends, room);
}

/// The sends of all ranks, and the receives.
struct MessageEnds {
  std::vector<MessageEnd> sends;
  std::vector<MessageEnd> receives;

  /// By sender, receiver and number: this takes time and memory for the messages only, however many
  /// pairs of rank and step there could be.
  void sort(std::size_t ranks) {
    std::vector<MessageEnd> room;
    for (std::vector<MessageEnd>* side : {&sends, &receives}) {
      sort_stably(*side, &MessageEnd::to, ranks, room);
      sort_stably(*side, &MessageEnd::from, ranks, room);
      if (!std::is_sorted(side->begin(), side->end())) std::sort(side->begin(), side->end());
    }
  }
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
