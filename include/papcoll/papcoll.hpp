#pragma once

// Everything an MPI program needs to call collectives. Included on request: the verifier
// (<papcoll/analysis/...>) and the arrival patterns (<papcoll/pattern/...>).
#include <papcoll/communicator.hpp>
#include <papcoll/core.hpp>
