// SPDX-License-Identifier: BSD-3-Clause
// What a file takes to compile that includes MPI and some of the standard library: the unit in
// which compile_time.sh gives times, so that they compare between machines.

#include <mpi.h>

#include <functional>
#include <map>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <vector>
