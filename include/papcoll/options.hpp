// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Options of a communicator.
#include <papcoll/topology/options.hpp>
