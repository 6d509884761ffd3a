// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "candidates/problem.hpp"

#include <papcoll/transport/mpi/mpi.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace bench {

/// The number as MPI's functions take it. `what` it counts is for the message of
/// std::invalid_argument, which is thrown if it is no int.
int to_int(std::size_t n, const char* what, const Problem& problem);
std::vector<int> to_ints(const std::vector<std::size_t>& numbers, const char* what,
                         const Problem& problem);

/// MPI's own type.
MPI_Datatype datatype(Type type);

/// How MPI's functions are told of a problem's elements: so many of a type, and an operator for it.
/// Non-contiguous elements are one of a derived type; MPI's own operators do not take such, and
/// then it is a user's.
struct NativeElements {
  int n = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;                   ///< null if nothing is combined
  std::shared_ptr<const void> owned_type{};  ///< freed with the last copy of this
  std::shared_ptr<const void> owned_op{};

  /// Throws what to_int() throws.
  explicit NativeElements(const Problem& problem);
};

}  // namespace bench
