// What an allreduce of 8 bytes takes, in ns: the median of 400 blocks of 1,000 calls. Compiled with
// and without PAPCOLL_COMPILED, by two compilers, or with -O0, it shows what each way of compiling
// costs a call; benchmarks/RESULTS.md has the commands.

#include <papcoll/papcoll.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    papcoll::Communicator comm{MPI_COMM_WORLD};
    std::vector<double> data(1);
    const auto block = [&](int calls) {
      for (int i = 0; i < calls; ++i) {
        data[0] = 1;
        papcoll::allreduce(comm, data);
      }
    };
    block(20000);  // what it chooses is settled then
    std::vector<double> times;
    for (int b = 0; b < 400; ++b) {
      papcoll::barrier(comm);
      const auto begin = std::chrono::steady_clock::now();
      block(1000);
      const std::chrono::duration<double, std::nano> took =
          std::chrono::steady_clock::now() - begin;
      times.push_back(took.count() / 1000);
    }
    std::sort(times.begin(), times.end());
    if (comm.rank() == 0) std::printf("%.1f\n", times[times.size() / 2]);
  }
  MPI_Finalize();
}
