// SPDX-License-Identifier: BSD-3-Clause
// Calls that differ between ranks, which MPI would not notice: papcoll's sentence, by the handler
// that the first argument names (return, user, fatal).

#include "checks.hpp"

#include <cstring>
#include <string>

namespace {

int handled = 0;
void handler(MPI_Comm* /*comm*/, int* /*code*/, ...) { ++handled; }

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const std::string how = argc > 1 ? argv[1] : "fatal";
  if (how == "return") MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  if (how == "user") {
    MPI_Errhandler own = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(comm, own);
  }
  int x[4] = {1, 1, 1, 1};
  int y[4] = {};
  // Another operator on rank 1.
  const int code = MPI_Allreduce(x, y, 4, MPI_INT, rank == 1 ? MPI_MAX : MPI_SUM, comm);
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  CHECK(code != MPI_SUCCESS);
  CHECK(std::string(text).substr(0, 23) == "MPI_Allreduce: papcoll:");
  CHECK(handled == (how == "user" ? 1 : 0));
  std::printf("rank %d: %s\n", rank, text);
  // The communicator goes on.
  CHECK(MPI_Allreduce(x, y, 4, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
  int size = 0;
  MPI_Comm_size(comm, &size);
  CHECK(y[0] == size && y[3] == size);
  // Buffers that overlap, which MPI libraries do not look for: no matter which calls came before.
  int both[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  CHECK(MPI_Allreduce(both, both + 2, 4, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
  CHECK(both[1] == 1 && both[2] == size && both[5] == size);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  if (failures == 0 && rank == 0) std::puts("all right");
  return failures == 0 ? 0 : 1;
}
