// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/arrival_monitor.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/choice/policies/algorithm_spec.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// Returns a number of hundredths as text, with two digits behind the point.
[[gnu::cold]] inline std::string shown_hundredths(std::uint64_t hundredths) {
  const std::string digits = std::to_string(hundredths % 100);
  return joined({hundredths / 100, ".", (digits.size() < 2 ? "0" : ""), digits});
}

[[gnu::cold]] inline std::string shown_time(std::uint64_t ns) {
  return shown_hundredths((ns + 5) / 10) + " µs";
}

}  // namespace detail

/// What there is to know of a call besides its collective and its bytes, with the values that most
/// calls have.
struct CallTraits {
  std::size_t element_size = sizeof(double);  ///< bytes
  bool commutative = true;                    ///< the operator, if there is one
  bool non_blocking = false;                  ///< the call returns a Request
  /// True if the lengths of blocks may differ, as in alltoallv, allgatherv, gatherv and scatterv.
  bool irregular = false;
  /// What is promised of its bits.
  NumericalContract contract = default_contract;
  Algorithm algorithm{};  ///< if one is named
};

/// How a call would run if it were the next one, and why.
struct Explanation {
  std::string algorithm;  ///< "Exchange+ShmTransport"
  std::string reason;     ///< why this algorithm: a sentence
  std::string refusal;    ///< why the algorithm that the call names cannot run it; else empty
  std::vector<std::string> required;  ///< what that algorithm requires
  /// What all ranks have learnt of arrivals in calls of this kind; across nodes, in the calls whose
  /// times they exchanged.
  Imbalance imbalance;
  /// The mean wait for the last rank, in nanoseconds, above which this call counts as imbalanced.
  std::uint64_t imbalanced_from = 0;
  std::string memory;  ///< how ranks get at each other's data
  /// For a static schedule across nodes or along the machine: which rank plays which position, and
  /// why; else empty.
  std::string order;
  /// For a call on one node that names no algorithm: what else could run, its cost by the model,
  /// and its measured cost if it was tried.
  std::string candidates;
  std::string kept;                  ///< what became of the selection files, if any
  std::vector<std::string> refused;  ///< algorithms that cannot run this call, by reasons

  /// Returns all members as text, a line for each.
  std::string text() const { return text_of<>(*this); }

 private:
  template <class = void> static std::string text_of(const Explanation& e);
};

template <class> [[gnu::cold]] std::string Explanation::text_of(const Explanation& e) {
  std::string t = detail::joined({e.algorithm, "\n  because    ", e.reason, "\n"});
  if (!e.refusal.empty()) t += detail::joined({"  cannot run ", e.refusal, "\n"});
  for (const std::string& r : e.required) t += detail::joined({"  requires   ", r, "\n"});
  t += "  arrivals   ";
  const std::string wait =
      detail::joined({"mean wait for the last ", detail::shown_time(e.imbalance.waiting)});
  if (e.imbalance.seen != 0) {
    t += detail::joined({"worst-case imbalance ", detail::shown_time(e.imbalance.worst),
                         ", average-case ", detail::shown_time(e.imbalance.average), ", ", wait,
                         ", from ", e.imbalance.seen, " calls"});
  } else if (e.imbalance.waiting != 0) {
    t += wait;  // assumed by whoever asks
  } else {
    t += "none seen, so taken as balanced";
  }
  t += detail::joined({"; imbalanced above a wait of ", detail::shown_time(e.imbalanced_from),
                       "\n  memory     ", e.memory, "\n"});
  if (!e.order.empty()) t += detail::joined({"  order      ", e.order, "\n"});
  if (!e.kept.empty()) t += detail::joined({"  kept       ", e.kept, "\n"});
  if (!e.candidates.empty()) t += detail::joined({"  candidates ", e.candidates, "\n"});
  for (const std::string& r : e.refused) t += detail::joined({"  not        ", r, "\n"});
  return t;
}
PAPCOLL_COMPILE_ONCE(std::string Explanation::text_of<>(const Explanation&))

}  // namespace papcoll::inline PAPCOLL_ABI
