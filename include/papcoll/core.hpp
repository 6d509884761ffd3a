// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Everything that needs no MPI: the collectives, and threads as ranks to call them from.
#include <papcoll/collectives.hpp>
#include <papcoll/thread_team.hpp>
