// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The rank of a process that an MPI launcher has started, without a call to MPI.

#include <papcoll/base/config.hpp>

#include <cstdlib>
#include <optional>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// The rank according to mpirun of Open MPI, Intel MPI and MPICH, and srun with PMI or PMIx; empty
/// in a process that was started otherwise.
inline std::optional<std::string> launched_rank() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
