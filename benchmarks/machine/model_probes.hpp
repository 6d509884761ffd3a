// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "candidates/problem.hpp"
#include "machine/one_way.hpp"
#include "timing/placement.hpp"

#include <papcoll/statistics/regression.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

// What the parameters of a cost model are measured by. All are collective over the placement's
// communicator and give the same result on every rank; ranks without a part in one sleep meanwhile.
namespace bench {

/// What messages between the first and the last rank take, two of them alone at work.
struct MessageCosts {
  std::vector<OneWay> one_way;
  papcoll::Regression<2> line;   ///< of one_way: seconds a message, seconds a byte
  double overhead = 0;           ///< seconds in which the sender is busy with a short message
  double overhead_per_byte = 0;  ///< and more for each byte of it
  double gap = 0;                ///< seconds from one short message to the next, of many in a row
  std::size_t rendezvous = 0;    ///< where_times_jump()

  /// No machine is quicker, and divisions by them stay finite.
  double alpha() const { return std::max(line.values[0], 1e-9); }
  double beta() const { return std::max(line.values[1], 1e-12); }
};

MessageCosts probe_message_costs(const Placement& placement);

/// What applying an operator takes, in buffers that stay in a cache.
struct CombiningCost {
  Type type = Type::float64;
  Op op = Op::sum;
  double seconds_per_byte = 0;  ///< of one operand
  double confidence = 0;        ///< it is known to ± this with 95 % confidence
};

CombiningCost probe_combining(const Placement& placement, Type type, Op op);

/// Of every type and operator.
std::vector<CombiningCost> probe_combining(const Placement& placement);

/// Seconds to copy a byte, in buffers that stay in a cache.
double probe_copying(const Placement& placement);

}  // namespace bench
