// A wrong argument, by its number (second argument; 0: says how many there are): prints the class
// of what the call returns, by whichever handler errors go to (first argument: return or user),
// and sees that calls are right afterwards.

#include "checks.hpp"

#include <cstring>
#include <string>
#include <vector>

namespace {

int rank = 0;
int size = 1;
MPI_Comm comm = MPI_COMM_NULL;
int handled = 0;

void handler(MPI_Comm* /*comm*/, int* code, ...) { handled = class_of(*code); }

/// Says what a call gave, and that the communicator can still be used.
void say(const char* what, int code) {
  std::printf("rank %d: %s: %d, handled %d\n", rank, what, class_of(code), handled);
  handled = 0;
  int one = 1;
  int sum = 0;
  CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == size);
}
/// Only the case with the number that was asked for: MPI libraries do not survive all of them.
int wanted = 0;
int cases = 0;
#define SAY(...) \
  if (++cases == wanted) say(#__VA_ARGS__, __VA_ARGS__)

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // where Open MPI reports some
  wanted = argc > 2 ? std::atoi(argv[2]) : 0;
  if (argc > 1 && std::string(argv[1]) == "user") {
    MPI_Errhandler own = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(comm, own);
    MPI_Errhandler_free(&own);
  } else {
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
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

  // A call that is wrong on one rank has none on the others: it does not count for the take-over.
  if (rank == 0 && wanted == cases + 1) {
    for (int i = 0; i < 3; ++i) MPI_Bcast(a, -1, MPI_INT, 0, comm);
  }
  // It waits for nobody, also where the next call is the one in which the communicator is taken
  // over.
  if (wanted == cases + 1 && rank == 0) {
    MPI_Bcast(a, -1, MPI_INT, 0, comm);
    for (int r = 1; r < size; ++r) MPI_Send(a, 1, MPI_INT, r, 0, MPI_COMM_WORLD);
  } else if (wanted == cases + 1) {
    MPI_Recv(a, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  SAY(MPI_Barrier(comm));
  if (wanted == 0 && rank == 0) std::printf("%d cases\n", cases);
  MPI_Type_free(&uncommitted);
  MPI_Type_free(&derived);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
