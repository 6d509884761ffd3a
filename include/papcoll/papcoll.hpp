#pragma once

// Everything an MPI program needs to call collectives. On request there are also
// plans proved, simulated and drawn, and arrival patterns: the target papcoll::analysis.
#include <papcoll/communicator.hpp>
#include <papcoll/core.hpp>
