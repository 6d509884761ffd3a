// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// How a collective runs is said by policies, in any order: when (arrival), who with whom
// (schedule), over what (transport), how exact (contract). What is left out is chosen for the call.
//
//     mpirun -n 4 ./02_choosing_policies                       a few algorithms
//     mpirun -n 4 ./02_choosing_policies KNomial:3 Ring        those you name

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/papcoll.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr std::size_t count = 1000;

std::vector<long> contribution(int rank) {
  std::vector<long> data(count);
  for (std::size_t i = 0; i < count; ++i) data[i] = static_cast<long>(i) * (rank + 1);
  return data;
}

bool is_sum(const std::vector<long>& data, int size) {
  const long factor = long{size} * (size + 1) / 2;
  long i = 0;
  return std::all_of(data.begin(), data.end(), [&](long x) { return x == factor * i++; });
}

// Policies as template arguments: checked by the compiler. A set that cannot work does not compile,
// and the message says why: allreduce<Ring, Binomial> has two schedules, allreduce<DynamicLeader,
// MpiTransport> would read its peers' memory over messages.
template <class... Policies> bool run(papcoll::Communicator& comm, const char* name) {
  std::vector<long> data = contribution(comm.rank());
  papcoll::allreduce<Policies...>(comm, data);
  const bool right = is_sum(data, comm.size());
  if (comm.rank() == 0) std::printf("  %-44s %s\n", name, right ? "right" : "WRONG");
  return right;
}

// The same at run time: a name is parsed once, and the handle is passed as the last argument. All
// ranks pass the same name.
bool run_by_name(papcoll::Communicator& comm, const std::string& name) {
  const papcoll::Algorithm algorithm = papcoll::algorithm(name);
  std::vector<long> data = contribution(comm.rank());
  papcoll::allreduce(comm, data, papcoll::sum, algorithm);
  const bool right = is_sum(data, comm.size());
  if (comm.rank() == 0) {
    const std::string runs{algorithm.name().empty() ? "chosen for each call" : algorithm.name()};
    std::printf("  %-44s %s, %s\n", name.c_str(), right ? "right" : "WRONG", runs.c_str());
  }
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  papcoll::Communicator comm{MPI_COMM_WORLD};
  bool right = true;

  using papcoll::DynamicLeader, papcoll::MpiTransport, papcoll::Rabenseifner;
  using papcoll::Reproducible, papcoll::Ring, papcoll::ShmTransport;
  if (comm.rank() == 0) std::printf("policies in the source:\n");
  right &= run<>(comm, "none: chosen for the call");
  right &= run<Ring>(comm, "a schedule: Ring");
  right &= run<MpiTransport>(comm, "a transport: MpiTransport");
  right &= run<MpiTransport, Rabenseifner>(comm, "both: Rabenseifner over MpiTransport");
  right &= run<Reproducible>(comm, "a contract: the same bits in every run");
  if (comm.nodes() == 1) {  // these need memory that all ranks share
    right &= run<DynamicLeader>(comm, "an arrival policy: who arrives first, leads");
    right &= run<ShmTransport, DynamicLeader, Reproducible>(comm, "three of them, in any order");
  }

  // The order of a name's parts is as free; the name that is printed has them in one order. A slip,
  // or an algorithm that does not serve allreduce, throws on every rank before anything is sent, so
  // all go on here.
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.empty()) names = {"Ring", "KNomial:8+MpiTransport", "MpiTransport+SegmentedRing:4096"};
  if (comm.rank() == 0) std::printf("policies by name:\n");
  try {
    for (const std::string& name : names) right &= run_by_name(comm, name);
  } catch (const papcoll::error& problem) {
    if (comm.rank() == 0) std::fprintf(stderr, "%s\n", problem.what());
    right = false;
  }

  try {
    static_cast<void>(papcoll::algorithm("Rabenseifer"));
    right = false;
  } catch (const papcoll::unknown_algorithm& problem) {
    if (comm.rank() == 0) std::printf("a slip: %s\n", problem.what());
  }

  MPI_Finalize();
  return right ? 0 : 1;
}
