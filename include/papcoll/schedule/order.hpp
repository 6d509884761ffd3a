// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// The rank that plays each position: a bijection of 0…size−1. Rotations need no memory; any other
/// order shares one immutable table.
class Order {
 public:
  /// Position p is rank p.
  static Order identity(int size) { return Order{size, 0, nullptr}; }

  /// Position 0 is rank `first`, position 1 the rank after it, and so on around.
  static Order rotation(int size, int first) { return Order{size, first, nullptr}; }

  /// Position p is rank ranks[p]; `ranks` is a permutation of 0…size−1, or, for a group in a larger
  /// team whose positions() is not used, numbers in that team. `lateness`, if given, has what
  /// lateness(p) is for each position.
  static Order permutation(std::vector<int> ranks, std::vector<std::uint64_t> lateness = {}) {
    const int size = static_cast<int>(ranks.size());
    return Order{size, 0,
                 detail::make_shared<const Table>(Table{std::move(ranks), std::move(lateness)})};
  }

  /// Returns this permutation with `rank` moved to position 0, and those that were before it one
  /// position later. Does not allocate.
  Order with_first(int rank) const {
    int p = 0;
    while (table_->ranks[static_cast<std::size_t>(p)] != rank) ++p;
    return Order{size_, p, table_};
  }

  /// Returns the number of ranks.
  int size() const noexcept { return size_; }

  /// The rank that plays a position.
  int rank(int position) const noexcept {
    if (table_) return table_->ranks[index(position)];
    const int r = position + first_;
    return r < size_ ? r : r - size_;
  }

  /// The position that a rank plays.
  int position(int rank) const noexcept {
    if (!table_) return rank >= first_ ? rank - first_ : rank - first_ + size_;
    int p = 0;
    while (table_->ranks[index(p)] != rank) ++p;
    return p;
  }

  /// The position that each rank plays.
  [[gnu::cold]] std::vector<int> positions() const {
    std::vector<int> of_rank(static_cast<std::size_t>(size_));
    for (int p = 0; p < size_; ++p) of_rank[static_cast<std::size_t>(rank(p))] = p;
    return of_rank;
  }

  /// Returns by how many nanoseconds the rank at this position is expected to arrive after the
  /// first of all; 0 for all if nothing is known. A schedule may depend on it: all ranks have the
  /// same.
  std::uint64_t lateness(int position) const noexcept {
    return table_ && !table_->lateness.empty() ? table_->lateness[index(position)] : 0;
  }

  /// Returns true if both were made from the same permutation, by with_first() or as a copy.
  bool is_akin(const Order& o) const noexcept { return table_ && table_ == o.table_; }

  /// Returns true if it has a table; rank order and rotations have none.
  bool is_permutation() const noexcept { return table_ != nullptr; }

  /// Returns true if every rank plays the position of its number.
  bool is_identity() const noexcept { return !table_ && first_ == 0; }

  /// Orders that map alike compare equal if made alike: a permutation equals its own copies only.
  friend bool operator==(const Order&, const Order&) = default;

 private:
  struct Table {
    std::vector<int> ranks;
    std::vector<std::uint64_t> lateness;
  };

  Order(int size, int first, detail::Shared<const Table> table)
      : size_(size), first_(first), table_(std::move(table)) {}

  /// Returns where the table has this position.
  std::size_t index(int position) const noexcept {
    return static_cast<std::size_t>(position > first_ ? position
                                    : position == 0   ? first_
                                                      : position - 1);
  }

  int size_;
  int first_;  ///< without a table the rank, with one the table's place, that is at position 0
  detail::Shared<const Table> table_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
