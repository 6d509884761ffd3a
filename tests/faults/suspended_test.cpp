// SPDX-License-Identifier: BSD-3-Clause
// A job that is suspended whole, for longer than its deadline, and resumed, as batch systems and
// container engines do, goes on: nobody is late.

#include <papcoll/allreduce.hpp>
#include <papcoll/automatic.hpp>
#include <papcoll/communicator.hpp>
#include <papcoll/error.hpp>
#include <papcoll/op.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds deadline{1000};  // long enough for a busy machine
constexpr milliseconds stop{1300};
constexpr int stops = 2;

/// The process that suspends the others.
pid_t begin_batch_system(const std::vector<pid_t>& job) {
  const pid_t child = fork();
  if (child != 0) return child;
  for (int i = 0; i < stops; ++i) {
    std::this_thread::sleep_for(milliseconds{100});
    for (const pid_t p : job) kill(p, SIGSTOP);
    std::this_thread::sleep_for(stop);
    for (const pid_t p : job) kill(p, SIGCONT);
  }
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int failed = 0;
  {
    papcoll::Communicator comm{MPI_COMM_WORLD, {.deadline = deadline}};
    const int me = comm.rank();
    std::vector<pid_t> processes(static_cast<std::size_t>(comm.size()));
    const pid_t own = getpid();
    MPI_Allgather(&own, sizeof own, MPI_BYTE, processes.data(), sizeof own, MPI_BYTE,
                  MPI_COMM_WORLD);
    const pid_t batch_system = me == 0 ? begin_batch_system(processes) : 0;
    try {
      const auto end = Clock::now() + stops * (stop + milliseconds{100}) + milliseconds{200};
      for (int over = 0; over == 0;) {
        if (me == comm.size() - 1) {  // computes for 20 ms of processor time
          for (const auto begin = std::clock(); std::clock() - begin < CLOCKS_PER_SEC / 50;) {
          }
        }
        over = papcoll::allreduce(comm, int{Clock::now() > end}, papcoll::max);
      }
    } catch (const papcoll::error& e) {
      failed = 1;
      std::fprintf(stderr, "FAILED: rank %d: %s\n", me, e.what());
    }
    if (batch_system > 0) waitpid(batch_system, nullptr, 0);
  }
  if (failed != 0) _exit(EXIT_FAILURE);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
