// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "timing/progress.hpp"

// The GPUs' part of papcoll-bench --measure links
namespace bench {

/// Measures and prints the paths between each two GPUs that this process sees, and of each GPU with
/// itself; where there is none to measure, a line says why.
void measure_gpu_links(const Progress& progress);

}  // namespace bench
