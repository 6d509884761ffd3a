// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Calls that ranks wait in for others who have not come, and calls in which ranks differ: what a
// run hangs in, or ended early in.

#include <papcoll/report/calls.hpp>
#include <papcoll/report/run.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {

/// A call, as one rank or most of them make it.
struct CallOf {
  profile::MpiCollective collective{};
  std::uint32_t flags = 0;
  std::uint64_t bytes = 0;
  std::int32_t root = -1;
  std::uint64_t number = 0;  ///< on its communicator, from 0
  std::uint32_t communicator = profile::no_entry;
  std::uint32_t place = profile::no_entry;
};

/// What a rank does instead of coming to a call.
struct Whereabouts {
  enum class Kind {
    inside,      ///< another call
    outside,     ///< of calls; `call` was the last one
    finalizing,  ///< in MPI_Finalize
    finished,    ///< after it
    exited,      ///< left without it
    aborted,     ///< called MPI_Abort
    gone,        ///< its process ended without a word
  };
  std::int32_t member = 0;  ///< its rank in the communicator
  std::int32_t rank = 0;    ///< world rank
  Kind kind = Kind::inside;
  std::optional<CallOf> call;
  bool in_call = false;         ///< `call` has not come back
  std::optional<double> since;  ///< seconds that it has been inside or outside, while it runs
  std::uint64_t calls = 0;      ///< its calls on the communicator
  std::int32_t abort_code = 0;
};

/// A rank left out a call that the others made.
struct Skipped {
  std::int32_t rank = 0;
  CallOf call;
};

/// A call in which ranks are.
struct Unfinished {
  CallOf call;
  std::vector<std::int32_t> inside;  ///< world ranks
  std::optional<double> since;       ///< seconds since the first of them came, while the run lasts
  std::vector<Whereabouts> missing;  ///< members with a trace that have not come
  std::uint64_t untraced = 0;        ///< members of which there is no trace
  std::optional<Skipped> skipped;
  bool hopeless = false;  ///< it will not end: who is missing cannot come, or the run is over
};

/// Ranks made different calls under one number.
struct Mismatch {
  CallOf call;                                          ///< most ranks'
  std::vector<std::pair<std::int32_t, CallOf>> others;  ///< world ranks, a few of them
  std::uint64_t calls = 1;  ///< so many on this communicator; this one was the first
  std::optional<Skipped> skipped;
};

/// What is left open at the end, or at the moment.
struct Ending {
  bool alive = false;  ///< a process of the run lives
  bool early = false;  ///< none does, and not all have finished
  std::vector<Unfinished> unfinished;
  std::size_t more_unfinished = 0;  ///< calls with fewer ranks in them that are not among these
  std::vector<Mismatch> mismatches;
  std::vector<Whereabouts> not_finished;  ///< ranks that ended without MPI_Finalize

  /// Returns true if something is wrong with the program.
  bool is_fault() const {
    return early || !mismatches.empty() ||
           std::any_of(unfinished.begin(), unfinished.end(),
                       [](const Unfinished& u) { return u.hopeless; });
  }
};

/// Nanoseconds since 1970.
std::int64_t unix_now();

/// Returns what is left open. `now_unix`: nanoseconds since 1970, for how long ranks have been
/// waiting.
Ending ending_of(const Run& run, const Calls& calls, std::int64_t now_unix = unix_now());

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
