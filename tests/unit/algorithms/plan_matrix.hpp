// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The shapes in which schedules are simulated: sizes, counts, roots, orders and operators.

#include <papcoll/base/collective.hpp>
#include <papcoll/schedule/make_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "plan_simulation.hpp"
#include "sanitizer.hpp"

namespace plan_simulation {

/// Any order with the root at position 0.
inline Order shuffled(const Shape& shape, std::uint64_t seed) {
  Random random{seed};
  std::vector<int> ranks;
  for (int r = 0; r < shape.size; ++r) ranks.push_back((shape.root + r) % shape.size);
  for (std::size_t i = ranks.size(); i > 2; --i) {
    std::swap(ranks[i - 1], ranks[1 + random.below(i - 1)]);
  }
  return Order::permutation(std::move(ranks));
}

inline std::vector<int> roots(Collective c, int size) {
  if (!papcoll::is_rooted(c) || size == 1) return {0};
  if (size == 2) return {0, 1};
  if (size > 5) return {0, 1, size - 1};
  std::vector<int> all;
  for (int r = 0; r < size; ++r) all.push_back(r);
  return all;
}

/// Runs one call in each mode; the text says what was wrong with it, empty if nothing.
inline std::string failure_of(const AnySchedule& schedule, const Shape& shape, const Order& order,
                              Operator op) {
  static std::uint64_t seed = 0;
  try {
    Simulation simulation{schedule, shape, order, op};
    for (const Mode mode : {Mode::text, Mode::eager, Mode::rendezvous}) {
      simulation.run(mode, ++seed);
    }
    return {};
  } catch (const std::exception& e) {
    return schedule.name() + " " + std::string(papcoll::name_of(shape.collective)) + ", " +
           std::to_string(shape.size) + " ranks, count " + std::to_string(shape.count) + ", root " +
           std::to_string(shape.root) + (shape.in_place ? ", in place" : "") +
           (shape.counts.empty() ? "" : ", with counts") +
           (op == Operator::in_order ? ", in rank order" : "") +
           (order.is_identity() ? "" : ", in another order") + ": " + e.what();
  }
}

/// Runs one shape with every operator, in the static order and perhaps in another one.
inline std::string failure_of(const AnySchedule& schedule, Shape shape, bool shuffle) {
  const bool barrier = !papcoll::has_data(shape.collective);
  const Operator op = barrier ? Operator::idempotent : Operator::commutes;
  const bool in_order = papcoll::is_reduction(shape.collective) && !schedule.commutative_only();
  std::string found;
  // In rank order there is nothing to find that the check of the order does not find as well.
  const Order order = papcoll::static_order(shape);
  if (!in_order || !order.is_identity()) found = failure_of(schedule, shape, order, op);
  if (found.empty() && shuffle && !papcoll::is_prefix_reduction(shape.collective)) {
    const auto seed = static_cast<std::uint64_t>(shape.size + shape.root);
    found = failure_of(schedule, shape, shuffled(shape, seed), op);
  }
  if (found.empty() && in_order) {
    shape.commutative = false;
    found = failure_of(schedule, shape, papcoll::static_order(shape), Operator::in_order);
  }
  return found;
}

/// Runs a collective for one number of ranks, with all roots worth trying, in place and not.
inline std::string failure_of(const AnySchedule& schedule, Shape shape) {
  std::string found;
  for (const int root : roots(shape.collective, shape.size)) {
    for (const bool in_place : {false, true}) {
      shape.root = root;
      shape.in_place = in_place;
      const bool shuffle = shape.size > 2 && (shape.count == 7 || shape.count == 17);
      if (found.empty()) found = failure_of(schedule, shape, shuffle);
    }
  }
  return found;
}

/// Runs a collective in all shapes; the text says what was wrong, empty if nothing.
inline std::string failure_of(const AnySchedule& schedule, Collective c) {
  std::string found;
  auto run = [&](int size, std::size_t count, bool with_counts) {
    if (!found.empty()) return;
    Shape shape;
    shape.collective = c;
    shape.size = size;
    shape.count = papcoll::has_data(c) ? count : 1;
    shape.element_size = papcoll::has_data(c) ? 8 : 1;
    for (std::size_t r = 0; with_counts && r < static_cast<std::size_t>(size); ++r) {
      shape.counts.push_back((5 * r + 3) % 7 % (count + 1));
    }
    found = failure_of(schedule, shape);
  };
  const bool counted = papcoll::has_data(c);
  for (int size = 1; size <= (under_tsan ? 9 : 17); ++size) {
    for (const std::size_t count : {7U, 0U, 1U, 2U, 3U, 16U, 17U, 100U}) {
      if (counted || count == 7U) run(size, count, false);
    }
    if (c == Collective::reduce_scatter) {
      run(size, 7, true);
      run(size, 1, true);
    }
  }
  for (const int size : {31, 33, 64}) {
    if (under_tsan) break;
    run(size, 1, false);
    if (counted) run(size, 7, false);
    if (papcoll::is_elementwise(c)) run(size, 100, false);
  }
  return found;
}

/// Runs all collectives of a schedule, which must be these, in all shapes.
inline std::string failure_serving(const AnySchedule& schedule,
                                   const std::vector<Collective>& serves) {
  std::string found;
  for (std::size_t i = 0; i < papcoll::collective_count && found.empty(); ++i) {
    const auto c = static_cast<Collective>(i);
    const bool expected = std::find(serves.begin(), serves.end(), c) != serves.end();
    if (schedule.serves(c) != expected) {
      found = schedule.name() + (expected ? " does not serve " : " serves ");
      found += papcoll::name_of(c);
    } else if (expected) {
      found = failure_of(schedule, c);
    }
  }
  return found;
}

}  // namespace plan_simulation
