// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// A buffer that the program already has, made node-shared where it lies: the ranks of a node then
// work on each other's buffers, in place and without a copy, as on shared_vectors.
//
//     mpirun -n 4 ./11_registered_buffers

#include <papcoll/papcoll.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <vector>

namespace {

/// Microseconds of an allreduce, the mean of a few. Sets all elements to the number of ranks.
double time_of(papcoll::Communicator& comm, std::vector<double>& data) {
  constexpr int calls = 50;
  double us = 0;
  for (int i = 0; i < calls; ++i) {
    for (double& x : data) x = 1;
    papcoll::barrier(comm);
    const auto start = std::chrono::steady_clock::now();
    papcoll::allreduce(comm, data);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    us += took.count() / calls;
  }
  return us;
}

bool run() {
  papcoll::Communicator comm{MPI_COMM_WORLD};
  // Any memory that malloc or new gave, before or after the communicator was made. Pointers to it
  // stay valid: its pages move, and its addresses do not.
  std::vector<double> data(500'000);
  const double* const where = data.data();

  const double before = time_of(comm, data);
  double registered = 0;
  bool is_shared = false;
  {
    // Local: a rank that does not register takes part all the same. Where the ranks share no memory
    // nothing is moved, and no_sharing() says why.
    const papcoll::Registration registration{comm, data};
    is_shared = registration.is_shared();
    if (!is_shared) std::printf("not registered, since %s\n", registration.no_sharing().c_str());
    time_of(comm, data);  // the ranks notice, and agree on another algorithm
    registered = time_of(comm, data);
  }  // the contents move back; only now may the vector be resized or destroyed

  if (comm.rank() == 0) {
    std::printf("allreduce of %zu bytes: %.0f us, %s %.0f us\n", data.size() * sizeof(double),
                before, is_shared ? "registered" : "again", registered);
  }
  bool right = data.data() == where;
  for (const double x : data) right = right && x == comm.size();
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool right = false;
  try {
    right = run();
  } catch (const std::exception& problem) {  // such as an arena that is used up
    std::fprintf(stderr, "%s\n", problem.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
