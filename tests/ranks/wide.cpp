// SPDX-License-Identifier: BSD-3-Clause
// Messages of more bytes than an int counts. Runs only if PAPCOLL_TEST_HUGE is set.

#include <papcoll/allreduce.hpp>
#include <papcoll/bcast.hpp>
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/communicator.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

namespace {

constexpr int skipped = 77;
constexpr std::size_t bytes = (std::size_t{1} << 31U) + 4099;

std::size_t available_memory() {
  std::ifstream info{"/proc/meminfo"};
  std::string word;
  while (info >> word) {
    if (word != "MemAvailable:") continue;
    std::size_t kib = 0;
    info >> kib;
    return kib * 1024;
  }
  return 0;
}

/// Element i of the root's data.
std::uint8_t expected(std::size_t i) { return static_cast<std::uint8_t>(i * 7 + (i >> 20U)); }

bool bcast_is_right(papcoll::Communicator& comm, const char* algorithm) {
  std::vector<std::uint8_t> data(bytes);
  if (comm.rank() == 0) {
    for (std::size_t i = 0; i < bytes; ++i) data[i] = expected(i);
  }
  papcoll::bcast(comm, data, papcoll::root{0}, papcoll::algorithm(algorithm));
  for (std::size_t i = 0; i < bytes; ++i) {
    if (data[i] == expected(i)) continue;
    std::cerr << algorithm << ": byte " << i << " is wrong on rank " << comm.rank() << '\n';
    return false;
  }
  return true;
}

bool allreduce_is_right(papcoll::Communicator& comm, const char* algorithm) {
  std::vector<std::uint8_t> data(bytes, 1);
  data.back() = static_cast<std::uint8_t>(comm.rank());
  papcoll::allreduce(comm, data, papcoll::max, papcoll::algorithm(algorithm));
  const bool right = data.front() == 1 && data[bytes / 2] == 1 && data.back() == comm.size() - 1;
  if (!right) std::cerr << algorithm << ": wrong on rank " << comm.rank() << '\n';
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int why = 0;
  if (std::getenv("PAPCOLL_TEST_HUGE") == nullptr) {
    why = 1;
  } else if (available_memory() < 3 * bytes * static_cast<std::size_t>(ranks)) {
    why = 2;
  }
  MPI_Allreduce(MPI_IN_PLACE, &why, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  int result = EXIT_SUCCESS;
  if (why != 0) {
    if (rank == 0) {
      std::cout << "SKIPPED: "
                << (why == 1 ? "PAPCOLL_TEST_HUGE is not set\n" : "not enough memory\n");
    }
    result = skipped;
  } else {
    papcoll::Communicator comm{MPI_COMM_WORLD};
    for (const char* algorithm : {"Binomial+MpiTransport", "Binomial+ShmTransport"}) {
      if (!bcast_is_right(comm, algorithm)) result = EXIT_FAILURE;
    }
    for (const char* algorithm : {"MultiLeader", "Rabenseifner+MpiTransport"}) {
      if (!allreduce_is_right(comm, algorithm)) result = EXIT_FAILURE;
    }
  }
  MPI_Finalize();
  return result;
}
