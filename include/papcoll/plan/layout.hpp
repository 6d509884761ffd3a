#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/plan/block_numbers.hpp>
#include <papcoll/plan/shape.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/range.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// Elements of the vector that stand, or belong, one after the other in a buffer of a rank.
struct Placement {
  Range range;
  std::size_t offset = 0;   ///< of the first of them, in elements
  std::uint64_t first = 0;  ///< its number among all contributions, the same on all ranks
};

/// What of the vector a rank's buffers hold, and what they must hold at the end. All placements are
/// in the order of the vector, and none is empty.
struct Layout {
  std::size_t in = 0;            ///< elements of Space::in
  std::size_t out = 0;           ///< elements of Space::out
  bool input_is_in_out = false;  ///< in place: the input stands in Space::out from the start
  std::vector<Placement> has;    ///< the rank's contribution
  std::vector<Placement> may;    ///< what may be kept in Space::out meanwhile
  std::vector<Placement> must;   ///< what must stand in Space::out at the end
};

namespace detail {

/// The elements of a buffer, in its order.
[[gnu::cold]] inline std::vector<Placement> placements(const Shape& s, Holds what,
                                                       const Order& order,
                                                       const BlockNumbers& blocks) {
  std::vector<Placement> all;
  std::size_t offset = 0;
  const auto add = [&](Range r, std::uint64_t first) {
    if (!r.empty()) all.push_back({r, offset, first});
    offset += r.size();
  };
  // Blocks of pairs have numbers that leave room for any sizes.
  const auto add_pair = [&](int from, int to) {
    const auto pair = static_cast<std::uint64_t>(from) * s.ranks() + static_cast<std::uint64_t>(to);
    add(s.part(from, to), s.counts.empty() ? pair * s.count : pair << 32U);
  };
  switch (what) {
    case Holds::nothing:
      break;
    case Holds::vector:
      if (!blocks.by_position()) {
        add({0, s.vector_size()}, 0);
        break;
      }
      for (const int position : order.positions()) {
        const Range r = blocks[position];
        if (!all.empty() && !r.empty() && all.back().range.hi == r.lo) {
          all.back().range.hi = r.hi;  // neighbours in both
          offset += r.size();
        } else {
          add(r, offset);
        }
      }
      break;
    case Holds::own_block:
      add(blocks[order.position(s.rank)], s.contribution(s.rank).lo);
      break;
    case Holds::blocks_to_all:
      for (int r = 0; r < s.size; ++r) add_pair(s.rank, r);
      break;
    case Holds::blocks_from_all:
      for (int r = 0; r < s.size; ++r) add_pair(r, s.rank);
      break;
  }
  return all;
}

inline std::size_t elements_of(const std::vector<Placement>& all) noexcept {
  return all.empty() ? 0 : all.back().offset + all.back().range.size();
}

}  // namespace detail

/// The layout that MPI's collective of the same name prescribes for this rank, where the vector's
/// blocks are numbered like this.
[[gnu::cold]] inline Layout layout_of(const Shape& s, const Order& order,
                                      const BlockNumbers& blocks) {
  const auto [in, out] = buffers_of(s.collective, s.rank == s.root);
  Layout l;
  l.has = detail::placements(s, in, order, blocks);
  l.must = detail::placements(s, out, order, blocks);
  if (is_exclusive(s.collective)) {
    const Contributors wanted = contributors(s.collective, s.rank, s.size);
    if (wanted.first == wanted.last) l.must.clear();
    for (Placement& p : l.must) p.range = s.result_of(p.range);
  }
  l.in = detail::elements_of(l.has);
  l.out = detail::elements_of(l.must);
  const auto before = [](const Placement& a, const Placement& b) {
    return a.range.lo < b.range.lo;
  };
  std::sort(l.has.begin(), l.has.end(), before);
  std::sort(l.must.begin(), l.must.end(), before);
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
  // Of pairs, what is received in place would come to stand where something waits to be sent.
  if (!l.input_is_in_out || out != Holds::blocks_from_all) l.may = l.must;
  return l;
}

/// The same in rank order.
[[gnu::cold]] inline Layout layout_of(const Shape& s) {
  const Order order = Order::identity(s.size);
  return layout_of(s, order, BlockNumbers{s, order});
}

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
