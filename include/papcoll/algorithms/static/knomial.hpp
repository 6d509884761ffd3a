#pragma once

#include <papcoll/algorithms/static/schedule_parameters.hpp>
#include <papcoll/algorithms/static/tree_shapes.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/schedule/schedule.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// A k-nomial tree: those who have it, or have combined it, become k times as many every round.
/// Radix 2 is Binomial; a radix of P or more is Linear.
///
/// Phases: one, up or down the tree; allreduce both.
/// Cost: with d = ⌈log_k P⌉ levels, reduce d(k−1)(α + βm + γm), bcast d(k−1)(α + βm), allreduce the
///   sum; but of the k−1 messages of a level only the sender's share of α is paid k−1 times.
/// Prefer it to Binomial for short vectors where a message's way takes much longer than starting
///   it: the larger that ratio, the larger k.
/// Limits: the data volume at the root grows with k−1. Works for operators that do not commute: the
///   subtree of a position is the run of positions that begins with it.
///
///     bcast, k = 3, P = 9        0 ─┬── 3 ── 4, 5
///                                   ├── 6 ── 7, 8
///                                   └── 1, 2
///     level 1                    0→3, 0→6
///     level 2                    0→1, 0→2, 3→4, 3→5, 6→7, 6→8
///
/// Source: Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient Algorithms for All-to-All
/// Communications in Multiport Message-Passing Systems", IEEE TPDS 8(11), 1997; trees as in MPICH.
struct KNomial {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "KNomial";
  static constexpr std::string_view sentence =
      "A k-nomial tree: those who have it become k times as many every round.";
  static constexpr bool commutative_only = false;

  static constexpr std::array parameters{Parameter{"radix", "4", 2}};

  int radix = 4;  ///< k ≥ 2; emit() throws argument_error below that

  std::string arguments() const { return *this == KNomial{} ? "" : std::to_string(radix); }
  static KNomial parse(std::string_view arguments) {
    return {.radix = parse_number<int>(name, parameters[0], arguments)};
  }

  void emit(Reduce, auto& b) const { detail::reduce_up(b, tree(b.size()), b.whole()); }
  void emit(Bcast, auto& b) const { detail::bcast_down(b, tree(b.size()), b.whole()); }

  void emit(Allreduce, auto& b) const { emit(Reduce{}, b), emit(Bcast{}, b); }

  static constexpr MappingHint mapping_hint = MappingHint::consecutive;

  friend bool operator==(const KNomial&, const KNomial&) = default;

 private:
  KNomialTree tree(int size) const {
    if (radix >= 2) return {radix, size};
    detail::throw_error<argument_error>(
        {"papcoll: a k-nomial tree has a radix of at least 2, not ", radix});
  }
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<KNomial>() noexcept)

}  // namespace papcoll::inline PAPCOLL_ABI
