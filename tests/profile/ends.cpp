// SPDX-License-Identifier: BSD-3-Clause
// Ends in a way of its own: kill, abort, exit, quick, skip, fork, many, nothing, no_mpi, session,
// signal (when SIGUSR1 comes), control (with MPI_Pcontrol, and by the MPI library's own
// MPI_Finalize) or direct_init (after its own MPI_Init).

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

volatile std::sig_atomic_t told = 0;

const char* effect_of(int signal) {
  struct sigaction action {};
  sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_DFL ? "default" : "other";
}

/// A function of the MPI library, whatever is preloaded.
void* own_function(const char* name) {
  for (const char* library : {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12"}) {
    void* const handle = dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
    if (handle != nullptr) return dlsym(handle, name);
  }
  return nullptr;
}

void wait_for_signal() {
  for (int i = 0; i < 1000 && told == 0; ++i) usleep(10000);
  std::printf("told %d, INT %s, QUIT %s\n", static_cast<int>(told), effect_of(SIGINT),
              effect_of(SIGQUIT));
}

void allreduces(int n) {
  for (int i = 0; i < n; ++i) {
    int x = 1;
    int y = 0;
    MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
}

// What rank 1 goes without.
void skipped() {
  int x = 1;
  int y = 0;
  MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "nothing";
  if (how == "no_mpi") return 0;
#if MPI_VERSION >= 4
  if (how == "session") {
    MPI_Session session;
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS) {
      MPI_Session_finalize(&session);
    }
    return 0;
  }
#endif
  if (how == "signal") std::signal(SIGUSR1, [](int signal) { told = signal; });
  if (how == "direct_init") {
    reinterpret_cast<decltype(&MPI_Init)>(own_function("MPI_Init"))(&argc, &argv);
  } else {
    MPI_Init(&argc, &argv);
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (how == "nothing") {
    MPI_Finalize();
    return 0;
  }
  if (how == "many") {
    constexpr int ten_million = 10000000;
    for (int i = 0; i < ten_million; ++i) MPI_Barrier(MPI_COMM_SELF);
    MPI_Finalize();
    return 0;
  }
  allreduces(20);
  if (how == "kill" && rank == 1) raise(SIGKILL);
  if (how == "abort" && rank == 1) MPI_Abort(MPI_COMM_WORLD, 7);
  if (how == "exit" && rank == 1) std::_Exit(0);
  if (how == "quick" && rank == 1) std::exit(0);
  if (how == "skip" && rank != 1) skipped();
  if (how == "signal") wait_for_signal();
  if (how == "control") {
    MPI_Pcontrol(0);
    allreduces(7);
    MPI_Pcontrol(2);
    if (rank != 1) MPI_Pcontrol(1);
    allreduces(3);
    MPI_Pcontrol(1);
  }
  if (how == "fork") {
    const pid_t child = fork();
    if (child == 0) std::exit(0);
    waitpid(child, nullptr, 0);
  }
  allreduces(5);
  if (how == "control") {
    reinterpret_cast<decltype(&MPI_Finalize)>(own_function("MPI_Finalize"))();
  } else {
    MPI_Finalize();
  }
  return 0;
}
