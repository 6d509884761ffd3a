// SPDX-License-Identifier: BSD-3-Clause
// ranks: 0
// The same collectives without MPI: the ranks are threads of one process. Good for trying things
// out, for unit tests, and to see what happens when something goes wrong.
//
//     g++ -std=c++20 -O2 -pthread -I include examples/08_threads_as_ranks.cpp && ./a.out

#include <papcoll/core.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using papcoll::ThreadTeam;

namespace {

constexpr int ranks = 4;

// Each rank sorts its own numbers into bins; the sum over the ranks is the histogram of all.
bool histogram(ThreadTeam& team) {
  std::atomic<int> right = 0;
  // run() starts a thread a rank, calls the function on each with its own rank, and returns when
  // all have. If a function throws, run() throws it again, and the team is broken.
  team.run([&](ThreadTeam::Rank& comm) {
    std::vector<int> bins(3);
    for (int number = 0; number < 30; ++number) {
      if (number % comm.size() == comm.rank()) ++bins[static_cast<std::size_t>(number / 10)];
    }
    papcoll::allreduce(comm, bins);
    if (bins == std::vector{10, 10, 10}) ++right;
    if (comm.rank() == 0) std::printf("histogram: %d %d %d\n", bins[0], bins[1], bins[2]);
  });
  return right == ranks;
}

// Rank 2 passes one element too many. Under an algorithm that reads its peers' memory (as this call
// does unless told otherwise) every rank is told, no output is touched, and the team goes on.
bool mismatch(ThreadTeam& team) {
  std::atomic<int> told = 0;
  std::atomic<int> right = 0;
  team.run([&](ThreadTeam::Rank& comm) {
    std::vector<double> data(comm.rank() == 2 ? 101 : 100, 1.0);
    try {
      papcoll::allreduce(comm, data);
    } catch (const papcoll::peer_error& problem) {
      ++told;
      if (comm.rank() == 0) std::printf("mismatch:  %s\n", problem.what());
    }
    if (data[0] == 1.0 && papcoll::allreduce(comm, 1) == comm.size()) ++right;
  });
  return told == ranks && right == ranks;
}

// Rank 3 stays away. The others wait as long as the deadline says; after that the team is broken.
bool absence() {
  ThreadTeam team{ranks, {.deadline = 100ms}};
  std::atomic<int> gave_up = 0;
  std::atomic<int> broken = 0;
  team.run([&](ThreadTeam::Rank& comm) {
    if (comm.rank() == 3) return;
    try {
      papcoll::barrier(comm);
    } catch (const papcoll::deadline_exceeded& problem) {
      ++gave_up;
      if (comm.rank() == 0) std::printf("absence:   %s\n", problem.what());
    }
    try {
      papcoll::barrier(comm);
    } catch (const papcoll::broken_communicator& problem) {
      ++broken;
      if (comm.rank() == 0) std::printf("after it:  %s\n", problem.what());
    }
  });
  return gave_up == ranks - 1 && broken == ranks - 1;
}

}  // namespace

int main() {
  ThreadTeam team{ranks};
  const bool summed = histogram(team);
  const bool told = mismatch(team);
  const bool gave_up = absence();
  if (!summed || !told || !gave_up) std::printf("something went otherwise than it should\n");
  return summed && told && gave_up ? 0 : 1;
}
