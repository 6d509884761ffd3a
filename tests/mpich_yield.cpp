// SPDX-License-Identifier: BSD-3-Clause
// Preloaded by the tests into Hydra and the ranks of MPICH, where there are more ranks than cores.
//
// MPICH over UCX waits without yielding, so a blocking call waits for whole scheduler slices.
//
// Hydra gives each rank a session of its own, and where sched_autogroup_enabled is 1, each session
// is scheduled as one group. There a yield hands the processor to no other rank, and a `nice`
// program of another session gets as much of it as a rank. Hence process groups instead.

#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

using Progress = unsigned(void*);

namespace {

/// UCX's own. It is not among the following libraries if a program has opened MPI by dlopen.
Progress* of_ucx() {
  void* found = dlsym(RTLD_NEXT, "ucp_worker_progress");
  if (found == nullptr) {
    void* const ucx = dlopen("libucp.so.0", RTLD_NOLOAD | RTLD_LAZY);
    if (ucx != nullptr) found = dlsym(ucx, "ucp_worker_progress");
  }
  return reinterpret_cast<Progress*>(found);
}

}  // namespace

extern "C" unsigned ucp_worker_progress(void* worker) {
  static Progress* const progress = of_ucx();
  const unsigned events = progress(worker);
  if (events == 0) sched_yield();
  return events;
}

extern "C" pid_t setsid() {
  setpgid(0, 0);
  return getpid();
}
