#pragma once

// Options of a communicator.
#include <papcoll/topology/options.hpp>
