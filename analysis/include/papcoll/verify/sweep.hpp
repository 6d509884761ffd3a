// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/schedule/make_plan.hpp>
#include <papcoll/verify/verify.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// "reduce of 19 elements on 16 ranks, root 3, in place, operator does not commute".
inline std::string describe(const Shape& s) {
  std::string text(name_of(s.collective));
  if (has_data(s.collective)) {
    text += " of ";
    if (s.counts.empty()) {
      text += detail::counted(s.count, "element");
    } else {
      const std::size_t all = std::accumulate(s.counts.begin(), s.counts.end(), std::size_t{0});
      text += std::to_string(all) + " elements in unequal shares";
    }
  }
  text += " on " + detail::counted(static_cast<std::size_t>(s.size), "rank");
  if (is_rooted(s.collective)) text += ", root " + std::to_string(s.root);
  if (s.in_place) text += ", in place";
  if (!s.commutative) text += ", operator does not commute";
  if (!s.in_direct) text += ", no messages from the input";
  if (!s.out_direct) text += ", no messages into the output";
  return text;
}

namespace detail {

/// The vector lengths that show a schedule all it can meet with so many ranks: parts of unequal
/// size, empty parts, nothing at all. The first is for every root.
inline std::vector<std::size_t> telling_counts(Collective collective, int size) {
  const auto ranks = static_cast<std::size_t>(size);
  if (!has_data(collective)) return {1};
  if (is_elementwise(collective)) return {ranks + 3, 2 * ranks + 1, ranks / 2 + 1, 1, 0};
  return {2, 1, 0};
}

/// Blocks of ranks that differ, some of them empty.
inline std::vector<std::size_t> unequal_shares(int size) {
  std::vector<std::size_t> shares(static_cast<std::size_t>(size));
  for (std::size_t r = 0; r < shares.size(); ++r) shares[r] = r * 2 % 3;
  return shares;
}

/// As many at random: 0 to 3 elements, and more than half of the blocks are empty.
inline std::vector<std::size_t> random_sizes(std::size_t n, std::uint64_t seed) {
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U + n;
  std::vector<std::size_t> sizes(n);
  for (std::size_t& size : sizes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto drawn = static_cast<std::size_t>(state >> 33U) % 8;
    size = drawn < 4 ? 0 : drawn - 4;
  }
  return sizes;
}

/// Blocks of pairs that differ, some of them empty. In place, two ranks have as much for each
/// other.
inline std::vector<std::size_t> unequal_pairs(int size, bool in_place, std::uint64_t seed) {
  const auto ranks = static_cast<std::size_t>(size);
  std::vector<std::size_t> sizes = random_sizes(ranks * ranks, seed);
  for (std::size_t from = 0; in_place && from < ranks; ++from) {
    for (std::size_t to = 0; to < from; ++to) sizes[from * ranks + to] = sizes[to * ranks + from];
  }
  return sizes;
}

/// An order that is not a rotation: position 0 is rank 0, then the others backwards.
inline Order scattered_order(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  for (int p = 1; p < size; ++p) ranks[static_cast<std::size_t>(p)] = size - p;
  return Order::permutation(std::move(ranks));
}

/// Orders as predictions lead to: the ranks at random, each later than the one after it by some
/// steps, or none; or all together but the one at position 0, which is very late.
inline Order predicted_order(int size, std::uint64_t seed) {
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(size);
  auto below = [&state](std::size_t n) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(state >> 33U) % n;
  };
  const auto positions = static_cast<std::size_t>(size);
  std::vector<int> ranks(positions);
  std::iota(ranks.begin(), ranks.end(), 0);
  for (std::size_t i = positions; i > 1; --i) std::swap(ranks[i - 1], ranks[below(i)]);
  std::vector<std::uint64_t> late(positions);
  constexpr std::array<std::uint64_t, 5> gaps{0, 0, 700, 5000, 200000};  // nanoseconds
  const bool one_late = seed % 2 == 0;
  for (std::size_t i = positions - 1; i > 0; --i) {
    late[i - 1] = late[i] + (one_late ? (i == 1 ? 1000000U : 0U) : gaps[below(gaps.size())]);
  }
  return Order::permutation(std::move(ranks), std::move(late));
}

/// Makes the shape one that the schedule cuts in blocks, the last one shorter: three, or as many as
/// it takes until one that stands for others by the bytes cuts. False if it never does.
inline bool cut_in_blocks(const AnySchedule& schedule, Shape& shape) {
  if (!is_elementwise(shape.collective)) return false;
  for (const std::size_t bytes : {1UL << 16U, 1UL << 18U, 1UL << 20U, 1UL << 22U}) {
    const AnySchedule played = schedule.resolved(shape.size, bytes);
    const bool goes_by_bytes = !(played == schedule);
    const std::size_t block = played.segment(shape.size, 1);
    if (block == 0 && !goes_by_bytes) return false;
    if (block == 0) continue;
    // Large elements make short blocks.
    shape.element_size =
        std::max<std::size_t>(1, block / (static_cast<std::size_t>(shape.size) + 2));
    const std::size_t segment = played.segment(shape.size, shape.element_size);
    const std::size_t blocks = goes_by_bytes ? std::max<std::size_t>(2, bytes / block) : 2;
    shape.count = blocks * segment + (segment + 1) / 2;
    if (segment > 1 && schedule.resolved(shape.size, shape.count * shape.element_size) == played) {
      return true;
    }
  }
  return false;
}

