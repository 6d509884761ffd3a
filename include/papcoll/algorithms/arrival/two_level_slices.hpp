#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/node/site.hpp>
#include <papcoll/schedule/range.hpp>
#include <papcoll/topology/groups.hpp>

#include <algorithm>
#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// The groups by which all ranks of a site combine in two levels, first within groups and then
/// across them; null: in one. All that it depends on is the same on all ranks: the groups, and what
/// matching calls have in common. In two levels each rank of a group has a counterpart in every
/// other; and only an operator that commutes may combine groups whose ranks do not follow each
/// other.
template <Site S>
const Groups* groups_of_two_levels(const S& s, const Call& c) noexcept {
  const Groups* const groups = s.groups();
  if (groups == nullptr) return nullptr;
  const int each = groups->largest();
  if (groups->count() < 2 || each < 2 || each * groups->count() != s.size()) return nullptr;
  const bool any_order = c.reducer.commutative && !c.rank_order;
  return any_order || groups->contiguous() ? groups : nullptr;
}

/// How ranks in groups of one size divide elements among them, as one of them sees it. Slice i
/// belongs to its owners, the members with number i, one in each group. Within its group an owner
/// combines all of the slice, and across groups its share of it:
///
///   2 groups of 3   slice 0   slice 1   slice 2
///   group A         A0        A1        A2          each: its slice of 3 contributions
///   group B         B0        B1        B2
///   across          A0|B0     A1|B1     A2|B2       each: its share of 2 partial results
///
/// Combined so, an element is (a0∘a1∘a2)∘(b0∘b1∘b2) wherever it lies, from left to right within
/// parentheses and across them: its bits depend on the groups, and on no slice or chunk.
class TwoLevelSlices {
 public:
  /// Of `rank`; groups that groups_of_two_levels() gave.
  TwoLevelSlices(const Groups& groups, int rank) noexcept
      : groups_(&groups), group_(groups.group_of(rank)), number_(groups.number_of(rank)) {}

  int groups() const noexcept { return groups_->count(); }
  int members() const noexcept { return groups_->largest(); }
  /// Of this rank.
  int group() const noexcept { return group_; }
  int number() const noexcept { return number_; }

  /// The rank that owns slice i in a group.
  int owner(int group, int i) const noexcept {
    return groups_->ranks_of(group)[static_cast<std::size_t>(i)];
  }
  /// The rank of this rank's group that has number i.
  int member(int i) const noexcept { return owner(group_, i); }
  /// The owner, in a group, of this rank's slice.
  int partner(int group) const noexcept { return owner(group, number_); }

  /// Slice i of n elements of `size` bytes; whole cache lines, so that no two ranks write to one.
  Range slice(int i, std::size_t n, std::size_t size) const noexcept {
    return elements(part(lines(n, size), i, members()), n, size);
  }
  /// The share that the owner in a group has of slice i; whole lines, too.
  Range share(int group, int i, std::size_t n, std::size_t size) const noexcept {
    return elements(part(part(lines(n, size), i, members()), group, groups()), n, size);
  }

 private:
  static std::size_t in_line(std::size_t size) noexcept {
    return size < cache_line ? cache_line / size : 1;
  }
  static Range lines(std::size_t n, std::size_t size) noexcept {
    return {0, (n + in_line(size) - 1) / in_line(size)};
  }
  static Range elements(Range lines, std::size_t n, std::size_t size) noexcept {
    return {std::min(lines.lo * in_line(size), n), std::min(lines.hi * in_line(size), n)};
  }

  const Groups* groups_;
  int group_;
  int number_;
};

/// Calls f(at, n) for the blocks of a range: n elements of `size` bytes, the first of them `at`
/// bytes behind element 0. With its inputs and its copy a block stays in a nearest cache of 32 KB.
template <class F>
void for_each_block(Range elements, std::size_t size, F&& f) {
  constexpr std::size_t block_bytes = 8192;
  const std::size_t block = std::max(block_bytes / size, std::size_t{1});
  for (std::size_t i = elements.lo; i < elements.hi; i += block) {
    f(i * size, std::min(block, elements.hi - i));
  }
}

/// Combines n elements of operand(0) … operand(count − 1), 2 or more, in this order. Only the last
/// combination writes to `to`, which may be one of them.
template <Site S, class F>
void combine_in_order(S& s, std::byte* to, int count, std::size_t n, F&& operand) {
  const std::byte* low = operand(0);
  for (int i = 1; i < count; ++i) {
    std::byte* const into = i + 1 == count ? to : s.scratch(0);
    s.reduce(into, low, operand(i), n);
    low = into;
  }
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
