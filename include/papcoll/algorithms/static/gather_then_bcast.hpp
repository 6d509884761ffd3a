#pragma once

#include <papcoll/algorithms/static/composed.hpp>
#include <papcoll/algorithms/static/schedule_parameters.hpp>
#include <papcoll/schedule/schedule.hpp>

namespace papcoll::inline PAPCOLL_ABI {

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
/// collective, and GatherThenBcast:Binomial,Chain the name (see arguments.hpp).
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

/// The same of parts that are types.
template <class G, class B>
struct GatherThenBcast {
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
