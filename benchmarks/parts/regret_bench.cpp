// SPDX-License-Identifier: BSD-3-Clause
// What it costs that a communicator learns: a program that mixes calls of many kinds, as it begins
// with a new communicator, and with one that has run it before, by turns.
//
//   regret_bench [CALLS] [ROUNDS]     calls of each kind (default 1000), and programs of each sort
//
// A kind is a collective and a size, of private buffers, without policies. The order of the calls
// is drawn, the same in all programs. For each kind: the time in its calls in the new communicator
// over that in the old one, in the mean over the ranks, as the median of the rounds; for the whole,
// the same of the sums. A communicator that has settled tries now and then, too.

#include <papcoll/papcoll.hpp>
#include <papcoll/statistics/median.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using papcoll::Communicator;

struct Kind {
  std::string collective;
  std::size_t bytes;
  std::function<void(Communicator&)> call;
};

std::vector<Kind> kinds(int ranks, std::vector<double>& long_in, std::vector<double>& long_out) {
  std::vector<Kind> all;
  for (const std::size_t bytes : {8U, 512U, 8192U, 131072U}) {
    const std::size_t n = bytes / sizeof(double);
    const std::span in = std::span{long_in}.first(n);
    const std::span out = std::span{long_out}.first(n);
    const std::span all_in = std::span{long_in}.first(n * static_cast<std::size_t>(ranks));
    const std::span all_out = std::span{long_out}.first(n * static_cast<std::size_t>(ranks));
    const papcoll::root root{0};
    const auto add = [&](const char* name, std::function<void(Communicator&)> call) {
      all.push_back({name, bytes, std::move(call)});
    };
    add("allreduce", [=](Communicator& c) { papcoll::allreduce(c, in, out, papcoll::max); });
    add("reduce", [=](Communicator& c) { papcoll::reduce(c, in, out, root, papcoll::max); });
    add("bcast", [=](Communicator& c) { papcoll::bcast(c, out, root); });
    add("allgather", [=](Communicator& c) { papcoll::allgather(c, in, all_out); });
    add("reduce_scatter",
        [=](Communicator& c) { papcoll::reduce_scatter(c, all_in, out, papcoll::max); });
    add("gather", [=](Communicator& c) { papcoll::gather(c, in, all_out, root); });
    add("scatter", [=](Communicator& c) { papcoll::scatter(c, all_in, out, root); });
    add("alltoall", [=](Communicator& c) { papcoll::alltoall(c, all_in, all_out); });
    add("scan", [=](Communicator& c) { papcoll::scan(c, in, out, papcoll::max); });
    add("exscan", [=](Communicator& c) { papcoll::exscan(c, in, out, papcoll::max); });
  }
  return all;
}

/// The seconds in the calls of each kind, in the mean over the ranks.
std::vector<double> run(Communicator& comm, const std::vector<Kind>& kinds,
                        const std::vector<std::size_t>& program) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds(kinds.size());
  papcoll::barrier(comm);
  for (const std::size_t k : program) {
    const auto begin = Clock::now();
    kinds[k].call(comm);
    seconds[k] += std::chrono::duration<double>(Clock::now() - begin).count();
  }
  papcoll::allreduce(comm, std::span{seconds});
  for (double& s : seconds) s /= comm.size();
  return seconds;
}

void compare(int calls, int rounds) {
  int ranks = 0;
  int rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<double> in(static_cast<std::size_t>(ranks) * 131072 / sizeof(double), rank);
  std::vector<double> out(in.size());
  const std::vector<Kind> all = kinds(ranks, in, out);
  std::vector<std::size_t> program;
  for (std::size_t k = 0; k < all.size(); ++k) {
    program.insert(program.end(), static_cast<std::size_t>(calls), k);
  }
  std::shuffle(program.begin(), program.end(), std::mt19937{1});

  Communicator old{MPI_COMM_WORLD};
  static_cast<void>(run(old, all, program));
  std::vector<std::vector<double>> ratios(all.size() + 1);
  for (int round = 0; round < rounds; ++round) {
    Communicator fresh{MPI_COMM_WORLD};
    const std::vector<double> first = run(fresh, all, program);
    const std::vector<double> settled = run(old, all, program);
    double of_first = 0;
    double of_settled = 0;
    for (std::size_t k = 0; k < all.size(); ++k) {
      ratios[k].push_back(first[k] / settled[k]);
      of_first += first[k];
      of_settled += settled[k];
    }
    ratios.back().push_back(of_first / of_settled);
  }
  if (rank != 0) return;
  std::printf("%d ranks, %d calls of each of %zu kinds, median of %d rounds\n", ranks, calls,
              all.size(), rounds);
  int beyond = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const double ratio = papcoll::median(ratios[k]);
    if (ratio > 1.05) ++beyond;
    std::printf("%-14s %7zu B %6.3f\n", all[k].collective.c_str(), all[k].bytes, ratio);
  }
  std::printf("%d kinds above 1.05; all calls together %.3f\n", beyond,
              papcoll::median(ratios.back()));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  compare(argc > 1 ? std::atoi(argv[1]) : 1000, argc > 2 ? std::atoi(argv[2]) : 7);
  MPI_Finalize();
}
