#pragma once

#include "problem.hpp"

#include <papcoll/transport/mpi/mpi.hpp>

#include <functional>
#include <string>

namespace bench {

/// The MPI library's own collective, ready to be called. Throws std::invalid_argument where the
/// count does not fit the function's int.
std::function<void()> native_call(const Problem& problem, const Buffers& buffers, MPI_Comm comm);

/// The name of the function native_call() calls.
std::string native_name(Collective collective);

/// Name and version of the MPI library in one short line.
std::string mpi_library();

}  // namespace bench
