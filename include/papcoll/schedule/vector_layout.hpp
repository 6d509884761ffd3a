// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/plan.hpp>
#include <papcoll/schedule/range.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

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

/// Elements of the vector that stand, or belong, one after the other in a buffer of a rank.
struct Placement {
  Range range;
  std::size_t offset = 0;   ///< of the first of them, in elements
  std::uint64_t first = 0;  ///< its number among all contributions, the same on all ranks
};

/// What of the vector a rank's buffers hold, and what they must hold at the end. All placements are
/// in the order of the vector, and none is empty.
struct Layout {
  std::size_t in = 0;              ///< elements of Space::in
  std::size_t out = 0;             ///< elements of Space::out
  bool input_is_in_out = false;    ///< in place: the input stands in Space::out from the start
  detail::Vector<Placement> has;   ///< the rank's contribution
  detail::Vector<Placement> may;   ///< what may be kept in Space::out meanwhile
  detail::Vector<Placement> must;  ///< what must stand in Space::out at the end
};

namespace detail {

/// The elements of a buffer, in the order of the vector.
class Placements {
 public:
  [[gnu::cold]] Placements(const Shape& s, Holds what, const Order& order,
                           const BlockOrder& blocks) {
    switch (what) {
      case Holds::nothing: break;
      case Holds::vector:
        if (blocks.by_position()) {
          add_blocks(s, order, blocks);
        } else {
          add({0, s.vector_size()}, 0, 0);
        }
        break;
      case Holds::own_block:
        add(blocks[order.position(s.rank)], 0, s.contribution(s.rank).lo);
        break;
      case Holds::blocks_to_all:
        for (int r = 0; r < s.size; ++r) add_pair(s, s.rank, r);
        break;
      case Holds::blocks_from_all:
        for (int r = 0; r < s.size; ++r) add_pair(s, r, s.rank);
        break;
    }
  }

  Vector<Placement> all;
  std::size_t elements = 0;

 private:
  [[gnu::cold]] void add(Range r, std::size_t offset, std::uint64_t first) {
    if (r.empty()) return;
    elements += r.size();
    std::size_t at = all.size();
    while (at != 0 && all[at - 1].range.lo > r.lo) --at;
    all.insert(all.begin() + at, {r, offset, first});
  }

  [[gnu::cold]] void add_blocks(const Shape& s, const Order& order, const BlockOrder& blocks) {
    Vector<std::size_t> offsets;  // of each rank
    std::size_t offset = 0;
    for (std::size_t rank = 0; rank < s.ranks(); ++rank) {
      offsets.push_back(offset);
      offset += s.counts.empty() ? s.count : s.counts[rank];
    }
    for (int p = 0; p < s.size; ++p) {
      const Range r = blocks[p];
      const std::size_t at = offsets[static_cast<std::size_t>(order.rank(p))];
      if (!all.empty() && all.back().range.hi == r.lo &&
          all.back().offset + all.back().range.size() == at) {
        all.back().range.hi = r.hi;  // neighbours in both
        elements += r.size();
      } else {
        add(r, at, at);
      }
    }
  }

  /// Blocks of pairs have numbers that leave room for any sizes.
  [[gnu::cold]] void add_pair(const Shape& s, int from, int to) {
    const auto pair = static_cast<std::uint64_t>(from) * s.ranks() + static_cast<std::uint64_t>(to);
    add(s.part(from, to), elements, s.counts.empty() ? pair * s.count : pair << 32U);
  }
};

}  // namespace detail

/// The layout that MPI's collective of the same name prescribes for this rank, where the vector's
/// blocks are numbered like this.
[[gnu::cold]] inline Layout layout_of(const Shape& s, const Order& order,
                                      const BlockOrder& blocks) {
  const auto [in, out] = buffers_of(s.collective, s.rank == s.root);
  Layout l;
  detail::Placements has{s, in, order, blocks};
  detail::Placements must{s, out, order, blocks};
  l.in = has.elements;
  l.out = must.elements;
  l.has = std::move(has.all);
  l.must = std::move(must.all);
  if (is_exclusive(s.collective)) {
    const Contributors wanted = contributors(s.collective, s.rank, s.size);
    if (wanted.first == wanted.last) {
      l.must.clear();
      l.out = 0;
    }
    for (Placement& p : l.must) p.range = s.result_of(p.range);
  }
  // In place changes nothing for a rank with one buffer: a non-root's of reduce is input only.
  l.input_is_in_out =
      (s.in_place || has_one_buffer(s.collective)) && in != Holds::nothing && out != Holds::nothing;
  if (is_exclusive(s.collective)) {
    l.input_is_in_out &= !l.must.empty();  // what gets no result stays as it is
    l.may = l.input_is_in_out ? l.has : l.must;
    return l;
  }
  if (l.input_is_in_out && in == Holds::vector && out == Holds::own_block) {
    if (is_reduction(s.collective)) {
      l.may = l.has;
      l.out = l.in;
    } else {  // the own block stands where it belongs, in what is input only
      l.input_is_in_out = false;
      l.must.clear();
      l.out = 0;
    }
    return l;
  }
  if (l.input_is_in_out && in == Holds::own_block && !l.has.empty()) {
    l.has.front().offset = static_cast<std::size_t>(l.has.front().first);
  }
  // With a block for each pair, what is received in place would overwrite a block that is still to
  // be sent.
  if (!l.input_is_in_out || out != Holds::blocks_from_all) l.may = l.must;
  return l;
}

/// Returns the layout with blocks in rank order.
[[gnu::cold]] inline Layout layout_of(const Shape& s) {
  const Order order = Order::identity(s.size);
  return layout_of(s, order, BlockOrder{s, order});
}

}  // namespace papcoll::inline PAPCOLL_ABI
