#pragma once

#include "options.hpp"
#include "placement.hpp"

namespace bench {

/// Measures where one algorithm gives way to the next on this machine, with these ranks, and writes
/// the thresholds to the tuning file options.tune. Only those are in it that these ranks can show:
/// others keep their built-in values. Collective; throws usage_error.
void tune(const Options& options, const Placement& placement);

}  // namespace bench
