// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What a report says in sentences: which rank is late, where, how often and at what cost; and who
// has not come to a call.

#include <papcoll/report/report.hpp>
#include <papcoll/report/run.hpp>
#include <papcoll/report/time_words.hpp>

#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {

std::string sentence(const Report& r, const Straggler& s);

}  // namespace detail

/// A sentence of the answer.
struct Finding {
  /// unseen: calls that no recorder sees; crowded: more ranks than processors; time: what it goes
  /// into; nothing: no rank is late.
  enum class Kind { fault, unseen, crowded, clock, straggler, single_delay, time, nothing };
  Kind kind;
  std::string text;
};

/// The answer, the gravest first.
std::vector<Finding> findings(const Report& r);

/// Returns what ranks are in now, if that may still end: a sentence each.
std::vector<std::string> waiting_now(const Report& r);

/// Returns what the figures do not have, or cannot say: a sentence each.
std::vector<std::string> remarks(const Report& r);

/// The program, as its path is known; with the script, if it is an interpreter.
std::string program_of(const Run& run);

/// "4 ranks on 1 node (n0), recorded for 3.2 s", and more that there is to know of the whole run.
std::string about(const Report& r);

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
