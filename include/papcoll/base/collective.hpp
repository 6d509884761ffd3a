// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

/// The collectives papcoll offers, as values. Each has a tag type (below), by which a schedule
/// serves it with an overload of emit(), and a row of collective_traits.
enum class Collective : unsigned char {
  allreduce,
  reduce,
  bcast,
  allgather,
  reduce_scatter,
  gather,
  scatter,
  barrier,
  alltoall,
  scan,
  exscan,
};

// Lists the collectives once more, for code that is written once for each: X(allreduce) X(reduce) …
// clang-format off
#define PAPCOLL_FOR_EACH_COLLECTIVE(X)                                               \
  X(allreduce) X(reduce) X(bcast) X(allgather) X(reduce_scatter) X(gather) X(scatter) \
  X(barrier) X(alltoall) X(scan) X(exscan)
// clang-format on

/// What the vector of a collective is made of, `count` elements each.
enum class VectorOf : unsigned char {
  one_block,       ///< the same elements on all ranks
  block_per_rank,  ///< in rank order
  block_per_pair,  ///< by sender, then by receiver
};

/// What a rank's buffer holds.
enum class Holds : unsigned char {
  nothing,
  vector,     ///< all of it
  own_block,  ///< of a block for each rank, this rank's
  // Of a block for each pair of ranks:
  blocks_to_all,    ///< those that this rank sends, by receiver
  blocks_from_all,  ///< those that it receives, by sender
};

/// Whose contributions are combined in a rank's result.
enum class Combines : unsigned char {
  no_ranks,
  all_ranks,
  ranks_up_to_own,
  ranks_below_own,  ///< so that rank 0 has no result
};

/// What is asked of a collective in more than one place.
struct CollectiveTraits {
  /// What a rank's two buffers hold.
  struct Buffers {
    Holds in;   ///< the input
    Holds out;  ///< the output
  };
  /// What else is asked of it: bits.
  enum Flag : unsigned {
    rooted = 1,
    one_buffer = 2,    ///< in and out are the same memory wherever a rank has both
    inward = 4,        ///< early ranks have something to pass on before the last one has arrived
    synchronizes = 8,  ///< no rank leaves before all have arrived, whatever the counts
  };

  std::string_view name;  ///< as in the API and on command lines
  VectorOf vector;        ///< what its vector is made of
  Combines combines;      ///< whose contributions a result has
  Buffers root;           ///< on the root, or on every rank if there is none
  Buffers others;         ///< on the other ranks, if there is a root
  unsigned flags;         ///< bits of Flag
  /// Names of schedules that serve it among any number of ranks, on any transport.
  std::array<std::string_view, 2> schedules;

  /// Returns true if the flag is set.
  constexpr bool is(Flag f) const noexcept { return (flags & f) != 0; }
};

/// The traits of all, by the value of Collective.
inline constexpr auto collective_traits = [] {
  using enum VectorOf;
  using enum Holds;
  using enum Combines;
  using T = CollectiveTraits;
  // clang-format off
  return std::array{
    T{"allreduce",      one_block,      all_ranks, {vector, vector},       {},
      T::inward | T::synchronizes, {"Rabenseifner", "RecursiveDoubling"}},
    T{"reduce",         one_block,      all_ranks, {vector, vector},       {vector, nothing},
      T::rooted | T::inward, {"Binomial", "ReduceScatterGather"}},
    T{"bcast",          one_block,      no_ranks,  {vector, vector},       {nothing, vector},
      T::rooted | T::one_buffer, {"Binomial", "ScatterAllgather"}},
    T{"allgather",      block_per_rank, no_ranks,  {own_block, vector},    {},
      T::synchronizes, {"Ring", "Bruck"}},
    T{"reduce_scatter", block_per_rank, all_ranks, {vector, own_block},    {},
      T::inward, {"RecursiveHalving", "Linear"}},
    T{"gather",         block_per_rank, no_ranks,  {own_block, vector},    {own_block, nothing},
      T::rooted | T::inward, {"Binomial", "Linear"}},
    T{"scatter",        block_per_rank, no_ranks,  {vector, own_block},    {nothing, own_block},
      T::rooted, {"Binomial", "Linear"}},
    T{"barrier",        one_block,      no_ranks,  {vector, vector},       {},
      T::inward | T::synchronizes, {"Dissemination", "Linear"}},
    T{"alltoall",       block_per_pair, no_ranks,  {blocks_to_all, blocks_from_all}, {},
      0, {"Pairwise", "Bruck"}},
    T{"scan",           one_block,      ranks_up_to_own, {vector, vector}, {},
      T::inward, {"RecursiveDoubling", "Linear"}},
    T{"exscan",         one_block,      ranks_below_own, {vector, vector}, {},
      T::inward, {"RecursiveDoubling", "Linear"}},
  };
  // clang-format on
}();

