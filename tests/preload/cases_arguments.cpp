// SPDX-License-Identifier: BSD-3-Clause
// Wrong arguments, by their numbers (from the second argument on; none: says how many there are),
// each on a communicator of its own: prints the number and the class of what the call returns, by
// whichever handler errors go to (first argument: return or user), and whether calls are right
// afterwards.

#include "checks.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace {

int rank = 0;
int size = 1;
MPI_Comm comm = MPI_COMM_NULL;
MPI_Errhandler own = MPI_ERRHANDLER_NULL;
int handled = 0;

void handler(MPI_Comm* /*comm*/, int* code, ...) { handled = class_of(*code); }

// MPI libraries do not survive all of them.
std::vector<int> wanted;
int cases = 0;

/// Is the next one wanted? Then its communicator is ready.
bool next() {
  if (std::find(wanted.begin(), wanted.end(), ++cases) == wanted.end()) return false;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, own);
  return true;
}

/// Says what a call gave, and whether the communicator can still be used.
void say(const char* what, int code) {
  const int returned = class_of(code);
  int one = 1;
  int sum = 0;
  const bool right =
      MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == size;
  std::printf("%d: rank %d: %s: %d, handled %d, then %s\n", cases, rank, what, returned, handled,
              right ? "right" : "wrong");
  std::fflush(stdout);
  handled = 0;
  MPI_Comm_free(&comm);
}
#define SAY(...) \
  if (next()) say(#__VA_ARGS__, __VA_ARGS__)

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // where Open MPI reports some
  for (int i = 2; i < argc; ++i) wanted.push_back(std::atoi(argv[i]));
  const bool of_user = argc > 1 && std::string(argv[1]) == "user";
  if (of_user) {
    MPI_Comm_create_errhandler(handler, &own);
  } else {
    own = MPI_ERRORS_RETURN;
  }
  std::vector<int> x(64, 1);
  std::vector<int> y(64, 0);
  std::vector<int> counts(static_cast<std::size_t>(size), 1);
  MPI_Datatype uncommitted = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_INT, &uncommitted);
  MPI_Datatype derived = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_INT, &derived);
  MPI_Type_commit(&derived);
  int* const a = x.data();
  int* const b = y.data();

  SAY(MPI_Bcast(a, 1, MPI_INT, size, comm));
  SAY(MPI_Bcast(a, 1, MPI_INT, -1, comm));
  SAY(MPI_Bcast(a, -1, MPI_INT, 0, comm));
  SAY(MPI_Bcast(a, 1, MPI_DATATYPE_NULL, 0, comm));
  SAY(MPI_Bcast(a, 1, uncommitted, 0, comm));
  SAY(MPI_Allreduce(a, b, -1, MPI_INT, MPI_SUM, comm));
  SAY(MPI_Allreduce(a, b, 1, MPI_DATATYPE_NULL, MPI_SUM, comm));
  SAY(MPI_Allreduce(a, b, 1, MPI_INT, MPI_OP_NULL, comm));
  SAY(MPI_Allreduce(a, b, 1, MPI_DOUBLE, MPI_BAND, comm));
  SAY(MPI_Allreduce(a, b, 1, MPI_FLOAT, MPI_LXOR, comm));
  SAY(MPI_Allreduce(a, b, 1, MPI_INT, MPI_MINLOC, comm));
  SAY(MPI_Allreduce(a, b, 1, MPI_DOUBLE_INT, MPI_SUM, comm));
  SAY(MPI_Allreduce(a, b, 1, derived, MPI_SUM, comm));
  SAY(MPI_Allreduce(a, b, 1, uncommitted, MPI_SUM, comm));
  SAY(MPI_Allreduce(a, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm));
  SAY(MPI_Allreduce(a, a, 1, MPI_INT, MPI_SUM, comm));
  SAY(MPI_Reduce(a, b, 1, MPI_INT, MPI_SUM, size, comm));
  SAY(MPI_Reduce(a, b, -1, MPI_INT, MPI_SUM, 0, comm));
  SAY(MPI_Reduce(a, b, 1, MPI_DOUBLE, MPI_BOR, 0, comm));
  SAY(MPI_Allgather(a, -1, MPI_INT, b, 1, MPI_INT, comm));
  SAY(MPI_Allgather(a, 1, MPI_INT, b, -1, MPI_INT, comm));
  SAY(MPI_Allgather(a, 1, MPI_INT, b, 1, MPI_DATATYPE_NULL, comm));
  SAY(MPI_Allgather(a, 1, MPI_DATATYPE_NULL, b, 1, MPI_INT, comm));
  SAY(MPI_Gather(a, 1, MPI_INT, b, 1, MPI_INT, -3, comm));
  SAY(MPI_Scatter(a, 1, MPI_INT, b, 1, MPI_INT, size + 1, comm));
  SAY(MPI_Scatter(a, 1, MPI_INT, b, -1, MPI_INT, 0, comm));
  SAY(MPI_Reduce_scatter_block(a, b, -1, MPI_INT, MPI_SUM, comm));
  SAY(MPI_Reduce_scatter_block(a, b, 1, MPI_DOUBLE, MPI_BXOR, comm));
  SAY(MPI_Reduce_scatter(a, b, counts.data(), MPI_INT, MPI_OP_NULL, comm));
  counts[0] = -1;
  SAY(MPI_Reduce_scatter(a, b, counts.data(), MPI_INT, MPI_SUM, comm));

  if (next()) {
    // A call that is wrong on one rank has none on the others: it does not count for the take-over.
    // It waits for nobody, also where the next call is the one in which the communicator is taken
    // over.
    if (rank == 0) {
      for (int i = 0; i < 4; ++i) MPI_Bcast(a, -1, MPI_INT, 0, comm);
      for (int r = 1; r < size; ++r) MPI_Send(a, 1, MPI_INT, r, 0, MPI_COMM_WORLD);
    } else {
      MPI_Recv(a, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    say("MPI_Barrier(comm)", MPI_Barrier(comm));
  }
  if (wanted.empty() && rank == 0) std::printf("%d cases\n", cases);
  if (of_user) MPI_Errhandler_free(&own);
  MPI_Type_free(&uncommitted);
  MPI_Type_free(&derived);
  MPI_Finalize();
  return 0;
}
