#pragma once

#include <papcoll/config.hpp>

#include <memory>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Which rank plays which position: a bijection of 0…size−1. Rotations need no memory; any other
/// order shares one immutable table.
class Order {
 public:
  static Order identity(int size) { return Order{size, 0, nullptr}; }

  /// Position 0 is rank `first`, position 1 the rank after it, and so on around.
  static Order rotation(int size, int first) { return Order{size, first, nullptr}; }

  /// Position p is rank ranks[p]; `ranks` is a permutation of 0…size−1.
  static Order permutation(std::vector<int> ranks) {
    const int size = static_cast<int>(ranks.size());
    return Order{size, 0, std::make_shared<const std::vector<int>>(std::move(ranks))};
  }

  int size() const noexcept { return size_; }

  int rank(int position) const noexcept {
    if (table_) return (*table_)[static_cast<std::size_t>(position)];
    const int r = position + first_;
    return r < size_ ? r : r - size_;
  }

  int position(int rank) const noexcept {
    if (!table_) return rank >= first_ ? rank - first_ : rank - first_ + size_;
    int p = 0;
    while ((*table_)[static_cast<std::size_t>(p)] != rank) ++p;
    return p;
  }

  bool is_identity() const noexcept { return !table_ && first_ == 0; }

  /// Orders that map alike compare equal if made alike: a permutation equals its own copies only.
  friend bool operator==(const Order&, const Order&) = default;

 private:
  Order(int size, int first, std::shared_ptr<const std::vector<int>> table)
      : size_(size), first_(first), table_(std::move(table)) {}

  int size_;
  int first_;
  std::shared_ptr<const std::vector<int>> table_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
