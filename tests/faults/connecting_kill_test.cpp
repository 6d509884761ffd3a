// A rank is killed or stopped while the first call over MpiTransport makes papcoll's own MPI
// communicator; the others must say so within the deadline.
//
//   connecting_kill_test RESULTS HOW STEP FORM  (run by connecting_kill.sh)
//
// HOW is `killed` or `stopped`, STEP the function of MPI that the last rank never enters, and FORM
// of the call `blocking` or `request`. Each survivor writes `kind|milliseconds|text` to
// RESULTS/<rank>.

#include "outcome.hpp"

#include <papcoll/algorithm.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/automatic.hpp>
#include <papcoll/communicator.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <unistd.h>

namespace {

constexpr unsigned patience = 8;  ///< seconds until a rank that hangs ends itself
constexpr std::chrono::milliseconds deadline{1000};

std::string_view last_step;  ///< that this rank never takes; empty: none
int last_signal = SIGKILL;

void come_to(std::string_view step) {
  if (step == last_step) kill(getpid(), last_signal);
}

}  // namespace

// MPI's profiling interface: this program's calls come here.
extern "C" {
int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* copy, MPI_Request* request) {
  come_to("MPI_Comm_idup");
  return PMPI_Comm_idup(comm, copy, request);
}
int MPI_Iallreduce(const void* in, void* out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  come_to("MPI_Iallreduce");
  return PMPI_Iallreduce(in, out, n, type, op, comm, request);
}
int MPI_Ibcast(void* data, int n, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request* request) {
  come_to("MPI_Ibcast");
  return PMPI_Ibcast(data, n, type, root, comm, request);
}
}

int main(int argc, char** argv) {
  if (argc < 5) return EXIT_FAILURE;
  MPI_Init(&argc, &argv);
  papcoll::Options options;
  options.deadline = deadline;
  papcoll::Communicator comm{MPI_COMM_WORLD, options};
  const int victim = comm.size() - 1;
  const std::string path = std::string{argv[1]} + "/" + std::to_string(comm.rank());
  if (comm.rank() == victim) {
    last_step = argv[3];
    last_signal = std::string_view{argv[2]} == "stopped" ? SIGSTOP : SIGKILL;
  }
  int victims_pid = static_cast<int>(getpid());
  MPI_Bcast(&victims_pid, 1, MPI_INT, victim, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);

  alarm(patience);
  const papcoll::Algorithm algorithm = papcoll::algorithm("Rabenseifner+MpiTransport");
  const auto call = [&] {
    std::vector<int> data(100, 1);
    if (std::string_view{argv[4]} == "blocking") {
      papcoll::allreduce(comm, data, papcoll::sum, algorithm);
    } else {
      papcoll::iallreduce(comm, data, papcoll::sum, algorithm).wait();
    }
  };
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome = outcome_of(call);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  const Outcome again = outcome_of(call);
  if (again.kind != "broken_communicator") outcome = {"wrong", "called again: " + again.kind};
  std::ofstream{path} << outcome.kind << "|" << static_cast<int>(took.count()) << "|"
                      << outcome.what << std::endl;
  if (comm.rank() == 0) {
    std::this_thread::sleep_for(deadline);  // the others have seen it stopped by then
    kill(victims_pid, SIGKILL);
  }
  _exit(EXIT_SUCCESS);
}
