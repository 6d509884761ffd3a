// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// Computing while a collective is under way. A training computes the gradients layer by layer, and
// a layer's gradients can be summed while the next layer is computed. Here the ranks take turns in
// being slow, as they do when their data differ. Blocking, every layer costs as much as its slowest
// rank; non-blocking, who is slow now catches up later.
//
//     mpirun -n 2 ./05_nonblocking_overlap

#include <papcoll/papcoll.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr int layers = 12;
constexpr std::size_t weights = 16384;  // of a layer: 64 KB of floats
constexpr std::chrono::microseconds quick{400};
constexpr std::chrono::microseconds slow{1600};

using Gradients = std::vector<std::vector<float>>;  // of each layer

// What this rank adds to the gradients of a layer, and how long computing it takes.
float value(int rank, int layer) { return static_cast<float>(rank + 1 + layer); }

template <class BetweenPieces>
void compute(int rank, int layer, std::vector<float>& gradient, BetweenPieces&& between_pieces) {
  const auto end = Clock::now() + (layer % 2 == rank % 2 ? slow : quick);
  while (Clock::now() < end) between_pieces();
  gradient.assign(weights, value(rank, layer));
}

Gradients blocking(papcoll::Communicator& comm) {
  Gradients gradients(layers);
  for (int l = 0; l < layers; ++l) {
    auto& gradient = gradients[static_cast<std::size_t>(l)];
    compute(comm.rank(), l, gradient, [] {});
    papcoll::allreduce(comm, gradient);
  }
  return gradients;
}

// iallreduce() starts the collective, without waiting for anybody, and returns a request. The
// buffer must stay and not be touched until the request is complete.
//
// No hidden thread moves the data. Any papcoll call of a rank moves all that it has under way, so a
// long computation calls test() now and then; it costs well under a microsecond.
Gradients non_blocking(papcoll::Communicator& comm) {
  Gradients gradients(layers);
  std::vector<papcoll::Request> requests;
  auto poke = [&] {
    for (papcoll::Request& r : requests) r.test();
  };
  for (int l = 0; l < layers; ++l) {
    auto& gradient = gradients[static_cast<std::size_t>(l)];
    compute(comm.rank(), l, gradient, poke);
    requests.push_back(papcoll::iallreduce(comm, gradient));
  }
  for (papcoll::Request& r : requests) r.wait();
  return gradients;
}

// The quickest of a few rounds: the first calls set up memory, and the machine has other work, too.
template <class Variant>
double timed(papcoll::Communicator& comm, Variant&& variant, Gradients& gradients) {
  double quickest = 1e9;
  for (int round = 0; round < 5; ++round) {
    papcoll::barrier(comm);
    const auto start = Clock::now();
    gradients = variant(comm);
    const double mine = Milliseconds(Clock::now() - start).count();
    quickest = std::min(quickest, papcoll::allreduce(comm, mine, papcoll::max));
  }
  return quickest;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  papcoll::Communicator comm{MPI_COMM_WORLD};
  const int size = comm.size();

  Gradients expected;
  Gradients got;
  const double blocking_ms = timed(comm, blocking, expected);
  const double non_blocking_ms = timed(comm, non_blocking, got);

  bool right = got == expected;
  for (int l = 0; l < layers; ++l) {
    float sum = 0;
    for (int r = 0; r < size; ++r) sum += value(r, l);
    right &= got[static_cast<std::size_t>(l)].back() == sum;
  }

  if (comm.rank() == 0) {
    const double computing = Milliseconds(layers * (slow + quick)).count() / 2;
    std::printf("each rank computes for      %6.1f ms\n", computing);
    std::printf("with allreduce              %6.1f ms\n", blocking_ms);
    std::printf("with iallreduce and test()  %6.1f ms\n", non_blocking_ms);
    std::printf("the results are %s\n", right ? "right, and the same" : "WRONG");
  }

  MPI_Finalize();
  return right ? 0 : 1;
}
