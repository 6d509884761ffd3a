// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// A call that is made again and again on the same buffers, prepared once: persistent.
//
// What a call resolves before it runs does not depend on its length: it checks the arguments,
// copies counts and operator, looks at what memory the buffers are in and by which algorithm it
// runs. That is a tenth to a fifth of a call of some hundred bytes among ranks that share a cache,
// and nothing beside a long vector or a slow network. So a prepared call pays in loops over short
// ones, such as the dot products and norms of solvers. Elsewhere it costs nothing, but that buffers
// must stay.
//
//     mpirun -n 2 ./18_persistent_calls

#include <papcoll/papcoll.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <random>

namespace {

// π by chance: of the points thrown into a square, a quarter of π lies in the circle. All ranks
// throw until there are enough of them; those of a round are counted while the next are thrown.
double pi_by_chance(papcoll::Communicator& comm) {
  constexpr std::uint64_t thrown_in_a_round = 10'000;
  constexpr std::uint64_t enough = 1'000'000;
  std::mt19937_64 random(static_cast<std::uint64_t>(comm.rank()) + 1);
  std::uniform_real_distribution<double> side(0, 1);

  std::array<std::uint64_t, 2> mine{};  // in the circle, and thrown
  std::array<std::uint64_t, 2> all{};

  // All ranks prepare it, in the same order as their other calls. It waits for nobody.
  papcoll::Persistent count = papcoll::allreduce_init(comm, mine, all);
  while (true) {
    // As iallreduce(): until wait() returns, `mine` must not change, nor `all` be read.
    count.start();
    std::uint64_t in_circle = 0;
    for (std::uint64_t i = 0; i < thrown_in_a_round; ++i)
      in_circle += std::hypot(side(random), side(random)) < 1 ? 1U : 0U;
    count.wait();
    if (all[1] >= enough) return 4.0 * static_cast<double>(all[0]) / static_cast<double>(all[1]);
    mine[0] += in_circle;
    mine[1] += thrown_in_a_round;
  }
}

// Nanoseconds of a call, in the quickest of some rows.
template <class Call> double time_of(papcoll::Communicator& comm, Call&& call) {
  constexpr int calls = 500;
  double quickest = 1e9;
  for (int row = 0; row < 10; ++row) {
    papcoll::barrier(comm);
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    quickest = std::min(quickest, took.count() / calls);
  }
  return papcoll::allreduce(comm, quickest, papcoll::max);
}

bool run() {
  papcoll::Communicator comm{MPI_COMM_WORLD};
  const double pi = pi_by_chance(comm);

  std::array<double, 8> in{};
  std::array<double, 8> out{};
  for (double& x : in) x = comm.rank() + 1;
  papcoll::Persistent sum = papcoll::allreduce_init(comm, in, out);
  const double plain = time_of(comm, [&] { papcoll::allreduce(comm, in, out); });
  out = {};
  const double prepared = time_of(comm, [&] { sum(); });  // start() and wait() in one, and blocking

  if (comm.rank() == 0) {
    std::printf("pi is about %.4f\n", pi);
    std::printf("an allreduce of %zu bytes: %.0f ns, prepared %.0f ns\n", sizeof in, plain,
                prepared);
  }
  return std::abs(pi - 3.14159) < 0.01 && out.back() == comm.size() * (comm.size() + 1) / 2.0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool right = false;
  try {
    right = run();
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
