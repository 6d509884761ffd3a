// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Which ranks come last, where, how often and at what cost; and which of them are named as
// stragglers.

#include <papcoll/report/calls.hpp>
#include <papcoll/report/imbalance.hpp>
#include <papcoll/report/run.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {

/// Parts of a place's calls, in their order, by which is seen whether something happens all the
/// time.
inline constexpr std::size_t time_parts = 8;

/// What one rank does at one place, or at all of them. Times in nanoseconds.
struct Lateness {
  std::int32_t rank = 0;
  std::uint32_t place = profile::no_entry;  ///< of the calls: where most ranks make them
  /// Where this rank makes most of the calls that it is last in.
  std::uint32_t own_place = profile::no_entry;
  std::uint64_t calls = 0;      ///< complete ones of two ranks or more
  std::uint64_t lasts = 0;      ///< in which it was last, beyond the clocks' bound
  std::uint64_t own_lasts = 0;  ///< of these: not since it had left the call before late
  double by_chance = 0;         ///< as many would have it last if all ranks were alike
  double own = 0;     ///< what the others waited between the second-last arrival and its own
  double waited = 0;  ///< what they waited for it in all
  double gap = 0;     ///< median of last less second-last arrival, of all calls it was last in
  double others = 0;  ///< median of the spread of those who waited, where it was last
  double worst = 0;   ///< the largest gap
  std::array<std::uint64_t, time_parts> lasts_of_part{};
  std::array<std::uint64_t, time_parts> calls_of_part{};

  /// Part of its calls in which it was last.
  double share() const noexcept {
    return calls == 0 ? 0 : static_cast<double>(lasts) / static_cast<double>(calls);
  }
};

/// A rank that is named.
struct Straggler {
  enum class Kind {
    always,       ///< last in most calls
    often,        ///< in fewer, but hardly anybody else is as late
    for_a_while,  ///< in most calls of one stretch
  };
  Kind kind;
  Lateness at;            ///< its place
  std::uint64_t times;    ///< lasts that count: all, or those that are as late
  double typical;         ///< median of their gaps, nanoseconds; of `always` that of all lasts
  double worst;           ///< the largest of these gaps
  double cost;            ///< what each other rank waited, as a part of the time of the records
  std::uint32_t example;  ///< a call in which it was last, in Calls::calls
  /// Of `for_a_while` the first and the last call of the stretch, in Calls::calls.
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

/// A delay that was much larger than all others at its place.
struct SingleDelay {
  std::int32_t rank;
  std::uint32_t call;  ///< in Calls::calls
  double gap;          ///< nanoseconds
};

/// What there is to say of the ranks.
struct LatenessReport {
  std::vector<Lateness> ranks;             ///< all ranks with calls, by rank
  std::vector<Lateness> at_places;         ///< those that were last somewhere, the dearest first
  std::vector<Straggler> stragglers;       ///< the dearest first
  std::vector<SingleDelay> single_delays;  ///< the largest first
  double span = 0;  ///< what costs are parts of, nanoseconds: see lateness_of()
};

/// When a rank is named. Each number is one that balanced programs do not reach, as the tests with
/// random delays show.
struct NamingRule {
  double chance = 1e-4;       ///< that as many lasts come by chance, in the whole report
  double cost = 1e-3;         ///< what each other rank waits at least, of the time of the records
  double alphas = 4;          ///< one-way times that it is late at least, typically
  double floor = 10e3;        ///< nanoseconds instead, where these were not measured
  double parts = 0.75;        ///< of the time parts, in which it is last in half of the calls
  double often_share = 0.75;  ///< of large delays that are its own
  std::uint64_t often_least = 10;  ///< of these
  double large = 4;                ///< times the Ω that three in four calls exceed: a large delay
  double single = 10;              ///< times the second-largest gap of the place: a single delay
};

namespace detail {

/// A bound of the chance that of n things with probability p at least k happen (Chernoff).
double chance_of(double k, double n, double p);

}  // namespace detail

/// Sums up who comes last. A rank is named as a straggler at a place if it is last there much more
/// often than chance would have it, all through the calls, by more than clocks can resolve,
/// messages take and the others differ, and if this costs the others time that counts: see
/// docs/profile.md. `span`: nanoseconds of the run that there are records of, of which costs are
/// parts; 0: from the first arrival to the last exit.
LatenessReport lateness_of(const Run& run, const Calls& calls,
                           const std::vector<Imbalance>& imbalances, const NamingRule& rule = {},
                           double span = 0);

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
