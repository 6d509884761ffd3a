// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "options.hpp"
#include "timing/placement.hpp"

namespace bench {

/// Measures what this machine's messages, combining and schedules cost with these ranks, fits the
/// parameters of cost models to it, and writes them to options.fit (benchmarks/README.md has the
/// format). Collective; throws usage_error.
void fit_models(const Options& options, const Placement& placement);

}  // namespace bench
