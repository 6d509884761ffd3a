// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "candidates/problem.hpp"

#include <papcoll/transport/mpi/mpi.hpp>

#include <functional>
#include <string>

namespace bench {

/// The MPI library's own collective, ready to be called: non-contiguous elements as a derived
/// datatype, blocks that differ by the function for them. Throws std::invalid_argument where a
/// count does not fit the function's int.
std::function<void()> native_call(const Problem& problem, const Buffers& buffers, MPI_Comm comm);

/// The same of non-contiguous elements, copied into one piece before and back after the call.
std::function<void()> packed_native_call(const Problem& problem, const Buffers& buffers,
                                         MPI_Comm comm);

/// Of blocks that differ in length.
std::function<void()> irregular_native_call(const Problem& problem, const Buffers& buffers,
                                            MPI_Comm comm);

/// The name of the function native_call() calls.
std::string native_name(const Problem& problem);

/// Name and version of the MPI library in one short line.
std::string mpi_library();

}  // namespace bench
