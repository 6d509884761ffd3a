// SPDX-License-Identifier: BSD-3-Clause
// Times the calls of two builds of papcoll in turns, in one process: paired.py starts it.
//
//   main OLD.so NEW.so BLOCKS MILLISECONDS CALL BYTES…
//
// prints a line "BYTES OLD NEW RATIO" for each size: medians over the blocks of calls, in µs, and
// the median of the ratios NEW/OLD of neighbouring blocks. MILLISECONDS are those of a block.

#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

struct Build {
  const char* (*name)(int);
  double (*run)(int, std::size_t, int);
};

Build load(const char* file) {
  void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(1);
  }
  return {reinterpret_cast<const char* (*)(int)>(dlsym(library, "paired_name")),
          reinterpret_cast<double (*)(int, std::size_t, int)>(dlsym(library, "paired_run"))};
}

double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 7) {
    std::fprintf(stderr, "usage: %s OLD.so NEW.so BLOCKS MILLISECONDS CALL BYTES...\n", argv[0]);
    return 2;
  }
  const std::array builds{load(argv[1]), load(argv[2])};
  const int blocks = std::atoi(argv[3]);
  const double microseconds = 1000 * std::atof(argv[4]);
  int call = 0;
  while (builds[0].name(call) != nullptr && std::string_view(builds[0].name(call)) != argv[5])
    ++call;
  if (builds[0].name(call) == nullptr) {
    std::fprintf(stderr, "no call %s; there are:\n", argv[5]);
    for (int c = 0; builds[0].name(c) != nullptr; ++c)
      std::fprintf(stderr, "%s\n", builds[0].name(c));
    return 2;
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int a = 6; a < argc; ++a) {
    const std::size_t bytes = std::strtoull(argv[a], nullptr, 10);
    constexpr int first = 20;
    constexpr int most = 500;
    for (const Build& b : builds) b.run(call, bytes, first);
    const double one = builds[0].run(call, bytes, first);
    int calls = std::clamp(static_cast<int>(microseconds / one), 2, most);
    MPI_Bcast(&calls, 1, MPI_INT, 0, MPI_COMM_WORLD);
    std::array<std::vector<double>, 2> times;
    std::vector<double> ratios;
    for (int i = 0; i < blocks; ++i) {
      std::array<double, 2> now{};
      for (int j = 0; j < 2; ++j) {
        const auto which = static_cast<std::size_t>((i + j) % 2);
        MPI_Barrier(MPI_COMM_WORLD);
        now[which] = builds[which].run(call, bytes, calls);
        times[which].push_back(now[which]);
      }
      ratios.push_back(now[1] / now[0]);
    }
    if (rank == 0) {
      std::printf("%zu %.4f %.4f %.4f\n", bytes, median(times[0]), median(times[1]),
                  median(ratios));
      std::fflush(stdout);
    }
  }
  for (const Build& b : builds) b.run(call, 0, 0);
  MPI_Finalize();
}
