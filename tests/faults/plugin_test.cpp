// SPDX-License-Identifier: BSD-3-Clause
// plugin_test PLUG-IN PLUG-IN: a host that knows nothing of papcoll loads plug-ins that do, and
// unloads them before MPI_Comm_free and MPI_Finalize, which delete what papcoll attached to the
// communicators.

#include <dlfcn.h>
#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdio>

namespace {

/// 0: loaded, run, and unloaded.
int use(const char* file, MPI_Comm comm) {
  void* const plugin = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::printf("%s\n", dlerror());
    return 1;
  }
  const auto run = reinterpret_cast<int (*)(MPI_Comm*)>(dlsym(plugin, "run_plugin"));
  const int wrong = run == nullptr ? 1 : run(&comm);
  dlclose(plugin);
  dlclose(plugin);  // more often than it was opened, as some hosts do to be sure
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int wrong = argc == 3 ? 0 : 1;
  std::array<MPI_Comm, 2> copies{};
  for (std::size_t i = 0; i < copies.size() && wrong == 0; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &copies[i]);
    for (int time = 0; time < 2; ++time) wrong += use(argv[1 + i], copies[i]);
  }
  for (MPI_Comm& copy : copies) MPI_Comm_free(&copy);
  MPI_Finalize();
  return wrong;
}
