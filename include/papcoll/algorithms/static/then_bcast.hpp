// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Schedules of two others: ReduceThenBcast, GatherThenBcast.

#include <papcoll/algorithms/static/binomial.hpp>
#include <papcoll/algorithms/static/schedule_parameters.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI::detail {

// What schedules that are made of others have in common.

template <class S, class Tag> inline constexpr bool part_serves = StaticSchedule<S>&& Emits<S, Tag>;

/// The schedule; or, if it is wrong, another one, so that there is one error only.
template <class S, class Tag>
using PartServing = std::conditional_t<part_serves<S, Tag>, S, Binomial>;

/// Throws argument_error, which begins with `needs`, if there is no part or it does not serve c.
[[gnu::cold]] inline void require_part(const AnySchedule& part, Collective c,
                                       std::string_view needs) {
  if (part && part.serves(c)) return;
  const std::string why = part ? joined({", and ", part.name(), " does not"}) : std::string{};
  throw_error<argument_error>({"papcoll: ", needs, why});
}

/// Emits a part of the schedule of this name. Throws argument_error as require_part().
[[gnu::cold]] inline void emit_part(std::string_view schedule, const AnySchedule& part,
                                    Collective c, Builder& b) {
  require_part(part, c, joined({schedule, " needs a schedule that serves ", name_of(c)}));
  part.emit(c, b);
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail

namespace papcoll::inline PAPCOLL_ABI {

/// Allreduce as any reduce to position 0 and then any bcast from there.
///
/// Phases: those of R, then those of B; where both pipeline, one segment's bcast overlaps with the
///   next ones' reduce.
/// Cost: R's reduce and B's bcast.
/// Prefer it where the machine suggests a tree for each direction, to build arrival-aware orders on
///   (a late position near the root waits least), and for comparisons.
/// Limits: twice the rounds of an exchange such as RecursiveDoubling. Works for operators that do
///   not commute if R does.
///
///     R = Binomial, B = Chain, P = 4     0         1         2         3
///                                        a         b         c         d
///     1→0, 3→2                           ab        b         cd        d
///     2→0                                abcd      b         cd        d
///     0→1                                abcd      abcd      cd        d
///     1→2                                abcd      abcd      abcd      d
///     2→3                                abcd      abcd      abcd      abcd
///
/// ReduceThenBcast<Binomial, Chain> is a policy, AnyReduceThenBcast{Binomial{}, Chain{}} the same
/// of parts known at run time, whose emit() throws argument_error if one of them does not serve its
/// collective, and ReduceThenBcast:Binomial,Chain the name (see
/// schedule_parameters.hpp).
///
/// Source: textbook; Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005.
struct AnyReduceThenBcast {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "ReduceThenBcast";
  static constexpr std::string_view sentence =
      "Any reduce to one position, then any bcast from there.";
  static constexpr std::array parameters{
      Parameter{"reduce", "Binomial", 0, "a schedule that serves reduce"},
      Parameter{"bcast", "Binomial", 0, "a schedule that serves bcast"}};

  AnySchedule reduce;  ///< the first phase; must serve reduce
  AnySchedule bcast;   ///< the second phase; must serve bcast

  bool commutative_only() const { return reduce && reduce.commutative_only(); }

  std::string arguments() const {
    std::string text;
    if (reduce && bcast) add_argument(text, reduce.name()), add_argument(text, bcast.name());
    return text;
  }

  /// If one part does not pipeline, it has the whole vector at once, and the other cuts for itself.
  std::size_t segment(int size, std::size_t element_size) const {
    if (!reduce || !bcast) return 0;
    const std::size_t up = reduce.segment(size, element_size);
    const std::size_t down = bcast.segment(size, element_size);
    return up == 0 || down == 0 ? 0 : std::max(up, down);
  }

  void emit(Allreduce, auto& b) const {
    detail::emit_part(name, reduce, Collective::reduce, b);
    detail::emit_part(name, bcast, Collective::bcast, b);
  }

  friend bool operator==(const AnyReduceThenBcast&, const AnyReduceThenBcast&) = default;
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<AnyReduceThenBcast>() noexcept)

/// ReduceThenBcast of parts that are known as types.
template <class R, class B> struct ReduceThenBcast {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = AnyReduceThenBcast::name;
  static constexpr std::string_view sentence = AnyReduceThenBcast::sentence;
  static constexpr bool commutative_only =
      detail::commutative_only_of(detail::PartServing<R, Reduce>{});

  detail::PartServing<R, Reduce> reduce{};  ///< the first phase
  detail::PartServing<B, Bcast> bcast{};    ///< the second phase

  AnyReduceThenBcast at_run_time() const {
    static_assert(
        detail::part_serves<R, Reduce>,
        "papcoll: ReduceThenBcast begins with a reduce, and its first schedule is no "
        "static one that serves it: take Binomial, Chain, TwoTreeComplete or another that "
        "docs/policies.md shows for reduce, and include its header");
    static_assert(
        detail::part_serves<B, Bcast>,
        "papcoll: ReduceThenBcast ends with a bcast, and its second schedule is no static "
        "one that serves it: take Binomial, Chain, TwoTreeComplete or another that "
        "docs/policies.md shows for bcast, and include its header");
    return {reduce, bcast};
  }
  void emit(Allreduce, auto& b) const { at_run_time().emit(Allreduce{}, b); }

  friend bool operator==(const ReduceThenBcast&, const ReduceThenBcast&) = default;
};

/// Allgather as any gather to position 0 and then any bcast of all of it from there.
///
/// Phases: those of G, then those of B. Contributions may differ in size.
/// Cost: G's gather and B's bcast of the whole vector.
/// Prefer it for short contributions that differ much in size: in a ring every round takes as long
///   as the longest that is under way, here only the sum counts. And where the machine suggests a
///   tree, or for comparisons.
/// Limits: twice the rounds of an exchange such as Bruck, and position 0 receives and sends all.
///
///     G = Binomial, B = Chain, P = 4     0         1         2         3
///                                        0         1         2         3
///     1→0, 3→2                           01        1         23        3
///     2→0                                0123      1         23        3
///     0→1                                0123      0123      23        3
///     1→2                                0123      0123      0123      3
///     2→3                                0123      0123      0123      0123
///
/// GatherThenBcast<Binomial, Chain> is a policy, AnyGatherThenBcast{Binomial{}, Chain{}} the same
/// of parts known at run time, whose emit() throws argument_error if one of them does not serve its
/// collective, and GatherThenBcast:Binomial,Chain the name (see
/// schedule_parameters.hpp).
///
/// Source: textbook; Pješivac-Grbović et al., "Performance Analysis of MPI Collective Operations",
/// Cluster Computing 10(2), 2007.
struct AnyGatherThenBcast {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "GatherThenBcast";
  static constexpr std::string_view sentence =
      "Any gather to one position, then any bcast from there.";
  static constexpr bool commutative_only = false;
  static constexpr std::array parameters{
      Parameter{"gather", "Binomial", 0, "a schedule that serves gather"},
      Parameter{"bcast", "Binomial", 0, "a schedule that serves bcast"}};

  AnySchedule gather;  ///< the first phase; must serve gather
  AnySchedule bcast;   ///< the second phase; must serve bcast

  std::string arguments() const {
    std::string text;
    if (gather && bcast) add_argument(text, gather.name()), add_argument(text, bcast.name());
    return text;
  }

  void emit(Allgather, auto& b) const {
    detail::emit_part(name, gather, Collective::gather, b);
    detail::emit_part(name, bcast, Collective::bcast, b);
  }

  friend bool operator==(const AnyGatherThenBcast&, const AnyGatherThenBcast&) = default;
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<AnyGatherThenBcast>() noexcept)

/// GatherThenBcast of parts that are known as types.
template <class G, class B> struct GatherThenBcast {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = AnyGatherThenBcast::name;
  static constexpr std::string_view sentence = AnyGatherThenBcast::sentence;
  static constexpr bool commutative_only = false;

  detail::PartServing<G, Gather> gather{};  ///< the first phase
  detail::PartServing<B, Bcast> bcast{};    ///< the second phase

  AnyGatherThenBcast at_run_time() const {
    static_assert(detail::part_serves<G, Gather>,
                  "papcoll: GatherThenBcast begins with a gather, and its first schedule is no "
                  "static one that serves it: take Binomial or Linear, and include its header");
    static_assert(detail::part_serves<B, Bcast>,
                  "papcoll: GatherThenBcast ends with a bcast, and its second schedule is no "
                  "static one that serves it: take Binomial, Chain, TwoTreeComplete or another "
                  "that docs/policies.md shows for bcast, and include its header");
    return {gather, bcast};
  }
  void emit(Allgather, auto& b) const { at_run_time().emit(Allgather{}, b); }

  friend bool operator==(const GatherThenBcast&, const GatherThenBcast&) = default;
};

}  // namespace papcoll::inline PAPCOLL_ABI
