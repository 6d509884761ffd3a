// SPDX-License-Identifier: BSD-3-Clause
// /dev/shm is full when a transport, or an algorithm's chunk buffers, first need a part of its
// memory: an exception on all ranks, and not a SIGBUS. Run by full_shm.sh, which gives the job a
// /dev/shm of its own.

#include "outcome.hpp"

#include <papcoll/allreduce.hpp>
#include <papcoll/automatic.hpp>
#include <papcoll/bcast.hpp>
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/communicator.hpp>
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

/// Takes all of /dev/shm but `spare` bytes.
void fill(off_t spare = 0) {
  const int file = open(filler, O_WRONLY | O_CREAT, 0600);
  const std::string page(4096, 'x');
  off_t bytes = 0;
  for (ssize_t n = 0; (n = write(file, page.data(), page.size())) > 0;) bytes += n;
  if (ftruncate(file, std::max(off_t{0}, bytes - spare)) != 0) std::perror("ftruncate");
  close(file);
}

/// An MPI communicator of its own.
class Duplicate {
 public:
  Duplicate() { MPI_Comm_dup(MPI_COMM_WORLD, &comm_); }
  Duplicate(const Duplicate&) = delete;
  Duplicate& operator=(const Duplicate&) = delete;
  ~Duplicate() { MPI_Comm_free(&comm_); }
  MPI_Comm get() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

bool on_any_rank(bool here) {
  MPI_Allreduce(MPI_IN_PLACE, &here, 1, MPI_CXX_BOOL, MPI_LOR, MPI_COMM_WORLD);
  return here;
}

bool complain(int rank, const char* algorithm, const char* what, const Outcome& o = {}) {
  std::printf("rank %d, %s: %s: %s: %s\n", rank, algorithm, what, o.kind.c_str(), o.what.c_str());
  return false;
}

bool says_why(const Outcome& o) { return o.kind == "other" && o.says("/dev/shm"); }

/// A communicator is made, then /dev/shm becomes full but for `spare` bytes, too few for the chunk
/// buffers of all ranks, or for tickets: what needs none goes on, and the first call that needs
/// them throws on all ranks; so do all later ones, at once. `groups`: see Options.
bool lazy_buffers_fail(const char* algorithm, off_t spare, const papcoll::GroupColours& groups) {
  const Duplicate world;
  papcoll::Options options;
  options.deadline = std::chrono::seconds{20};
  options.peer_access = papcoll::PeerAccess::staged;
  options.copy_method = papcoll::CopyMethod::plain;
  options.groups = groups;
  if (!groups.empty()) options.chunk_bytes = 16384;  // there are more control blocks
  papcoll::Communicator comm{world.get(), options};
  const int me = comm.rank();
  if (!comm.why_no_shared_memory().empty()) return complain(me, algorithm, "no shared memory");
  if (me == 0) fill(spare);
  MPI_Barrier(MPI_COMM_WORLD);
  const auto add = [&](std::size_t n, const char* name) {
    std::vector<int> data(n, me);
    return outcome_of([&] {
      papcoll::allreduce(comm, data, papcoll::sum, papcoll::algorithm(name));
      if (data.back() != comm.size() * (comm.size() - 1) / 2) throw papcoll::error("a wrong sum");
    });
  };
  bool right = true;
  for (int i = 0; i < 10; ++i) {
    const Outcome small = add(1, i % 2 == 0 ? "DynamicLeader" : "Exchange");
    if (!small.is_fine()) right = complain(me, algorithm, "8 bytes", small);
  }
  // Some wait asleep for what does not come.
  if (me == 0) std::this_thread::sleep_for(std::chrono::milliseconds{20});
  const Outcome first = add(1'000'000, algorithm);
  const bool is_told =
      says_why(first) || (first.kind == "peer_error" && first.says("its exception says why"));
  if (!is_told) right = complain(me, algorithm, "4 MB", first);
  const Outcome next = add(1, "DynamicLeader");
  if (next.kind != "broken_communicator") right = complain(me, algorithm, "the next call", next);
  if (!on_any_rank(says_why(first))) right = complain(me, algorithm, "nobody says why", first);
  if (me == 0) unlink(filler);
  MPI_Barrier(MPI_COMM_WORLD);
  return right;
}

/// What lacks room from the beginning is not begun: calls go by messages, and it is said why.
bool making_refuses() {
  const Duplicate world;
  // Room for all words, and not for all chunk buffers.
  if (int rank = 0; MPI_Comm_rank(world.get(), &rank) == 0 && rank == 0) fill(2 << 20);
  MPI_Barrier(MPI_COMM_WORLD);
  bool right = true;
  {
    papcoll::Communicator comm{world.get()};
    const int me = comm.rank();
    const std::string why = comm.why_no_shared_memory();
    if (why.find("/dev/shm") == std::string::npos) {
      right = complain(me, "making", "no reason", {"", why});
    }
    std::vector<int> data(100'000, me);
    const Outcome o = outcome_of([&] { papcoll::allreduce(comm, data); });
    if (!o.is_fine() || data.back() != comm.size() * (comm.size() - 1) / 2) {
      right = complain(me, "making", "by messages", o);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (on_any_rank(!right)) right = false;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) unlink(filler);
  MPI_Barrier(MPI_COMM_WORLD);
  return right;
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
    right = comm.why_no_shared_memory().empty() && registration_fails(comm);
    right = fails(comm, "Linear+ShmTransport") && right;
    MPI_Barrier(MPI_COMM_WORLD);
    if (comm.rank() == 0) unlink(filler);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  right = making_refuses() && right;
  for (const char* algorithm :
       {"Exchange", "DynamicLeader", "StaticLeader", "MultiLeader", "PeerSlices", "Accumulator",
        "SplitTail", "CombiningTree", "ArrivalOrder+Chain"}) {
    for (const off_t spare : {0, 1'500'000})
      right = lazy_buffers_fail(algorithm, spare, {}) && right;
  }
  const char* const divided = "Hierarchical:DynamicLeader+ShmTransport,Binomial";
  right = lazy_buffers_fail(divided, 0, {{0, 0, 1}}) && right;
  right = lazy_buffers_fail("ArrivalOrder+Chain+RmaTransport", 0, {}) && right;
  MPI_Finalize();
  return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
