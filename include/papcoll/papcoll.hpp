// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Everything an MPI program needs to call collectives.
#include <papcoll/collectives.hpp>
#include <papcoll/communicator.hpp>
#include <papcoll/mpi_version.hpp>
#include <papcoll/version.hpp>
