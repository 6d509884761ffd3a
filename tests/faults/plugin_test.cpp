// plugin_test PLUG-IN: a host that knows nothing of papcoll loads a plug-in that does, and unloads
// it before MPI_Comm_free and MPI_Finalize, which delete what papcoll attached to the communicator.

#include <dlfcn.h>
#include <mpi.h>

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
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  const char* const file = argc == 2 ? argv[1] : "";
  const int wrong = use(file, copy) + use(file, copy);  // papcoll's state waits for the second
  MPI_Comm_free(&copy);
  MPI_Finalize();
  return wrong;
}
