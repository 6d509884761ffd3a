// SPDX-License-Identifier: BSD-3-Clause
// ranks: 0
// An arrival-driven algorithm of our own: who does what depends on who comes when. It is a header,
// 09_write_your_own_arrival_algorithm/last_combines.hpp: read that first. Here it runs on threads;
// on processes of a node it is called in the same way. tests/explore has it in its list, and so
// tries the orders in which the ranks' steps may happen, with calls that do not match among them.
//
//     g++ -std=c++20 -O2 -pthread -I include examples/09_write_your_own_arrival_algorithm.cpp

#include "09_write_your_own_arrival_algorithm/last_combines.hpp"

#include <papcoll/core.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

using papcoll::ArrivalOrder, papcoll::ThreadTeam, papcoll::ThreadTransport;

namespace {

constexpr int ranks = 4;

// x → factor·x + shift. One after the other is one again, and the order matters.
struct Affine {
  double factor;
  double shift;
};
Affine then(const Affine& first, const Affine& second) {
  return {first.factor * second.factor, second.factor * first.shift + second.shift};
}

// It is a policy like any other. The arrival policy may be left out, as LastCombines needs tickets,
// which only ArrivalOrder offers; so may the transport.
bool sums() {
  ThreadTeam team{ranks};
  std::atomic<int> right = 0;
  team.run([&](ThreadTeam::Rank& comm) {
    std::vector<double> data(100'000, comm.rank());  // many chunks
    papcoll::allreduce<LastCombines>(comm, data);
    std::vector<int> one{1};
    papcoll::allreduce<ArrivalOrder, LastCombines, ThreadTransport>(comm, one);
    if (data.front() == 6 && data.back() == 6 && one[0] == ranks) ++right;
  });
  std::printf("sums are right on %d of %d ranks\n", right.load(), ranks);
  return right == ranks;
}

// It combines in rank order, whoever arrives last.
bool keeps_the_order() {
  ThreadTeam team{ranks};
  std::atomic<int> right = 0;
  team.run([&](ThreadTeam::Rank& comm) {
    for (int late = 0; late < ranks; ++late) {
      if (comm.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds{5});
      std::vector<Affine> data(3, Affine{2, static_cast<double>(comm.rank())});
      papcoll::allreduce<LastCombines, papcoll::Reproducible>(comm, data, then);
      // x → 2x+0 → 2·that+1 → …
      if (data[0].factor == 16 && data[2].shift == ((0 * 2 + 1) * 2 + 2) * 2 + 3) ++right;
    }
  });
  std::printf("products are in rank order in %d of %d calls\n", right.load(), ranks * ranks);
  return right == ranks * ranks;
}

// Calls that do not match are told to everybody: the work of s.matches() and s.fail().
bool tells_of_mistakes() {
  ThreadTeam team{ranks};
  std::atomic<int> told = 0;
  std::string what;
  team.run([&](ThreadTeam::Rank& comm) {
    std::vector<double> data(comm.rank() == 2 ? 7 : 8, 1.0);
    try {
      papcoll::allreduce<LastCombines>(comm, data);
    } catch (const papcoll::peer_error& problem) {
      ++told;
      if (comm.rank() == 0) what = problem.what();
    }
    papcoll::barrier<LastCombines>(comm);
  });
  std::printf("%d of %d ranks are told: %s\n", told.load(), ranks, what.c_str());
  return told == ranks;
}

}  // namespace

int main() {
  const bool right = sums() && keeps_the_order() && tells_of_mistakes();
  if (!right) std::printf("something went otherwise than it should\n");
  return right ? 0 : 1;
}
