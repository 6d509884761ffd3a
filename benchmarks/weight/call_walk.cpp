// SPDX-License-Identifier: BSD-3-Clause
// Counts the functions of papcoll that a warm call enters before it moves the first byte of its
// buffers: before the first memmove of 512 bytes or more, the first read of another process's
// memory, or the first MPI_Isend. The least of many calls, since a rank that waits enters more.
// Compiled by call_walk.sh; arguments: walk [names].

#include <papcoll/papcoll.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <cxxabi.h>
#include <dlfcn.h>
#include <mpi.h>
#include <sys/uio.h>

namespace {

constexpr std::size_t most_entered = 4096;
void* entered[most_entered];
std::size_t entries = 0;
bool is_counting = false;

[[gnu::no_instrument_function]] std::string name_of(void* function) {
  Dl_info about{};
  if (dladdr(function, &about) == 0 || about.dli_sname == nullptr) return "?";
  int status = 0;
  char* const plain = abi::__cxa_demangle(about.dli_sname, nullptr, nullptr, &status);
  const std::string name = status == 0 ? plain : about.dli_sname;
  std::free(plain);
  return name;
}

/// The functions that the shortest of many calls enters.
template <class Call> [[gnu::no_instrument_function]] std::vector<void*> shortest(Call&& call) {
  std::vector<void*> best(most_entered);
  for (int i = 0; i < 1000; ++i) {
    entries = 0;
    is_counting = i >= 100;
    call();
    is_counting = false;
    if (entries != 0 && entries < best.size()) best.assign(entered, entered + entries);
  }
  return best;
}

}  // namespace

extern "C" {
[[gnu::no_instrument_function]] void __cyg_profile_func_enter(void* function, void*) {
  if (is_counting && entries < most_entered) entered[entries++] = function;
}
[[gnu::no_instrument_function]] void __cyg_profile_func_exit(void*, void*) {}

void* __real_memmove(void* to, const void* from, std::size_t bytes);
[[gnu::no_instrument_function]] void* __wrap_memmove(void* to, const void* from,
                                                     std::size_t bytes) {
  if (bytes >= 512) is_counting = false;
  return __real_memmove(to, from, bytes);
}
void* __real_memcpy(void* to, const void* from, std::size_t bytes);
[[gnu::no_instrument_function]] void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {
  if (bytes >= 512) is_counting = false;
  return __real_memcpy(to, from, bytes);
}
ssize_t __real_process_vm_readv(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                                unsigned long);
[[gnu::no_instrument_function]] ssize_t __wrap_process_vm_readv(pid_t process, const iovec* to,
                                                                unsigned long parts,
                                                                const iovec* from,
                                                                unsigned long parts_there,
                                                                unsigned long flags) {
  is_counting = false;
  return __real_process_vm_readv(process, to, parts, from, parts_there, flags);
}
[[gnu::no_instrument_function]] int MPI_Isend(const void* data, int count, MPI_Datatype type,
                                              int to, int tag, MPI_Comm comm,
                                              MPI_Request* request) {
  is_counting = false;
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string walk = argc > 1 ? argv[1] : "";
  std::vector<void*> found;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  {
    papcoll::Options options;
    options.copy_method = papcoll::CopyMethod::plain;  // memmove
    papcoll::Communicator comm{MPI_COMM_WORLD, options};
    std::vector<double> data(8192);
    if (walk == "automatic") {
      found = shortest([&] { papcoll::allreduce(comm, data); });
    } else if (walk == "by_name") {
      found =
          shortest([&] { papcoll::allreduce<papcoll::Ring, papcoll::MpiTransport>(comm, data); });
    } else {
      auto prepared = papcoll::allreduce_init(comm, data);
      found = shortest([&] { prepared(); });
    }
  }
  if (rank == 0) {
    std::printf("%zu\n", found.size());
    if (argc > 2) {
      for (void* const f : found) std::printf("  %s\n", name_of(f).c_str());
    }
  }
  MPI_Finalize();
}
