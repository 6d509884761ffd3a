// SPDX-License-Identifier: BSD-3-Clause
// The main of tests that are run by mpirun. All ranks run the same test cases in step: after each
// case they agree whether it passed everywhere. Rank 0 reports; another rank speaks only of its own
// failures. A rank that failed leaves its case early and may leave the others inside a collective,
// so it waits a limited time for them and then ends the job.

#include <mpi.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

#ifdef SMPI_H
#define CATCH_CONFIG_NO_POSIX_SIGNALS  // its handlers would be of the rank that began last
#endif
#define CATCH_CONFIG_RUNNER
#include "catch.hpp"

namespace {

constexpr std::chrono::seconds patience{20};

#ifdef SMPI_H
constexpr bool simulated = true;  // all ranks are in one process, and have one std::cout
#else
constexpr bool simulated = false;
#endif

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// What this rank's reporter wrote since the last case; only ranks other than 0 write here.
std::ostringstream& held_back() {
  static std::ostringstream text;
  return text;
}

bool failed_anywhere(bool failed_here) {
  int mine = failed_here ? 1 : 0;
  int any = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return any != 0;
    if (failed_here && std::chrono::steady_clock::now() > deadline) {
      std::cerr << "rank " << world_rank() << ": failed, and the others did not end this case\n";
      MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    std::this_thread::sleep_for(std::chrono::microseconds{100});
  }
}

// Launchers give ranks terminals; colours would end up in logs.
#ifdef TWOBLUECUBES_SINGLE_INCLUDE_CATCH_HPP_INCLUDED  // v2
using Listener = Catch::TestEventListenerBase;
void no_colours(Catch::ConfigData& config) { config.useColour = Catch::UseColour::No; }
#else
using Listener = Catch::EventListenerBase;
void no_colours(Catch::ConfigData& config) { config.defaultColourMode = Catch::ColourMode::None; }
#endif

struct InStep : Listener {
  using Listener::Listener;

  // If the job hangs, the last line names the case.
  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    if (world_rank() == 0) std::cout << info.name << std::endl;
  }

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    const bool failed = stats.totals.assertions.failed > 0;
    if (failed && world_rank() != 0) {
      std::cerr << "rank " << world_rank() << ":\n" << held_back().str() << std::flush;
    }
    held_back().str({});
    failed_anywhere(failed);
  }
};
CATCH_REGISTER_LISTENER(InStep)

/// ctest says how many ranks it asked for: a launcher of another MPI library starts P jobs of one.
bool as_many_as_asked() {
  const char* asked = std::getenv("PAPCOLL_TEST_RANKS");
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (asked == nullptr || std::stoi(asked) == size) return true;
  std::cerr << "asked for " << asked << " ranks, got " << size
            << ": is the launcher of another MPI library?\n";
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  // Open MPI 4.1 has windows across nodes without network hardware for them, but not for threads.
  const bool one_thread = std::getenv("PAPCOLL_TEST_ONE_THREAD") != nullptr;
  MPI_Init_thread(&argc, &argv, one_thread ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &provided);
  int result = EXIT_FAILURE;
  if (as_many_as_asked()) {
    std::streambuf* const console = std::cout.rdbuf();
    if (world_rank() != 0 && !simulated) std::cout.rdbuf(held_back().rdbuf());
    Catch::Session session;
    no_colours(session.configData());
    result = session.run(argc, argv);
    std::cout.rdbuf(console);
    if (failed_anywhere(result != 0)) result = EXIT_FAILURE;
  }
  MPI_Finalize();
  return result;
}
