// SPDX-License-Identifier: BSD-3-Clause
#include "machine/gpu_links.hpp"

#include <fmt/format.h>

#ifdef PAPCOLL_BENCH_WITH_CUDA

#include "gpu/gpu_paths_text.hpp"

#include <papcoll/base/error.hpp>
#include <papcoll/gpu/cuda_runtime.hpp>
#include <papcoll/gpu/measure_paths.hpp>

#include <chrono>
#include <vector>

namespace bench {
namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

void measure_gpu_links(const Progress& progress) {
  using namespace papcoll::gpu;
  try {
    CudaRuntime gpus;
    const int n = gpus.devices();
    for (int from = 0; from < n; ++from) {
      for (int to = 0; to < n; ++to) {
        progress.show("GPU {} of {}", from + 1, n);
        const std::vector<Path> paths = measure_paths(gpus, from, to, steady_seconds);
        progress.clear();
        for (const Path& path : paths) fmt::print("{}", path_row(from, to, path));
      }
    }
  } catch (const device_error& e) {
    progress.clear();
    fmt::print("GPUs: {}\n", papcoll::detail::bare(e.what()));
  }
}

}  // namespace bench

#else

namespace bench {

void measure_gpu_links(const Progress& /*progress*/) {
  fmt::print("GPUs: not measured, since papcoll-bench was built without CUDA\n");
}

}  // namespace bench

#endif
