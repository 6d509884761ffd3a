// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "options.hpp"
#include "timing/placement.hpp"

namespace bench {

/// Times the candidates in simulated time, of which every call takes exactly as much as the one
/// before: no clocks to compare, no noise, no machine to measure. Collective.
void simulate(const Options& options, const Placement& placement);

}  // namespace bench