/// Elements so large that whatever cuts in segments, also inside of a plan, cuts to single ones.
inline Shape huge_elements(Shape shape) {
  shape.element_size = std::size_t{1} << 30U;
  shape.count = 5;
  return shape;
}

}  // namespace detail

/// A call to verify and the order in which it is played.
struct VerifyCase {
  Shape shape;  ///< the call
  Order order;  ///< which rank plays which position
};

/// Returns the cases for which a schedule is verified with `size` ranks: all roots, in place and
/// out of place, operators that commute and, where the schedule serves them, that do not, and
/// telling counts. What other roots cannot show is tried with root 0 alone; so is an order that
/// scatters the ranks. All schedules are tried in a predicted order, and those that need
/// predictions in several; with blocks that differ in size, where the collective has blocks, with
/// and without messages for empty ones; and with buffers that messages
/// cannot be sent from or received in.
inline std::vector<VerifyCase> verify_cases(const AnySchedule& schedule, Collective collective,
                                            int size) {
  std::vector<VerifyCase> cases;
  Shape s;
  s.collective = collective;
  s.size = size;
  const auto counts = detail::telling_counts(collective, size);
  const bool predicts = (schedule.needs() & capability::forecast) != 0;
  auto add = [&](const Shape& shape) { cases.push_back({shape, static_order(shape)}); };
  auto add_root = [&] {
    s.count = counts.front();
    add(s);
    // Ranks with results of their own cannot change places.
    const bool any_order = s.commutative && !is_prefix_reduction(collective);
    if (any_order && (s.root == 0 || s.root == size / 2 || predicts)) {
      for (std::uint64_t seed = 1; seed <= (predicts ? 4U : 1U); ++seed) {
        const Order order = detail::predicted_order(size, seed);
        const Order rooted = is_rooted(collective) ? order.with_first(s.root) : order;
        cases.push_back({s, rooted});
        if (predicts) cases.push_back({detail::huge_elements(s), rooted});
      }
    }
    if (traits_of(collective).vector == VectorOf::block_per_rank) {
      Shape unequal = s;
      unequal.counts = detail::random_sizes(
          s.ranks(), static_cast<std::uint64_t>(s.root) + (s.in_place ? 1000U : 0U));
      unequal.sends_empty = !is_reduction(collective);
      add(unequal);
    }
    if (s.root != 0) return;
    if (any_order) cases.push_back({s, detail::scattered_order(size)});
    for (std::size_t i = 1; i < counts.size(); ++i) {
      s.count = counts[i];
      add(s);
    }
    if (Shape cut = s; detail::cut_in_blocks(schedule, cut)) add(cut);
    if (is_elementwise(collective)) add(detail::huge_elements(s));
    if (traits_of(collective).vector == VectorOf::block_per_rank) {
      Shape unequal = s;
      unequal.counts = detail::unequal_shares(size);
      add(unequal);
      if (any_order) cases.push_back({unequal, detail::scattered_order(size)});
    }
    if (traits_of(collective).vector == VectorOf::block_per_pair && schedule.own_parts_only()) {
      for (const std::uint64_t seed : {1U, 2U, 3U}) {
        Shape unequal = s;
        unequal.counts = detail::unequal_pairs(size, s.in_place, seed);
        unequal.sends_empty = seed != 1;
        add(unequal);
      }
    }
    if (!s.commutative || !has_data(collective)) return;
    s.count = counts.front();
    for (const bool input : {true, false}) {
      Shape apart = s;
      apart.in_direct = !input && !s.in_place;
      apart.out_direct = input && !s.in_place;
      add(apart);
      if (any_order) cases.push_back({apart, detail::scattered_order(size)});
      if (s.in_place) break;  // there is one buffer
    }
  };
  for (const bool commutes : {true, false}) {
    if (!commutes && (!is_reduction(collective) || schedule.commutative_only())) continue;
    s.commutative = commutes;
    for (const bool in_place : {false, true}) {
      if (in_place && has_one_buffer(collective)) continue;
      s.in_place = in_place;
      for (s.root = 0; s.root < (is_rooted(collective) ? size : 1); ++s.root) add_root();
    }
  }
  return cases;
}

/// What verify_up_to() found.
struct Proof {
  std::size_t cases = 0;  ///< verified
  Verdict verdict;        ///< the first fault
  Shape shape;            ///< and the call that shows it
  /// Returns true if no fault was found.
  explicit operator bool() const noexcept { return verdict.proven(); }
};

/// Verifies a schedule for one collective that it serves, with 1, 2, … max_ranks ranks, until a
/// fault is found. progress(ranks) is called before each number of ranks.
template <class Progress>
Proof verify_up_to(const AnySchedule& schedule, Collective collective, int max_ranks,
                   Progress&& progress, const VerifyOptions& options = {}) {
  Proof proof;
  for (int size = 1; size <= max_ranks; ++size) {
    progress(size);
    for (const VerifyCase& c : verify_cases(schedule, collective, size)) {
      proof.verdict = verify(schedule, c.shape, c.order, options);
      ++proof.cases;
      if (!proof.verdict) {
        proof.shape = c.shape;
        return proof;
      }
    }
  }
  return proof;
}

/// As above, without reports of its progress.
inline Proof verify_up_to(const AnySchedule& schedule, Collective collective, int max_ranks,
                          const VerifyOptions& options = {}) {
  return verify_up_to(
      schedule, collective, max_ranks, [](int) {}, options);
}

}  // namespace papcoll::inline PAPCOLL_ABI
