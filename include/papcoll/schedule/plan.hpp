// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/range.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
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
  // True if messages are sent from the input, and received in the output, in place. False if
  // elements are not contiguous, or are in memory that the transport does not reach: then messages
  // go through scratch memory.
  bool in_direct = true;
  bool out_direct = true;
  /// True if there is a message for an empty block, too, so that its receiver finds out if it
  /// expects more.
  bool sends_empty = false;

  friend bool operator==(const Shape&, const Shape&) = default;

  std::size_t ranks() const noexcept { return static_cast<std::size_t>(size); }

  /// Elements of the whole vector. Where a rank knows the sizes of its own pairs only, its vector
  /// is made of these.
  std::size_t vector_size() const noexcept {
    switch (traits_of(collective).vector) {
      case VectorOf::one_block: return count;
      case VectorOf::block_per_rank: return contribution(size - 1).hi;
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

  /// Returns where the result of what r contributes is, among these.
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

  /// Returns what rank `from` has for rank `to`, of a vector with a block for each pair. Throws
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

/// What a step does. Every one is started and then polled on the transport.
enum class OpKind : unsigned char {
  send,     ///< `a` goes to the peer
  receive,  ///< what the peer sent is stored at `to`
  reduce,   ///< to = op(a, b); `a` holds the lower ranks
  copy,     ///< to = a; the two may overlap; of no elements, only others wait for it
};

/// Where an element lives on the rank that runs the plan.
enum class Space : unsigned char {
  in,       ///< the call's input, never written
  out,      ///< the call's output (and input, in place)
  scratch,  ///< memory of the PlanRun, one area for each block in flight
};

/// An element of a space.
struct Operand {
  Space space = Space::in;
  std::size_t offset = 0;  ///< elements
  friend bool operator==(const Operand&, const Operand&) = default;
};

/// One step of one position's plan, over n elements.
struct Step {
  OpKind kind = OpKind::copy;
  int peer = -1;  ///< a position; −1 for local steps
  std::uint32_t number =
      0;  ///< this is the number-th send (or receive) of this block to (from) peer
  std::size_t n = 0;
  Operand to{};
  Operand a{};
  Operand b{};
};

/// A step (its index in the plan) and a later one that may start only when it is complete.
struct Dependency {
  std::uint32_t earlier;
  std::uint32_t later;
};

/// What one position does for one block of the vector: a directed acyclic graph of steps. Steps
/// stand in an order in which they may also be run one after the other.
class Plan {
 public:
  Plan() = default;

  /// `scratch` and `count` as the functions of the same name; each dependency is given once.
  [[gnu::cold]] Plan(detail::Vector<Step> steps, std::span<const Dependency> dependencies,
                     std::size_t scratch, std::size_t count)
      : steps_(std::move(steps)), scratch_(scratch), count_(count) {
    const std::size_t n = steps_.size();
    links_.resize(2 * n + 1 + dependencies.size());
    std::uint32_t* const predecessors = links_.data();
    std::uint32_t* const begins = predecessors + n;
    for (const Dependency& d : dependencies) {
      ++predecessors[d.later];
      ++begins[d.earlier];
    }
    auto end = static_cast<std::uint32_t>(2 * n + 1);
    for (std::size_t i = 0; i <= n; ++i) begins[i] = end += begins[i];
    for (std::size_t i = dependencies.size(); i-- != 0;) {  // from the end of each to its begin
      links_[--begins[dependencies[i].earlier]] = dependencies[i].later;
    }
  }

  std::span<const Step> steps() const noexcept { return {steps_.data(), size()}; }
  std::size_t size() const noexcept { return steps_.size(); }
  const Step& operator[](std::size_t i) const noexcept { return steps_[i]; }

  /// The steps that may start only when step i is complete.
  std::span<const std::uint32_t> successors(std::size_t i) const noexcept {
    const std::uint32_t* const begin = links_.data() + size() + i;
    return {links_.data() + begin[0], begin[1] - begin[0]};
  }
  /// Returns the number of steps that must complete before step i may start.
  std::uint32_t predecessors(std::size_t i) const noexcept { return links_[i]; }
  std::span<const std::uint32_t> predecessors() const noexcept { return {links_.data(), size()}; }

  std::size_t scratch() const noexcept { return scratch_; }  ///< elements of scratch space
  std::size_t count() const noexcept { return count_; }      ///< elements of the vector

 private:
  detail::Vector<Step> steps_;
  /// For each step the number of its predecessors; then, for each step, where its successors begin
  /// in here, and where those of the last end; then these.
  detail::Vector<std::uint32_t> links_;
  std::size_t scratch_ = 0;
  std::size_t count_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI
