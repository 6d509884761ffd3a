#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/range.hpp>

#include <cstddef>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// The shape of a call, which is all that a plan depends on besides the schedule and the order.
struct Shape {
  Collective collective = Collective::barrier;
  int size = 1;
  int rank = 0;
  int root = 0;
  std::size_t count = 0;            ///< as in Call
  std::vector<std::size_t> counts;  ///< reduce_scatter with counts: one for each rank, else empty
  std::size_t element_size = 1;     ///< bytes
  bool in_place = false;
  bool commutative = true;

  friend bool operator==(const Shape&, const Shape&) = default;

  /// Elements of the whole vector.
  std::size_t vector_size() const noexcept {
    switch (traits_of(collective).vector) {
      case VectorOf::one_block:
        return count;
      case VectorOf::block_per_rank:
        return contribution(size - 1).hi;
    }
    return 0;
  }

  /// The elements that belong to a rank in allgather, gather, scatter and reduce_scatter.
  Range contribution(int of_rank) const noexcept {
    if (counts.empty()) {
      const std::size_t lo = static_cast<std::size_t>(of_rank) * count;
      return {lo, lo + count};
    }
    std::size_t lo = 0;
    for (int r = 0; r < of_rank; ++r) lo += counts[static_cast<std::size_t>(r)];
    return {lo, lo + counts[static_cast<std::size_t>(of_rank)]};
  }
};

/// Which part of the vector a rank's buffers hold, and which part it must end up with.
struct Layout {
  Range in;                      ///< the vector elements that Space::in holds, from offset 0
  Range out;                     ///< the vector elements that Space::out can hold, from offset 0
  bool input_is_in_out = false;  ///< in place: the elements `in` stand in Space::out from the start
  Range required;                ///< the elements that must stand in Space::out at the end
  std::size_t required_at = 0;   ///< and the offset in Space::out where they must begin
};

/// The layout that MPI's collective of the same name prescribes for this rank.
inline Layout layout_of(const Shape& s) noexcept {
  const Range all{0, s.vector_size()};
  const bool root = s.rank == s.root;
  switch (s.collective) {
    case Collective::allreduce:
    case Collective::barrier:
      return {all, all, s.in_place, all, 0};
    case Collective::reduce:
      // A non-root's buffer is input only, also in place.
      return root ? Layout{all, all, s.in_place, all, 0} : Layout{all, {}, false, {}, 0};
    case Collective::bcast:
      return root ? Layout{all, all, true, all, 0} : Layout{{}, all, false, all, 0};
    case Collective::allgather:
      return {s.contribution(s.rank), all, s.in_place, all, 0};
    case Collective::gather:
      return root ? Layout{s.contribution(s.rank), all, s.in_place, all, 0}
                  : Layout{s.contribution(s.rank), {}, false, {}, 0};
    case Collective::scatter: {
      const Range own = s.contribution(s.rank);
      if (!root) return {{}, own, false, own, 0};
      return s.in_place ? Layout{all, {}, false, {}, 0} : Layout{all, own, false, own, 0};
    }
    case Collective::reduce_scatter: {
      const Range own = s.contribution(s.rank);
      return s.in_place ? Layout{all, all, true, own, 0} : Layout{all, own, false, own, 0};
    }
  }
  return {};
}

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
