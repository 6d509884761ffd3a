// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What the MPI library refuses beyond what every one does. A call that MPI would refuse on this
// rank is left to it, so that it says so in its way; one that it would not refuse must not be,
// since the other ranks' calls are papcoll's. So a call of each kind is tried, on this rank alone.

#include "call_outcomes.hpp"
#include "own_communicator.hpp"

#include <papcoll/transport/mpi/mpi.hpp>

#include <array>

namespace preload {

struct Refusals {
  /// One buffer as input and output, by function. Allgather, gather and scatter: a block at its own
  /// place in the other buffer.
  std::array<bool, function_names.size()> one_buffer{};
  bool null_buffer = false;        ///< of elements of a predefined type
  bool no_type_of_nothing = true;  ///< MPI_DATATYPE_NULL with a count of 0

  /// In MPI_Init.
  void find() {
    const MPI_Comm alone = own_communicator().get();
    int x[2] = {};
    const int one = 1;
    refused(Function::allreduce) = MPI_Allreduce(x, x, 1, MPI_INT, MPI_SUM, alone) != MPI_SUCCESS;
    refused(Function::reduce) = MPI_Reduce(x, x, 1, MPI_INT, MPI_SUM, 0, alone) != MPI_SUCCESS;
    refused(Function::allgather) =
        MPI_Allgather(x, 1, MPI_INT, x, 1, MPI_INT, alone) != MPI_SUCCESS;
    refused(Function::gather) = MPI_Gather(x, 1, MPI_INT, x, 1, MPI_INT, 0, alone) != MPI_SUCCESS;
    refused(Function::scatter) = MPI_Scatter(x, 1, MPI_INT, x, 1, MPI_INT, 0, alone) != MPI_SUCCESS;
    refused(Function::reduce_scatter) =
        MPI_Reduce_scatter(x, x, &one, MPI_INT, MPI_SUM, alone) != MPI_SUCCESS;
    refused(Function::reduce_scatter_block) =
        MPI_Reduce_scatter_block(x, x, 1, MPI_INT, MPI_SUM, alone) != MPI_SUCCESS;
    null_buffer = MPI_Bcast(nullptr, 1, MPI_INT, 0, alone) != MPI_SUCCESS;
    no_type_of_nothing = MPI_Bcast(x, 0, MPI_DATATYPE_NULL, 0, alone) != MPI_SUCCESS;
  }

  bool of_one_buffer(Function f) const noexcept { return one_buffer[static_cast<std::size_t>(f)]; }

 private:
  bool& refused(Function f) { return one_buffer[static_cast<std::size_t>(f)]; }
};

}  // namespace preload