#define PAPCOLL_IN_ORDER(c) \
  static_assert(collective_traits[static_cast<std::size_t>(Collective::c)].name == #c);
PAPCOLL_FOR_EACH_COLLECTIVE(PAPCOLL_IN_ORDER)
#undef PAPCOLL_IN_ORDER

/// How many collectives there are.
inline constexpr std::size_t collective_count = collective_traits.size();

/// The traits of one.
constexpr const CollectiveTraits& traits_of(Collective c) noexcept {
  return collective_traits[static_cast<std::size_t>(c)];
}

/// The name as in the API and on command lines.
constexpr std::string_view name_of(Collective c) noexcept { return traits_of(c).name; }

/// Returns true if the collective has a root.
constexpr bool is_rooted(Collective c) noexcept {
  return (traits_of(c).flags & CollectiveTraits::rooted) != 0;
}

/// Returns true if the collective combines elements with an operator.
constexpr bool is_reduction(Collective c) noexcept {
  return traits_of(c).combines != Combines::no_ranks;
}

/// The ranks first, first + 1, … last − 1.
struct Contributors {
  int first = 0;  ///< a rank
  int last = 0;   ///< a rank, the first that is none of them
  /// Returns true if the rank is one of them.
  constexpr bool contain(int rank) const noexcept { return first <= rank && rank < last; }
};

/// Whose contributions are combined in the result of this rank of `size`.
constexpr Contributors contributors(Collective c, int rank, int size) noexcept {
  switch (traits_of(c).combines) {
    case Combines::ranks_up_to_own: return {0, rank + 1};
    case Combines::ranks_below_own: return {0, rank};
    default: return {0, size};
  }
}

/// Returns true if a rank's result leaves out its own contribution, so that the two are kept side
/// by side.
constexpr bool is_exclusive(Collective c) noexcept {
  return traits_of(c).combines == Combines::ranks_below_own;
}

/// Returns true if contributions are combined in rank order even if the operator commutes: each
/// rank has another result, so ranks cannot swap positions.
constexpr bool is_prefix_reduction(Collective c) noexcept {
  const Combines by = traits_of(c).combines;
  return by == Combines::ranks_up_to_own || by == Combines::ranks_below_own;
}

/// Returns true if the collective moves elements; a barrier does not.
constexpr bool has_data(Collective c) noexcept { return c != Collective::barrier; }

/// Returns true if every element is treated alike, so that the vector may be cut anywhere.
constexpr bool is_elementwise(Collective c) noexcept {
  return traits_of(c).vector == VectorOf::one_block && has_data(c);
}

/// Returns true if input and output are the same memory wherever a rank has both.
constexpr bool has_one_buffer(Collective c) noexcept {
  return traits_of(c).is(CollectiveTraits::one_buffer);
}

/// Returns what the buffers of a rank hold.
constexpr CollectiveTraits::Buffers buffers_of(Collective c, bool is_root) noexcept {
  return is_root || !is_rooted(c) ? traits_of(c).root : traits_of(c).others;
}

/// The name of a call in messages about its arguments.
struct CallLabel {
  Collective collective;      ///< of which kind
  bool non_blocking = false;  ///< it returns a request
  bool irregular = false;     ///< its v-form, if it has one

  /// "alltoallv".
  [[gnu::cold]] std::string name() const {
    const bool v = irregular && collective != Collective::reduce_scatter;
    return detail::joined({name_of(collective), v ? "v" : ""});
  }
};

/// A call as messages name it: "reduce of 3 elements with root 1".
[[gnu::cold]] inline std::string describe(Collective c, std::size_t count, int root) {
  std::string text{name_of(c)};
  if (!has_data(c)) return text;
  text += detail::joined({" of ", count, (count == 1 ? " element" : " elements")});
  if (is_rooted(c)) text += detail::joined({" with root ", root});
  return text;
}

/// A collective as a type. A schedule serves a collective by an emit() that takes its tag.
template <Collective C> struct CollectiveTag {
  static constexpr Collective value = C;  ///< the collective as a value
};
using Allreduce = CollectiveTag<Collective::allreduce>;           ///< tag of allreduce
using Reduce = CollectiveTag<Collective::reduce>;                 ///< tag of reduce
using Bcast = CollectiveTag<Collective::bcast>;                   ///< tag of bcast
using Allgather = CollectiveTag<Collective::allgather>;           ///< tag of allgather
using ReduceScatter = CollectiveTag<Collective::reduce_scatter>;  ///< tag of reduce_scatter
using Gather = CollectiveTag<Collective::gather>;                 ///< tag of gather
using Scatter = CollectiveTag<Collective::scatter>;               ///< tag of scatter
using Barrier = CollectiveTag<Collective::barrier>;               ///< tag of barrier
using Alltoall = CollectiveTag<Collective::alltoall>;             ///< tag of alltoall
using Scan = CollectiveTag<Collective::scan>;                     ///< tag of scan
using Exscan = CollectiveTag<Collective::exscan>;                 ///< tag of exscan

}  // namespace papcoll::inline PAPCOLL_ABI

namespace papcoll::inline PAPCOLL_ABI::detail {

template <Collective... Cs> struct CollectiveList {};

template <std::size_t... Is>
CollectiveList<static_cast<Collective>(Is)...> list_collectives(std::index_sequence<Is...>);

using AllCollectives = decltype(list_collectives(std::make_index_sequence<collective_count>{}));

/// Calls f.operator()<C>() for the collective of the list that `c` is: compiles f for those only.
template <Collective... Cs, class F>
void with_collective(CollectiveList<Cs...>, Collective c, F&& f) {
  static_cast<void>(((Cs == c ? (f.template operator()<Cs>(), true) : false) || ...));
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
