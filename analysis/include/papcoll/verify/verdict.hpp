// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/schedule/plan.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// What can be wrong with the plans of a collective.
enum class FaultKind : unsigned char {
  none,
  missing,            ///< an output element lacks a contribution, or is never written
  doubled,            ///< a contribution is combined in twice
  wrong,              ///< an output element comes from the wrong element of the vector
  out_of_rank_order,  ///< an operator that does not commute is applied out of rank order
  inconsistent,       ///< ranks combine in different ways, so their results can differ in bits
  unmatched,          ///< a message that one end lacks, or whose ends differ in size
  conflict,           ///< two accesses of the same memory that no dependency orders
  input_written,      ///< an input that must stay as it is is written to
  out_of_bounds,      ///< memory outside the input, the output or the scratch space is touched
  deadlock,           ///< steps wait for each other in a circle
};

/// The name of a kind of fault.
constexpr std::string_view name_of(FaultKind kind) noexcept {
  constexpr std::array<std::string_view, 11> names{
      "none",         "missing",   "doubled",  "wrong",         "out_of_rank_order",
      "inconsistent", "unmatched", "conflict", "input_written", "out_of_bounds",
      "deadlock"};
  return names[static_cast<std::size_t>(kind)];
}

/// What verify() found: that the plans are right, or the first fault.
struct Verdict {
  /// A step or an element that is none.
  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

  FaultKind fault = FaultKind::none;  ///< its kind
  int rank = -1;                      ///< where the fault shows
  std::size_t step = nowhere;         ///< index in that rank's plan, where one step is to blame
  std::size_t element = nowhere;  ///< of the vector; for faults of memory accesses, of the space
  std::string sentence;           ///< all of it in words

  /// Returns true if no fault was found.
  bool proven() const noexcept { return fault == FaultKind::none; }
  /// Returns true if no fault was found.
  explicit operator bool() const noexcept { return proven(); }
};

namespace detail {

constexpr std::string_view name_of(Space space) noexcept {
  return space == Space::in ? "input" : space == Space::out ? "output" : "scratch space";
}

/// "rank 2, step 5 (send of 4 elements to rank 3)"; `peer` is the rank of the step's peer.
inline std::string describe(int rank, std::size_t index, const Step& step, int peer) {
  std::string text = "rank " + std::to_string(rank) + ", step " + std::to_string(index) + " (";
  const std::string elements = counted(step.n, "element");
  switch (step.kind) {
    case OpKind::send: text += "send of " + elements + " to rank " + std::to_string(peer); break;
    case OpKind::receive:
      text += "receive of " + elements + " from rank " + std::to_string(peer);
      break;
    case OpKind::reduce: text += "reduction of " + elements; break;
    case OpKind::copy: text += "copy of " + elements; break;
  }
  return text + ")";
}

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
