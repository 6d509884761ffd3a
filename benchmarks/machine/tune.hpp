// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "options.hpp"
#include "timing/placement.hpp"

namespace bench {

/// Measures what messages between the first and the last rank cost, and combining, and writes it as
/// thresholds to the selection file options.tune: others keep their built-in values. Collective;
/// throws usage_error.
void tune(const Options& options, const Placement& placement);

}  // namespace bench
