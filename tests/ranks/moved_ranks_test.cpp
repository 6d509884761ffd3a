// SPDX-License-Identifier: BSD-3-Clause
// Processors and memory that are not what ranks found when they first met.

#include <papcoll/allreduce.hpp>
#include <papcoll/automatic.hpp>
#include <papcoll/communicator.hpp>
#include <papcoll/options.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/topology/processor_set.hpp>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <string>

#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "catch.hpp"
#include "own_comm.hpp"

using papcoll::Communicator;
using papcoll::ProcessorSet;

namespace {

/// May the machine have 2048 processors, or one that nothing tells how many?
enum class Kernel { own, large, silent } kernel = Kernel::own;

}  // namespace

/// In the place of the C library's: the kernel refuses a mask that is shorter than its own.
extern "C" int sched_getaffinity(pid_t process, std::size_t bytes, cpu_set_t* set) noexcept {
  if (kernel == Kernel::silent || (kernel == Kernel::large && bytes < 2048 / 8)) {
    errno = kernel == Kernel::silent ? ENOSYS : EINVAL;
    return -1;
  }
  const long got = syscall(SYS_sched_getaffinity, process, bytes, set);
  if (got < 0) return -1;
  const auto told = static_cast<std::size_t>(got);
  std::memset(reinterpret_cast<char*>(set) + told, 0, bytes - told);
  return 0;
}

namespace {

/// Options that no communicator had before.
papcoll::Options others() {
  static std::chrono::nanoseconds deadline = std::chrono::minutes{1};
  papcoll::Options options;
  options.deadline = ++deadline;
  return options;
}

bool is_oversubscribed(Communicator& comm) { return comm.core().waiter().oversubscribed; }

/// All ranks are bound to one processor for as long as this lives, if that can be.
class OnOneProcessor {
 public:
  OnOneProcessor() {
    int first = before_.lowest();
    MPI_Bcast(&first, 1, MPI_INT, 0, MPI_COMM_WORLD);
    ProcessorSet one;
    one.add(first);
    const int mine = one.bind_this_thread() ? 1 : 0;
    int all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    is_ = all != 0;
  }
  OnOneProcessor(const OnOneProcessor&) = delete;
  OnOneProcessor& operator=(const OnOneProcessor&) = delete;
  ~OnOneProcessor() { static_cast<void>(before_.bind_this_thread()); }

  bool is() const { return is_; }

 private:
  ProcessorSet before_ = ProcessorSet::of_this_thread();
  bool is_ = false;
};

/// May each rank have a processor to itself, and all share memory?
bool have_processors() {
  const OwnComm own;
  Communicator comm{own.get(), others()};
  if (papcoll::detail::simulated || comm.size() < 2 || !comm.why_no_shared_memory().empty()) {
    return false;
  }
  if (!is_oversubscribed(comm)) return true;
  WARN("SKIPPED: more ranks than processors");
  return false;
}

/// Calls until the communicator has counted its processors anew; false: it has not.
bool turns(Communicator& comm, bool oversubscribed) {
  constexpr int many = 30'000;
  for (int call = 0; call < many; ++call) {
    const int here = is_oversubscribed(comm) ? 1 : 0;
    const int on_all = papcoll::allreduce(comm, here);
    CHECK(on_all == here * comm.size());  // all at once
    if ((on_all != 0) == oversubscribed) return true;
  }
  return false;
}

long resident_megabytes() {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stol(line.substr(6)) / 1024;
  }
  return -1;
}

}  // namespace

TEST_CASE("where there may be more than 1024 processors, ranks know theirs", "[processors]") {
  const OwnComm own;
  Communicator comm{own.get(), others()};
  const ProcessorSet before = ProcessorSet::of_this_thread();
  kernel = Kernel::large;
  const OwnComm own_too;
  Communicator large{own_too.get(), others()};
  CHECK(ProcessorSet::of_this_thread() == before);
  kernel = Kernel::own;
  CHECK(is_oversubscribed(large) == is_oversubscribed(comm));
  CHECK(large.core().environment().machine->places().front() ==
        comm.core().environment().machine->places().front());
}

TEST_CASE("where nothing tells how many processors there are, they are not none", "[processors]") {
  if (papcoll::detail::simulated) return;
  kernel = Kernel::silent;
  const OwnComm own;
  Communicator comm{own.get(), others()};
  kernel = Kernel::own;
  CHECK_FALSE(is_oversubscribed(comm));
  CHECK(papcoll::allreduce(comm, 1) == comm.size());
}

TEST_CASE("ranks that are bound elsewhere are counted anew by communicators to come",
          "[processors]") {
  if (!have_processors()) return;
  const papcoll::Options options = others();
  const OwnComm own;
  Communicator comm{own.get(), options};
  const auto again = [&](bool oversubscribed) {
    const OwnComm own_too;
    Communicator made{own_too.get(), options};
    CHECK(is_oversubscribed(made) == oversubscribed);
    CHECK(papcoll::allreduce(made, 1) == made.size());
    // What the ranks share is what they shared.
    CHECK(made.core().environment().node->arena == comm.core().environment().node->arena);
  };
  again(false);
  {
    const OnOneProcessor bound;
    if (!bound.is()) return;
    again(true);
    again(true);
    const OwnComm own_too;
    Communicator made{own_too.get(), others()};
    CHECK(is_oversubscribed(made));
  }
  again(false);
}

TEST_CASE("a communicator whose ranks are bound elsewhere counts its processors now and then",
          "[processors]") {
  if (!have_processors()) return;
  const OwnComm own;
  Communicator comm{own.get(), others()};
  {
    const OnOneProcessor bound;
    if (!bound.is()) return;
    // Ranks that change places too quickly to notice each other by the time of their yields.
    comm.core().waiter().times.given_away = std::chrono::hours{1};
    CHECK(turns(comm, true));
  }
  CHECK(turns(comm, false));
  CHECK_FALSE(comm.core().was_oversubscribed());
}

TEST_CASE("where a process locks its memory, a communicator takes what it uses", "[memory]") {
  if (papcoll::detail::simulated) return;
  const OwnComm own;
  if (mlockall(MCL_FUTURE) != 0) {
    WARN("SKIPPED: memory cannot be locked here");
    return;
  }
  const long before = resident_megabytes();
  {
    Communicator comm{own.get(), others()};
    CHECK(papcoll::allreduce(comm, 1) == comm.size());
    CHECK(resident_megabytes() - before < 200);
    MPI_Barrier(own.get());
  }
  munlockall();
}
