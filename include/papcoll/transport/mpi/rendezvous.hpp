#pragma once

#include <papcoll/config.hpp>
#include <papcoll/transport/mpi/check.hpp>
#include <papcoll/transport/mpi/handles.hpp>
#include <papcoll/transport/mpi/mpi.hpp>

namespace papcoll {
inline namespace PAPCOLL_ABI {

namespace detail {

/// A point that all ranks of a communicator come to, for use before anything that blocks inside
/// MPI: a rank that comes early can go on with what late ranks still need of it, such as its part
/// in other communicators' requests. Making it is collective in MPI's sense, and does not wait.
class MpiRendezvous {
 public:
  explicit MpiRendezvous(MPI_Comm comm) : comm_(comm) {
    const ErrorsReturned guard{comm_, where};
    check(MPI_Ibarrier(comm_, &request_), "MPI_Ibarrier", where);
  }
  MpiRendezvous(const MpiRendezvous&) = delete;
  MpiRendezvous& operator=(const MpiRendezvous&) = delete;
  ~MpiRendezvous() = default;  // a request that nobody waits for any more is MPI's

  /// Have all come?
  bool complete() {
    const ErrorsReturned guard{comm_, where};
    int done = 0;
    check(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test", where);
    return done != 0;
  }

 private:
  static constexpr const char* where = "meeting the other ranks of a communicator";

  MPI_Comm comm_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace detail

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
