// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// What a late rank costs. Nobody can finish an allreduce before the last rank has arrived; what an
// algorithm can do is to have everything ready by then. So measure the tail: from the last arrival
// to the last exit, once with all ranks together and once with one of them late. Beside it stands
// the skew, from the first arrival to the last: how far apart the ranks really were.
//
//     mpirun -n 4 ./04_stragglers

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/papcoll.hpp>
#include <papcoll/pattern/generators.hpp>
#include <papcoll/pattern/imbalance_factors.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace {

constexpr std::size_t count = 1024;  // doubles: 8 KB
constexpr int iterations = 300;
constexpr double lateness = 200e-6;  // seconds

// CLOCK_MONOTONIC: all processes of a node read the same clock, so their readings can be compared.
double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Candidate {
  std::string name;  // "mpi": the MPI library's own
  papcoll::Algorithm algorithm;
  std::vector<double> arrivals, exits;  // of this rank, a number an iteration

  explicit Candidate(const std::string& name_) : name(name_) {
    if (name != "mpi") algorithm = papcoll::algorithm(name);
  }

  void allreduce(papcoll::Communicator& comm, std::span<double> data) const {
    if (name == "mpi") {
      MPI_Allreduce(MPI_IN_PLACE, data.data(), static_cast<int>(data.size()), MPI_DOUBLE, MPI_SUM,
                    MPI_COMM_WORLD);
    } else {
      papcoll::allreduce(comm, data, papcoll::sum, algorithm);
    }
  }
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Candidates take turns, so that whatever else the machine does troubles all of them alike.
bool measure(papcoll::Communicator& comm, papcoll::pattern::Shape shape,
             std::vector<Candidate>& candidates) {
  const papcoll::pattern::Generator pattern{.shape = shape, .spread = lateness, .seed = 1};
  std::vector<double> delays(static_cast<std::size_t>(comm.size()));
  std::vector<double> data(count);
  bool right = true;
  for (int i = 0; i < iterations; ++i) {
    pattern(static_cast<std::uint64_t>(i), delays);  // the same numbers on every rank
    for (Candidate& c : candidates) {
      std::fill(data.begin(), data.end(), 1.0);
      papcoll::barrier(comm);
      const double start = now();
      while (now() < start + delays[static_cast<std::size_t>(comm.rank())]) {
      }  // "computing"
      c.arrivals.push_back(now());
      c.allreduce(comm, data);
      c.exits.push_back(now());
      right &= std::all_of(data.begin(), data.end(), [&](double x) { return x == comm.size(); });
    }
  }
  return right;
}

void report(papcoll::Communicator& comm, papcoll::pattern::Shape shape, Candidate& c) {
  std::vector<double> first(c.arrivals);
  papcoll::allreduce(comm, first, papcoll::min);
  papcoll::allreduce(comm, c.arrivals, papcoll::max);
  papcoll::allreduce(comm, c.exits, papcoll::max);
  std::vector<double> skew;
  std::vector<double> tail;
  for (std::size_t i = 0; i < c.exits.size(); ++i) {
    skew.push_back(c.arrivals[i] - first[i]);
    tail.push_back(c.exits[i] - c.arrivals[i]);
  }
  if (comm.rank() == 0) {
    std::printf("%-10s %-28s %8.1f µs %10.1f µs\n", std::string(name(shape)).c_str(),
                c.name.c_str(), median(skew) * 1e6, median(tail) * 1e6);
  }
  c.arrivals.clear();
  c.exits.clear();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  papcoll::Communicator comm{MPI_COMM_WORLD};
  std::vector<Candidate> candidates;
  candidates.emplace_back("mpi");
  // One rank leads: always rank 0, which waits for all, or whoever arrives first, who adds up what
  // is there while it waits. Both read the others' memory, so they need one node; so do the clocks.
  candidates.emplace_back(comm.nodes() == 1 ? "StaticLeader" : "Rabenseifner");
  candidates.emplace_back(comm.nodes() == 1 ? "DynamicLeader" : "RecursiveDoubling");

  if (comm.rank() == 0)
    std::printf("%-10s %-28s %11s %13s\n", "arrival", "algorithm", "skew", "tail");
  bool right = true;
  for (const auto shape : {papcoll::pattern::Shape::balanced, papcoll::pattern::Shape::one_late}) {
    right &= measure(comm, shape, candidates);
    for (Candidate& c : candidates) report(comm, shape, c);
  }

  MPI_Finalize();
  return right ? 0 : 1;
}
