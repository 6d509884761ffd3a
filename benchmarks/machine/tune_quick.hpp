// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "options.hpp"
#include "timing/placement.hpp"

namespace bench {

/// Calls each collective with each of the sizes until papcoll has settled on an algorithm, at most
/// for options.time_limit seconds each and options.learn_limit seconds in all, and adds what it has
/// learned to the selection file options.tune. Collective; throws usage_error.
void tune_quick(const Options& options, const Placement& placement);

}  // namespace bench
