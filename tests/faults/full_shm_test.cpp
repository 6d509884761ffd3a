// /dev/shm is full when a transport first needs a part of its memory: an exception on all ranks,
// and not a SIGBUS. Run by full_shm.sh, which gives the job a /dev/shm of its own.

#include <papcoll/algorithm.hpp>
#include <papcoll/bcast.hpp>
#include <papcoll/communicator.hpp>
#include <papcoll/names/by_name.hpp>
#include <papcoll/registration.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace {

constexpr const char* filler = "/dev/shm/filler";

void fill() {
  const int file = open(filler, O_WRONLY | O_CREAT, 0600);
  const std::string page(4096, 'x');
  while (write(file, page.data(), page.size()) > 0) {
  }
  close(file);
}

/// Did the call throw? All ranks but one do nothing but wait.
bool fails(papcoll::Communicator& comm, const char* algorithm) {
  std::vector<int> data(1000, comm.rank());
  try {
    if (comm.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds{100});
    papcoll::bcast(comm, data, papcoll::root{0}, papcoll::algorithm(algorithm));
    std::printf("rank %d: no exception\n", comm.rank());
    return false;
  } catch (const papcoll::system_error& e) {
    return std::string_view{e.what()}.find("/dev/shm") != std::string_view::npos;
  } catch (const papcoll::error& e) {  // what the others throw
    return true;
  }
}

/// Does a registration say why there is no room, and leave the data where they were?
bool registration_fails(papcoll::Communicator& comm) {
  std::vector<int> data(500'000, comm.rank());
  try {
    const papcoll::Registration registration{comm, data};
    std::printf("rank %d: registered\n", comm.rank());
    return false;
  } catch (const papcoll::system_error& e) {
    const bool unchanged =
        std::all_of(data.begin(), data.end(), [&](int x) { return x == comm.rank(); });
    return unchanged && std::string_view{e.what()}.find("/dev/shm") != std::string_view::npos;
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool right = false;
  {
    papcoll::Communicator comm{MPI_COMM_WORLD};
    if (comm.rank() == 0) fill();
    MPI_Barrier(MPI_COMM_WORLD);
    right = comm.no_shared_memory().empty() && registration_fails(comm);
    right = fails(comm, "Linear+ShmTransport") && right;
    MPI_Barrier(MPI_COMM_WORLD);
    if (comm.rank() == 0) unlink(filler);
  }
  MPI_Finalize();
  return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
