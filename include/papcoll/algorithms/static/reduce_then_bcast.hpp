#pragma once

#include <papcoll/algorithms/static/composed.hpp>
#include <papcoll/algorithms/static/schedule_parameters.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>

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
/// collective, and ReduceThenBcast:Binomial,Chain the name (see arguments.hpp).
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

/// The same of parts that are types.
template <class R, class B>
struct ReduceThenBcast {
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

}  // namespace papcoll::inline PAPCOLL_ABI
