// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/static/chain.hpp>
#include <papcoll/schedule/schedule.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Every position sends its contribution to every other: Linear's allgather alone, for background
/// exchanges. Not in the catalogue. All of a position's sends and receives start at once,
/// staggered, so that no position is the target of all at once.
///
/// Phases: one. Cost: P − 1 messages each.
///
///     P = 3      0 → 1, 2       1 → 2, 0       2 → 0, 1
///
/// Source: as Linear.
struct DirectAllgather : PlainSchedule {
  static constexpr std::string_view name = "DirectAllgather";
  static constexpr std::string_view sentence = "Everybody sends to everybody.";
  static constexpr bool commutative_only = false;

  void emit(Allgather, auto& b) const {
    const int me = b.position();
    for (int k = 1; k < b.size(); ++k) {
      b.send(b.wrap(me + k), b.contribution(me));
      b.receive(b.wrap(me - k), b.contribution(me - k));
    }
  }
};

/// Every position exchanges with the root, or with every other, directly: one hop.
///
/// Phases: one; for allreduce and barrier two, to position 0 and back.
/// Cost: P−1 messages one after the other at the root, (P−1)(α + βm + γm) for reduce, without γ for
///   bcast, gather and scatter (m: one contribution). In allgather and reduce_scatter every
///   position sends and receives P−1 messages, in alltoall with all of them under way at once.
///   Scan and exscan are Chain's, P−1 times α + βm + γm: no position has less to combine.
/// Prefer it for a handful of positions, for gather and scatter of contributions so long that only
///   the root's link counts, and as the reference that other schedules are compared with.
/// Limits: the root's time grows with P. Works for operators that do not commute, and for parts of
///   an alltoall that differ in size.
///
///     reduce, P = 4               0        1        2        3
///                                 a        b        c        d
///     receive from 1, 2, 3        a  ←──── b
///                                 ab ←───────────── c
///                                 abc ←───────────────────── d
///                                 abcd
///
/// reduce_scatter: position p starts from its own part of its own contribution and takes those of
/// p−1, p−2, … 0 and then those of p+1, … P−1, so that what it holds is a contiguous run at all
/// times: for p = 2, c → bc → abc → abcd.
///
/// Source: the basic algorithms of every MPI library; Thakur, Rabenseifner, Gropp, "Optimization of
/// Collective Communication Operations in MPICH", IJHPCA 19(1), 2005.
struct Linear : PlainSchedule {
  static constexpr std::string_view name = "Linear";
  static constexpr std::string_view sentence =
      "Everybody sends to the root, or to everybody, directly.";
  static constexpr bool commutative_only = false;

  void emit(Reduce, auto& b) const {
    if (b.position() != 0) return b.send(0, b.whole());
    for (int p = 1; p < b.size(); ++p) b.reduce(p, b.whole());
  }

  void emit(Bcast, auto& b) const {
    if (b.position() != 0) return b.receive(0, b.whole());
    for (int p = 1; p < b.size(); ++p) b.send(p, b.whole());
  }

  void emit(Allreduce, auto& b) const { emit(Reduce{}, b), emit(Bcast{}, b); }

  void emit(Barrier, auto& b) const { emit(Allreduce{}, b); }

  void emit(Gather, auto& b) const {
    if (b.position() != 0) return b.send(0, b.contribution(b.position()));
    for (int p = 1; p < b.size(); ++p) b.receive(p, b.contribution(p));
  }

  void emit(Scatter, auto& b) const {
    if (b.position() != 0) return b.receive(0, b.contribution(b.position()));
    for (int p = 1; p < b.size(); ++p) b.send(p, b.contribution(p));
  }

  void emit(Allgather, auto& b) const { DirectAllgather{}.emit(Allgather{}, b); }

  void emit(ReduceScatter, auto& b) const {
    const int me = b.position();
    const int last = b.size() - 1;
    for (int p = me + 1; p <= last; ++p) b.send(p, b.contribution(p));
    for (int p = me - 1; p >= 0; --p) b.send(p, b.contribution(p));
    for (int p = me - 1; p >= 0; --p) b.reduce(p, b.contribution(me));
    for (int p = me + 1; p <= last; ++p) b.reduce(p, b.contribution(me));
  }

  void emit(Alltoall, auto& b) const {
    const int me = b.position();
    for (int k = 1; k < b.size(); ++k) {  // in turn: a message may wait for its receive to begin
      b.send(b.wrap(me + k), b.part(me, me + k));
      b.receive(b.wrap(me - k), b.part(me - k, me));
    }
  }
  static constexpr bool own_parts_only = true;

  void emit(Scan, auto& b) const { Chain{}.emit(Scan{}, b); }
  void emit(Exscan, auto& b) const { Chain{}.emit(Exscan{}, b); }
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<Linear>() noexcept)

}  // namespace papcoll::inline PAPCOLL_ABI
