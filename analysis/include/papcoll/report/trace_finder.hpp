// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/profile/trace_files.hpp>
#include <papcoll/profile/trace_format.hpp>
#include <papcoll/report/run.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {

/// A trace file and its header, which has no fault.
struct FoundTrace {
  std::string file;
  profile::FileHeader header;
};

/// Finds the trace files of one run in Run::directory. What else is there goes to Run::notes.
class TraceFinder {
 public:
  /// `wanted`: see read_run().
  TraceFinder(Run& run, std::string wanted) : run_(run), wanted_(std::move(wanted)) {}

  /// Returns the files of the run, and stores in the Run which it is. Throws argument_error if
  /// there are none.
  std::vector<FoundTrace> find();

  /// Where a trace is if it was brought to the directory.
  std::string home_of(const std::string& trace) const {
    return run_.directory + "/" + file_name(trace);
  }

  /// Tells where traces of a run (0: of any run) are that are not here; empty if there are none.
  std::string elsewhere_text(std::uint64_t run) const;

  void note(const std::string& file, const std::string& what) {
    run_.notes.push_back(file_name(file) + ": " + what);
  }

 private:
  /// The ranks of one MPI_COMM_WORLD, as their files have them.
  struct World {
    std::uint64_t number = 0;
    std::int32_t size = 0;
    std::uint64_t job = 0;
    bool spawned = false;
    std::int64_t newest = std::numeric_limits<std::int64_t>::min();
    std::string program;
    std::vector<std::string> files;
  };

  std::vector<std::string> trace_files();
  std::optional<FoundTrace> found(const std::string& name);
  static std::vector<World> worlds_of(const std::vector<FoundTrace>& traces);
  bool is_wanted(const World& w) const;
  void choose(std::vector<FoundTrace>& traces);
  static std::string described(const World& w);
  void other_runs(std::vector<World> worlds, const World& best);
  void alone(const std::vector<World>& worlds, const World& best);

  Run& run_;
  std::string wanted_;
  std::vector<profile::TraceNote> elsewhere_;  ///< of traces that are not here
};

}  // namespace detail
}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
