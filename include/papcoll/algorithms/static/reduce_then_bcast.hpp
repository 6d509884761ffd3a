#pragma once

#include <papcoll/algorithms/static/arguments.hpp>
#include <papcoll/algorithms/static/binomial.hpp>
#include <papcoll/base/joined.hpp>
#include <papcoll/error.hpp>
#include <papcoll/schedule/parameter.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

namespace papcoll {
inline namespace PAPCOLL_ABI {

namespace detail {

// If one part does not pipeline, it has the whole vector at once, and the other cuts for itself.
inline std::size_t common_segment(std::size_t reduce, std::size_t bcast) noexcept {
  return reduce == 0 || bcast == 0 ? 0 : std::max(reduce, bcast);
}

template <class S, class Tag>
inline constexpr bool part_serves = StaticSchedule<S>&& Emits<S, Tag>;

/// The schedule, or where it is wrong another, so that no more is said of it.
template <class S, class Tag>
using PartServing = std::conditional_t<part_serves<S, Tag>, S, Binomial>;

}  // namespace detail

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
/// The name has the parts' names as parameters, the reduce first: ReduceThenBcast:Binomial,Chain
/// and ReduceThenBcast:KNomial:8,Chain; in parentheses if a part's name contains a comma (see
/// arguments.hpp).
///
/// Source: textbook; Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005.
template <class R, class B>
struct ReduceThenBcast {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "ReduceThenBcast";
  static constexpr std::string_view sentence =
      "Any reduce to one position, then any bcast from there.";
  static constexpr bool commutative_only = detail::PartServing<R, Reduce>::commutative_only;

  detail::PartServing<R, Reduce> reduce{};  ///< the first phase
  detail::PartServing<B, Bcast> bcast{};    ///< the second phase

  std::string arguments() const {
    return join_arguments({AnySchedule(reduce).name(), AnySchedule(bcast).name()});
  }

  std::size_t segment(int size, std::size_t element_size) const {
    return detail::common_segment(AnySchedule(reduce).segment(size, element_size),
                                  AnySchedule(bcast).segment(size, element_size));
  }

  void emit(Allreduce, auto& b) const {
    static_assert(
        detail::part_serves<R, Reduce>,
        "papcoll: ReduceThenBcast begins with a reduce, and its first schedule is no "
        "static one that serves it: take Binomial, Chain, TwoTreeComplete or another that "
        "docs/policies.md shows for reduce");
    static_assert(
        detail::part_serves<B, Bcast>,
        "papcoll: ReduceThenBcast ends with a bcast, and its second schedule is no static "
        "one that serves it: take Binomial, Chain, TwoTreeComplete or another that "
        "docs/policies.md shows for bcast");
    reduce.emit(Reduce{}, b);
    bcast.emit(Bcast{}, b);
  }

  friend bool operator==(const ReduceThenBcast&, const ReduceThenBcast&) = default;
};

/// The same of two parts that are known at run time. emit() throws argument_error if one of them
/// does not serve its collective.
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
    return reduce && bcast ? join_arguments({reduce.name(), bcast.name()}) : std::string{};
  }

  std::size_t segment(int size, std::size_t element_size) const {
    if (!reduce || !bcast) return 0;
    return detail::common_segment(reduce.segment(size, element_size),
                                  bcast.segment(size, element_size));
  }

  void emit(Allreduce, auto& b) const {
    require(reduce, Collective::reduce);
    require(bcast, Collective::bcast);
    reduce.emit(Collective::reduce, b);
    bcast.emit(Collective::bcast, b);
  }

  friend bool operator==(const AnyReduceThenBcast&, const AnyReduceThenBcast&) = default;

 private:
  static void require(const AnySchedule& part, Collective c) {
    if (part && part.serves(c)) return;
    throw argument_error(
        detail::joined({"papcoll: ReduceThenBcast needs a schedule that serves ", name_of(c),
                        (part ? detail::joined({", and ", part.name(), " does not"}) : "")}));
  }
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<AnyReduceThenBcast>() noexcept)

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
