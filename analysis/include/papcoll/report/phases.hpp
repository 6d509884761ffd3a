// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Imbalance over the calls of a place is steady for long and then jumps: where it does.

#include <papcoll/report/calls.hpp>
#include <papcoll/report/imbalance.hpp>
#include <papcoll/report/run.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {

/// Calls of a place between two jumps.
struct Phase {
  std::size_t first = 0;  ///< among the calls of the place, from 0
  std::size_t calls = 0;
  std::uint32_t begin = 0;  ///< in Calls::calls
  std::uint32_t last = 0;
  double omega = 0;   ///< median of Ω, nanoseconds
  double factor = 0;  ///< median of Ω/α; 0: α was not measured
};

/// A place whose imbalance jumps.
struct PhasesOfPlace {
  std::uint32_t place = profile::no_entry;
  std::vector<Phase> phases;
};

namespace detail {

/// Returns for each n from 0 on the sum of what the first n values differ from their median by.
std::vector<double> deviations(const std::vector<double>& values, std::size_t begin,
                               std::size_t end, bool from_end);

}  // namespace detail

/// Returns where a row of imbalances jumps: positions at which a phase begins, without the first.
/// Binary segmentation of log₂ Ω: a part of n calls is split where the sum of |log₂ Ω − median|
/// falls most, if it falls by more than 4 ln n times its mean; then jumps of less than a factor of
/// two are left out. Of more than 4096 calls, medians of as many runs of calls are looked at.
std::vector<std::size_t> jumps_of(const std::vector<double>& omegas);

/// The places whose imbalance jumps, in the order of their first calls.
std::vector<PhasesOfPlace> phases_of(const Calls& calls, const std::vector<Imbalance>& imbalances);

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
