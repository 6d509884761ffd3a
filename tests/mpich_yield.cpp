// Preloaded under MPICH by the tests. MPICH over UCX spins without ever yielding: with more ranks
// than cores every blocking call waits for whole scheduler slices. 1000 barriers of 8 ranks on
// 2 cores took 35 s, with this 0.3 s.

#include <dlfcn.h>
#include <sched.h>

extern "C" unsigned ucp_worker_progress(void* worker) {
  using Progress = unsigned(void*);
  static auto* const progress =
      reinterpret_cast<Progress*>(dlsym(RTLD_NEXT, "ucp_worker_progress"));
  const unsigned events = progress(worker);
  if (events == 0) sched_yield();
  return events;
}
