// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gpu_paths_text.hpp"

#include "catch.hpp"

using papcoll::gpu::Path;

TEST_CASE("paths between GPUs as rows of a table", "[bench]") {
  CHECK(bench::path_row(0, 1, {Path::direct, 72e9, 72e9, 10e-6}) ==
        "GPU 0 to GPU 1                         10.00 µs      72.00\n");
  CHECK(bench::path_name(0, 3, {2, 72e9, 72e9, 10e-6}) == "GPU 0 to GPU 3 through 2");
  CHECK(bench::path_name(1, 1, {Path::host, 60e9, 53e9, 1e-6}) ==
        "GPU 1 to itself through the host");
  CHECK(bench::path_rates({Path::host, 60e9, 53e9, 1e-6}) == "60.00, 53.00");
  CHECK(bench::path_rates({Path::host, 60e9, 60.1e9, 1e-6}) == "60.00");
}
