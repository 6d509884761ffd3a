#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/schedule/range.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// The shape of a call, which is all that a plan depends on besides the schedule and the order.
struct Shape {
  Collective collective = Collective::barrier;
  int size = 1;
  int rank = 0;
  int root = 0;
  std::size_t count = 0;  ///< as in Call
  /// Sizes that differ: one for each rank. Of an alltoall, what this rank sends to each and then
  /// what it receives from each; to a verifier, the sizes of all pairs, by sender and receiver.
  /// Empty: all are `count`.
  std::vector<std::size_t> counts;
  std::size_t element_size = 1;  ///< bytes
  bool in_place = false;
  bool commutative = true;
  // May messages be sent from the input, and received in the output, where these are? Not if their
  // elements lie apart or in memory that the transport does not reach: then through scratch memory.
  bool in_direct = true;
  bool out_direct = true;
  /// Is there a message for an empty block, too? So its receiver finds out if it expects more.
  bool sends_empty = false;

  friend bool operator==(const Shape&, const Shape&) = default;

  std::size_t ranks() const noexcept { return static_cast<std::size_t>(size); }

  /// Elements of the whole vector. Where a rank knows the sizes of its own pairs only, its vector
  /// is made of these.
  std::size_t vector_size() const noexcept {
    switch (traits_of(collective).vector) {
      case VectorOf::one_block:
        return count;
      case VectorOf::block_per_rank:
        return contribution(size - 1).hi;
      case VectorOf::block_per_pair:
        return counts.empty() ? ranks() * ranks() * count
                              : sum(0, 2 * ranks()) - counts[static_cast<std::size_t>(rank)];
    }
    return 0;
  }

  /// Elements that a plan names: those of the vector and, where results stand beside contributions,
  /// as many again.
  std::size_t named_size() const noexcept {
    return is_exclusive(collective) ? 2 * count : vector_size();
  }

  /// Where the result of what r contributes is, among these.
  Range result_of(Range r) const noexcept {
    return is_exclusive(collective) ? Range{r.lo + count, r.hi + count} : r;
  }

  /// The elements that belong to a rank, of a vector with a block for each.
  Range contribution(int of_rank) const noexcept {
    if (counts.empty()) {
      const std::size_t lo = static_cast<std::size_t>(of_rank) * count;
      return {lo, lo + count};
    }
    const auto r = static_cast<std::size_t>(of_rank);
    const std::size_t lo = sum(0, r);
    return {lo, lo + counts[r]};
  }

  /// What rank `from` has for rank `to`, of a vector with a block for each pair. Throws
  /// argument_error if this rank does not know its size.
  [[gnu::cold]] Range part(int from, int to) const {
    const auto f = static_cast<std::size_t>(from);
    const auto t = static_cast<std::size_t>(to);
    const auto me = static_cast<std::size_t>(rank);
    if (counts.empty()) {
      const std::size_t lo = (f * ranks() + t) * count;
      return {lo, lo + count};
    }
    if (f == me) {
      const std::size_t lo = sum(0, t);
      return {lo, lo + counts[t]};
    }
    if (t == me) {
      std::size_t lo = sum(0, ranks() + f);
      if (f > me) lo -= counts[ranks() + me];  // the own block is among those that are sent
      return {lo, lo + counts[ranks() + f]};
    }
    throw argument_error(
        detail::joined({"papcoll: rank ", rank, " does not know how many elements rank ", from,
                        " has for rank ", to, ": for sizes that differ take Pairwise or Linear"}));
  }

 private:
  std::size_t sum(std::size_t first, std::size_t last) const noexcept {
    std::size_t n = 0;
    for (; first < last; ++first) n += counts[first];
    return n;
  }
};

}  // namespace papcoll::inline PAPCOLL_ABI
