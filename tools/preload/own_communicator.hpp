// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "never_destroyed.hpp"

#include <papcoll/transport/mpi/mpi.hpp>

#include <mutex>

namespace preload {

/// A communicator of this rank alone, on which errors are returned: MPI_Pack needs one, and what
/// MPI refuses can be tried on it. Made when it is first needed, freed when MPI_Finalize is called.
class OwnCommunicator {
 public:
  MPI_Comm get() {
    const std::lock_guard lock(mutex_);
    if (!made_) {
      made_ = MPI_Comm_dup(MPI_COMM_SELF, &comm_) == MPI_SUCCESS;
      if (made_) MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    }
    return made_ ? comm_ : MPI_COMM_SELF;
  }
  void free() {
    const std::lock_guard lock(mutex_);
    if (made_) MPI_Comm_free(&comm_);
    made_ = false;
  }

 private:
  std::mutex mutex_;
  bool made_ = false;
  MPI_Comm comm_{};
};
inline constinit NeverDestroyed<OwnCommunicator> only_own_communicator{};
inline OwnCommunicator& own_communicator() noexcept { return only_own_communicator.value; }

}  // namespace preload
