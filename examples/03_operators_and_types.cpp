// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Reductions of any trivially copyable type by any function object.
//
//     mpirun -n 4 ./03_operators_and_types

#include <papcoll/papcoll.hpp>

#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

// A type of our own: running statistics that can be merged (Chan, Golub, LeVeque 1979).
struct Statistics {
  double n, mean, squares;  // squares: the sum of (x − mean)²
};

Statistics merge(const Statistics& a, const Statistics& b) {
  const double n = a.n + b.n;
  const double apart = b.mean - a.mean;
  return {n, a.mean + apart * b.n / n, a.squares + b.squares + apart * apart * a.n * b.n / n};
}

// A type whose operator does not commute: x → slope·x + offset; after(f, g) is "first f, then g".
struct Affine {
  long slope, offset;
};

Affine after(const Affine& f, const Affine& g) {
  return {g.slope * f.slope, g.slope * f.offset + g.offset};
}

bool right = true;

void check(int rank, const char* what, double got, double expected) {
  if (rank == 0) std::printf("  %-52s %g\n", what, got);
  if (std::abs(got - expected) > 1e-9) {
    std::printf("rank %d: %s: got %g, expected %g\n", rank, what, got, expected);
    right = false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  papcoll::Communicator comm{MPI_COMM_WORLD};
  const int rank = comm.rank();
  const int size = comm.size();

  // Built-in operators know whether they commute: sum, prod, min, max, min_number, max_number,
  // bit_and, bit_or, bit_xor, logical_and, logical_or, logical_xor, minloc, maxloc.
  if (rank == 0) std::printf("built-in operators:\n");
  check(rank, "max of the ranks", papcoll::allreduce(comm, rank, papcoll::max), size - 1);
  const auto mask = papcoll::allreduce(comm, std::uint32_t{1} << rank, papcoll::bit_or);
  check(rank, "bit_or: everybody's bit", mask, (1U << static_cast<unsigned>(size)) - 1U);
  const bool all_even = papcoll::allreduce(comm, rank % 2 == 0, papcoll::logical_and);
  check(rank, "logical_and: is every rank even?", all_even, size == 1);

  // Where is the smallest load? Of equal values the lower rank wins.
  std::array<papcoll::ValueIndex<double>, 1> load{
      {{.value = (rank * 7 + 3) % 5 + 1.0, .index = rank}}};
  papcoll::allreduce(comm, load, papcoll::minloc);
  papcoll::ValueIndex<double> least{.value = 4, .index = 0};
  for (int r = 0; r < size; ++r) {
    const double of_r = (r * 7 + 3) % 5 + 1.0;
    if (of_r < least.value) least = {.value = of_r, .index = r};
  }
  check(rank, "minloc: the rank with the least load", load[0].index, least.index);

  std::vector<std::complex<double>> turn(3, {0, 1});  // a quarter turn each
  papcoll::allreduce(comm, turn, papcoll::prod);
  check(rank, "prod of complex numbers, real part", turn[0].real(),
        std::array{1, 0, -1, 0}[static_cast<std::size_t>(size % 4)]);

  // A lambda is taken as it is. papcoll cannot know that it commutes, so it combines strictly in
  // rank order. Saying commutative() opens the choice of schedules that combine in any order.
  if (rank == 0) std::printf("operators of our own:\n");
  std::vector<Statistics> samples{{1, 2.0 * rank, 0}};  // one measurement a rank: 0, 2, 4, …
  papcoll::allreduce(comm, samples, papcoll::commutative(merge));
  check(rank, "merged statistics: samples", samples[0].n, size);
  check(rank, "merged statistics: mean", samples[0].mean, size - 1);

  // Here the order matters: double, then add the rank. Ring would be refused: by the compiler if it
  // is a policy, by an exception if it is a name.
  std::vector<Affine> step{{2, rank}};
  papcoll::allreduce(comm, step, [](const Affine& f, const Affine& g) { return after(f, g); });
  Affine expected{2, 0};
  for (int r = 1; r < size; ++r) expected = after(expected, {2, r});
  check(rank, "composed maps: slope", static_cast<double>(step[0].slope),
        static_cast<double>(expected.slope));
  check(rank, "composed maps: offset", static_cast<double>(step[0].offset),
        static_cast<double>(expected.offset));

  MPI_Finalize();
  return right ? 0 : 1;
}
