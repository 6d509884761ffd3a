// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/static/shapes.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/schedule/schedule_traits.hpp>

#include <algorithm>

namespace papcoll::inline PAPCOLL_ABI {

/// Bcast by scattering the vector's parts and gathering them everywhere (van de Geijn).
///
/// Phases: a binomial scatter, after which position p has the parts of its subtree, p to
///   p + run(p) − 1; then an allgather of the parts around a ring or, with fewer rounds, as Bruck
///   does it. What the receiver has from the scatter is not sent again.
/// Cost: scatter ⌈log₂ P⌉α + (P−1)/P·βm; ring (P−1)α + (P−1)/P·βm, Bruck ⌈log₂ P⌉α + the same.
/// Prefer it for long vectors; Bruck for those of medium length, where P·α counts.
/// Limits: short vectors (Binomial); very long ones are better off with PipelinedChain, whose
///   volume is half. In the variant of Bruck a run around the vector's end is two messages.
///
///     ring, P = 4               0          1          2          3       (the parts of each)
///     scatter 0→2, 0→1, 2→3     0123       1          23         3
///     part p   from p to p+1    0123       01         123        23
///     part p−1 from p to p+1    0123       013        0123       123
///     part p−2 from p to p+1    0123       0123       0123       0123
///     not sent: anything from 3 to 0, and in the last round part 3 from 1 to 2
///
/// Source: Barnett, Shuler, van de Geijn et al., "Interprocessor Collective Communication Library
/// (InterCom)", SHPCC 1994; leaving out what is already there: Zhou, Marjanović, Niethammer,
/// Gracia, "A Bandwidth-saving Optimization for MPI Broadcast Collective Operation", ICPPW 2015.
struct ScatterAllgather {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "ScatterAllgather";
  static constexpr std::string_view sentence =
      "Scatters the vector's parts along a binomial tree and gathers them everywhere.";
  static constexpr bool commutative_only = false;

  static constexpr std::array parameters{Parameter{"gathering", "Ring", 0, "Ring or Bruck"}};

  /// How the scattered parts are gathered.
  enum class Gathering : unsigned char { ring, bruck };
  Gathering gathering = Gathering::ring;  ///< of the second phase

  std::string arguments() const { return gathering == Gathering::ring ? "" : "Bruck"; }
  static ScatterAllgather parse(std::string_view arguments) {
    if (arguments == "Ring") return {.gathering = Gathering::ring};
    if (arguments == "Bruck") return {.gathering = Gathering::bruck};
    detail::throw_error<argument_error>(
        {"papcoll: ScatterAllgather gathers by Ring or Bruck, not by '", arguments, "'"});
  }

  void emit(Bcast, auto& b) const {
    const KNomialTree tree{2, b.size()};
    const int me = b.position();
    if (me != 0) b.receive(tree.parent(me), b.blocks(me, tree.run(me)));
    tree.for_children_down(me, [&](int child) { b.send(child, b.blocks(child, tree.run(child))); });
    if (gathering == Gathering::ring) {
      gather_around(b, tree);
    } else {
      gather_doubling(b, tree);
    }
  }

  constexpr MappingHint mapping_hint(Collective /*c*/, int /*size*/) const noexcept {
    return gathering == Gathering::ring ? MappingHint::consecutive : MappingHint::by_traffic;
  }
  /// Around the ring a position is sent all but what it has from the scatter.
  void traffic(Collective /*c*/, auto& t) const {
    if (gathering != Gathering::ring) return;
    const int size = t.size();
    const KNomialTree tree{2, size};
    const auto share = [size](int parts) { return static_cast<double>(parts) / size; };
    for (int p = 0; p < size; ++p) {
      tree.for_children_down(p, [&](int child) { t.add(p, child, share(tree.run(child))); });
      const int next = (p + 1) % size;
      t.add(p, next, share(size - tree.run(next)));
    }
  }

  friend bool operator==(const ScatterAllgather&, const ScatterAllgather&) = default;

 private:
  // As in Ring's allgather: in round k, part p−k goes from p to p+1. The root has all parts from
  // the start, and position 1 has what comes from it: unless they are held back, all are on their
  // way at once, and none arrives before the last.
  [[gnu::cold]] static void gather_around(auto& b, const KNomialTree& tree) {
    const int me = b.position();
    const int next = b.wrap(me + 1);
    Builder flow = b.flow(2);
    auto has = [&](int p, int i) { return i >= p && i < p + tree.run(p); };
    for (int k = 0; k + 1 < b.size(); ++k) {
      const int out = b.wrap(me - k);
      const int in = b.wrap(me - k - 1);
      if (!has(next, out)) flow.send(next, b.block(out));
      if (!has(me, in)) flow.receive(b.wrap(me - 1), b.block(in));
    }
  }

  // As in Bruck: who has the parts p to p + have − 1 gets as many more from p + have.
  [[gnu::cold]] static void gather_doubling(auto& b, const KNomialTree& tree) {
    const int me = b.position();
    const int size = b.size();
    for (int have = 1; have < size; have *= 2) {
      // The parts that p gets in this round and does not have from the scatter.
      auto missing = [&](int p, auto&& f) {
        const int lo = p + std::max(have, tree.run(p));
        const int hi = p + std::min(2 * have, size);
        if (lo < std::min(hi, size)) f(b.blocks(lo, std::min(hi, size) - lo));
        if (std::max(lo, size) < hi)
          f(b.blocks(std::max(lo, size) - size, hi - std::max(lo, size)));
      };
      const int to = b.wrap(me - have);
      missing(to, [&](Range r) { b.send(to, r); });
      missing(me, [&](Range r) { b.receive(b.wrap(me + have), r); });
    }
  }
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<ScatterAllgather>() noexcept)

}  // namespace papcoll::inline PAPCOLL_ABI
