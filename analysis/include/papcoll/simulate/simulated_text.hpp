// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/schedule/make_plan.hpp>
#include <papcoll/simulate/quantity_text.hpp>
#include <papcoll/simulate/simulated.hpp>

#include <string>

// A simulated call and its steps in words.

namespace papcoll::inline PAPCOLL_ABI::detail {

/// "Ring allreduce of 1 MB, 8 ranks", with the root where there is one. `name`: of the algorithm.
inline std::string call_text(const std::string& name, const Shape& shape) {
  const Collective c = shape.collective;
  std::string text = name + " " + std::string(name_of(c));
  if (has_data(c)) {
    text += " of " + bytes_text(shape.count * shape.element_size);
    if (!is_elementwise(c)) text += " a rank";
  }
  text += ", " + std::to_string(shape.size) + (shape.size == 1 ? " rank" : " ranks");
  return is_rooted(c) ? text + ", root " + std::to_string(shape.root) : text;
}

/// "rank 3 receives 64 KB from rank 2".
inline std::string step_text(const SimulatedStep& s) {
  std::string text = "rank " + std::to_string(s.rank);
  const std::string bytes = bytes_text(s.bytes);
  switch (s.kind) {
    case OpKind::send: return text + " sends " + bytes + " to rank " + std::to_string(s.peer);
    case OpKind::receive:
      return text + " receives " + bytes + " from rank " + std::to_string(s.peer);
    case OpKind::reduce: return text + " combines " + bytes;
    case OpKind::copy: return text + " copies " + bytes;
  }
  return text;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
