#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/nonblocking_collectives.hpp>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// What an error code of MPI says of peers.
enum class PeerFailure { none, died, revoked };

inline PeerFailure peer_failure_of(int code) noexcept {
  if (code == MPI_SUCCESS || failure_classes.failed < 0) return PeerFailure::none;
  int error_class = MPI_SUCCESS;
  if (MPI_Error_class(code, &error_class) != MPI_SUCCESS) return PeerFailure::none;
  if (error_class == failure_classes.revoked) return PeerFailure::revoked;
  const bool died = error_class == failure_classes.failed || error_class == failure_classes.pending;
  return died ? PeerFailure::died : PeerFailure::none;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
