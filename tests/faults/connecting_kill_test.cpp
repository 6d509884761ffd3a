// SPDX-License-Identifier: BSD-3-Clause
// A rank is killed or stopped while the first call over MpiTransport makes papcoll's own MPI
// communicator, or the first call by tickets opens them; the others must say so within the
// deadline.
//
//   connecting_kill_test RESULTS HOW STEP FORM  (run by connecting_kill.sh)
//
// HOW is `killed` or `stopped`. STEP is the function that the last rank never enters, or `call`: it
// makes none. FORM of the call is `blocking`, `request`, `native`, which finds no communicator
// left, or `tickets`; `tickets@home`: the ranks are the other way round, so the last one keeps the
// tickets. Each survivor writes `kind|milliseconds|text` to RESULTS/<rank>.

#include "outcome.hpp"

#include <papcoll/allreduce.hpp>
#include <papcoll/automatic.hpp>
#include <papcoll/barrier.hpp>
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/communicator.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr unsigned patience = 8;  ///< seconds until a rank that hangs ends itself
constexpr std::chrono::milliseconds deadline{1000};

bool is_armed = false;
std::string_view last_step;  ///< that this rank never takes; empty: none
int last_signal = SIGKILL;
bool has_no_more = false;  ///< MPI, of communicators
std::string blocked_in;    ///< functions of MPI that wait for other ranks

void come_to(std::string_view step) {
  if (is_armed && step == last_step) kill(getpid(), last_signal);
}
void block_in(std::string_view function) {
  come_to(function);
  if (is_armed) blocked_in.append(" ").append(function);
}

}  // namespace

// MPI's profiling interface: this program's calls come here.
extern "C" {
int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* copy, MPI_Request* request) {
  come_to("MPI_Comm_idup");
  if (has_no_more) return MPI_ERR_OTHER;
  return PMPI_Comm_idup(comm, copy, request);
}
int MPI_Iallreduce(const void* in, void* out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  come_to("MPI_Iallreduce");
  return PMPI_Iallreduce(in, out, n, type, op, comm, request);
}
int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  come_to("MPI_Ibarrier");
  return PMPI_Ibarrier(comm, request);
}
int MPI_Ibcast(void* data, int n, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request* request) {
  come_to("MPI_Ibcast");
  return PMPI_Ibcast(data, n, type, root, comm, request);
}
int MPI_Ialltoallw(const void* in, const int* n, const int* at, const MPI_Datatype* type, void* out,
                   const int* n_out, const int* at_out, const MPI_Datatype* type_out, MPI_Comm comm,
                   MPI_Request* request) {
  come_to("MPI_Ialltoallw");
  return PMPI_Ialltoallw(in, n, at, type, out, n_out, at_out, type_out, comm, request);
}
int MPI_Allgather(const void* in, int n, MPI_Datatype type, void* out, int n_out,
                  MPI_Datatype type_out, MPI_Comm comm) {
  block_in("MPI_Allgather");
  return PMPI_Allgather(in, n, type, out, n_out, type_out, comm);
}
int MPI_Allreduce(const void* in, void* out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  block_in("MPI_Allreduce");
  return PMPI_Allreduce(in, out, n, type, op, comm);
}
int MPI_Barrier(MPI_Comm comm) {
  block_in("MPI_Barrier");
  return PMPI_Barrier(comm);
}
int MPI_Win_allocate(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* memory,
                     MPI_Win* window) {
  block_in("MPI_Win_allocate");
  return PMPI_Win_allocate(bytes, unit, info, comm, memory, window);
}
int MPI_Win_allocate_shared(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* memory,
                            MPI_Win* window) {
  block_in("MPI_Win_allocate_shared");
  return PMPI_Win_allocate_shared(bytes, unit, info, comm, memory, window);
}

// In the place of the C library's.
int fallocate(int file, int mode, off_t offset, off_t bytes) {
  come_to("fallocate");
  return static_cast<int>(syscall(SYS_fallocate, file, mode, offset, bytes));
}
int nanosleep(const timespec* time, timespec* left) {
  come_to("nanosleep");
  return clock_nanosleep(CLOCK_MONOTONIC, 0, time, left) == 0 ? 0 : -1;
}
}

int main(int argc, char** argv) {
  if (argc < 5) return EXIT_FAILURE;
  MPI_Init(&argc, &argv);
  const std::string form = argv[4];
  const bool by_ticket = form.starts_with("tickets");
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm ranks = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, form.ends_with("@home") ? -rank : rank, &ranks);
  papcoll::Options options;
  options.deadline = deadline;
  papcoll::Communicator comm{ranks, options};
  if (by_ticket) papcoll::barrier(comm, papcoll::algorithm("Dissemination+MpiTransport"));
  const int victim = size - 1;
  const std::string path = std::string{argv[1]} + "/" + std::to_string(rank);
  if (rank == victim) {
    last_step = argv[3];
    last_signal = std::string_view{argv[2]} == "stopped" ? SIGSTOP : SIGKILL;
  }
  int victims_pid = static_cast<int>(getpid());
  MPI_Bcast(&victims_pid, 1, MPI_INT, victim, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);

  alarm(patience);
  is_armed = true;
  has_no_more = form == "native";
  const papcoll::Algorithm algorithm = papcoll::algorithm(
      by_ticket ? "ArrivalOrder+Chain+RmaTransport" : "Rabenseifner+MpiTransport");
  const auto call = [&] {
    std::vector<int> data(100, 1);
    if (form == "request") {
      papcoll::iallreduce(comm, data, papcoll::sum, algorithm).wait();
    } else {
      papcoll::allreduce(comm, data, papcoll::sum, algorithm);
    }
  };
  const auto start = std::chrono::steady_clock::now();
  come_to("call");
  Outcome outcome = outcome_of(call);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  const Outcome again = outcome_of(call);
  is_armed = false;
  if (again.kind != "broken_communicator") outcome = {"wrong", "called again: " + again.kind};
  const std::string_view may_block = comm.nodes() > 1 ? " MPI_Win_allocate" : "";
  if (!may_block.starts_with(blocked_in)) outcome = {"wrong", "was in" + blocked_in};
  std::ofstream{path} << outcome.kind << "|" << static_cast<int>(took.count()) << "|"
                      << outcome.what << std::endl;
  if (rank == 0) {
    std::this_thread::sleep_for(deadline);  // the others have seen it stopped by then
    kill(victims_pid, SIGKILL);
  }
  _exit(EXIT_SUCCESS);
}
