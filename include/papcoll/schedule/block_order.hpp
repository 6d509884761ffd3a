#pragma once

#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/plan_shape.hpp>
#include <papcoll/schedule/range.hpp>

#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI {

/// Where the block of each position is in a vector with a block for each rank, as a schedule sees
/// that: in order of the ranks, unless the order of positions is a permutation. Then in order of
/// the positions, so that neighbouring positions have neighbouring blocks, and what they send
/// together is one message, as in rank order; the buffers, which are by rank, are permuted locally.
class BlockOrder {
 public:
  /// `order` outlives it.
  [[gnu::cold]] BlockOrder(const Shape& shape, const Order& order)
      : order_(&order),
        count_(shape.count),
        by_position_(order.is_permutation() &&
                     traits_of(shape.collective).vector == VectorOf::block_per_rank) {
    if (shape.counts.empty() || traits_of(shape.collective).vector != VectorOf::block_per_rank) {
      return;
    }
    starts_.resize(1);
    for (int i = 0; i < shape.size; ++i) {
      const int rank = by_position_ ? order.rank(i) : i;
      starts_.push_back(starts_.back() + shape.counts[static_cast<std::size_t>(rank)]);
    }
  }

  bool by_position() const noexcept { return by_position_; }

  /// The block of a position.
  Range operator[](int position) const noexcept {
    const auto n = static_cast<std::size_t>(by_position_ ? position : order_->rank(position));
    if (starts_.empty()) return {n * count_, (n + 1) * count_};
    return {starts_[n], starts_[n + 1]};
  }

 private:
  const Order* order_;
  std::size_t count_;
  bool by_position_;
  detail::Vector<std::size_t> starts_;  ///< where sizes differ: of each block, and the end
};

}  // namespace papcoll::inline PAPCOLL_ABI
