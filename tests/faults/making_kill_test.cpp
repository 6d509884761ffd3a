// SPDX-License-Identifier: BSD-3-Clause
// A rank is killed at a random moment while communicators are made; the others must say so within
// the deadline.
//
//   making_kill_test RESULTS KNOWN VICTIM MICROSECONDS  (run by making_kill.sh)
//
// KNOWN is `strangers` if the first communicator is made with the death to come, and `known` if the
// ranks have made one before. The victim dies so long after all have begun. Each survivor writes to
// RESULTS/<rank> what became of it: one line `kind|milliseconds|number of the making|text`, and for
// a hang, kind `hung`, what it hung in.

#include "outcome.hpp"

#include <papcoll/communicator.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

namespace {

constexpr unsigned patience = 8;  ///< seconds until a rank that hangs ends itself
constexpr std::chrono::milliseconds deadline{1000};
constexpr int most_communicators = 100;

int hung_file = -1;

// Since when this rank is in one call of MPI_Test, in seconds; 0: it is in none. Polling calls it
// again and again, so that a long stay is MPI's doing.
volatile std::time_t in_test_since = 0;

pthread_t main_thread{};

extern "C" void tell_where_it_hangs(int alarmed) {
  // Where another signal is on its way to the main thread, a thread of MPI's gets the alarm.
  if (!pthread_equal(pthread_self(), main_thread)) {
    pthread_kill(main_thread, alarmed);
    return;
  }
  std::array<void*, 64> frames{};
  constexpr std::string_view line = "hung|8000|0|\n";
  static_cast<void>(!write(hung_file, line.data(), line.size()));
  constexpr std::time_t long_stay = 3;  // seconds
  if (in_test_since != 0 && std::time(nullptr) - in_test_since >= long_stay) {
    constexpr std::string_view blocked = "blocked inside MPI_Test\n";
    static_cast<void>(!write(hung_file, blocked.data(), blocked.size()));
  }
  backtrace_symbols_fd(frames.data(), backtrace(frames.data(), frames.size()), hung_file);
  _exit(EXIT_FAILURE);
}

}  // namespace

/// MPI's profiling interface: all of this program's tests of requests come here.
extern "C" int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
  in_test_since = std::time(nullptr);
  const int code = PMPI_Test(request, done, status);
  in_test_since = 0;
  return code;
}

int main(int argc, char** argv) {
  if (argc < 5) return EXIT_FAILURE;
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::string path = std::string{argv[1]} + "/" + std::to_string(rank);
  const bool known = std::string_view{argv[2]} == "known";
  const int victim = std::atoi(argv[3]);
  const std::chrono::microseconds dies_after{std::atoi(argv[4])};
  hung_file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  std::array<void*, 1> warm{};
  backtrace(warm.data(), 1);  // loads what it needs outside the handler
  main_thread = pthread_self();
  std::signal(SIGALRM, &tell_where_it_hangs);
  alarm(patience + 12);

  std::vector<MPI_Comm> mpi(most_communicators);
  for (MPI_Comm& m : mpi) MPI_Comm_dup(MPI_COMM_WORLD, &m);
  if (known) papcoll::Communicator{MPI_COMM_WORLD};
  papcoll::Options options;
  options.deadline = deadline;
  MPI_Barrier(MPI_COMM_WORLD);

  alarm(patience);
  if (rank == victim) {
    std::thread([dies_after] {
      std::this_thread::sleep_for(dies_after);
      kill(getpid(), SIGKILL);
    }).detach();
  }
  std::vector<papcoll::Communicator> made;
  Outcome outcome;
  int number = 0;
  auto start = std::chrono::steady_clock::now();
  for (; number < most_communicators && outcome.is_fine(); ++number) {
    start = std::chrono::steady_clock::now();
    outcome =
        outcome_of([&] { made.emplace_back(mpi[static_cast<std::size_t>(number)], options); });
  }
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  if (rank == victim) pause();
  if (!outcome.is_fine()) {
    const Outcome again = outcome_of([&] {
      papcoll::Communicator{mpi[static_cast<std::size_t>(number - 1)], options};
    });
    if (again.kind != "broken_communicator") {
      outcome = {"wrong", "made once more: " + again.kind + ": " + again.what};
    }
  }
  made.clear();
  std::ofstream{path} << outcome.kind << "|" << static_cast<int>(took.count()) << "|" << number
                      << "|" << outcome.what << std::endl;
  _exit(EXIT_SUCCESS);
}
