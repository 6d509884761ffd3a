// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/communicator.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>

/// An MPI communicator of a test's own, so that what it breaks is not another test's.
class OwnComm {
 public:
  /// A duplicate.
  explicit OwnComm(MPI_Comm original = MPI_COMM_WORLD) { MPI_Comm_dup(original, &comm_); }
  /// The ranks of the same colour.
  OwnComm(MPI_Comm original, int colour, int key) { MPI_Comm_split(original, colour, key, &comm_); }
  OwnComm(const OwnComm&) = delete;
  OwnComm& operator=(const OwnComm&) = delete;
  ~OwnComm() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }

  MPI_Comm get() const { return comm_; }
  int rank() const {
    int r = 0;
    MPI_Comm_rank(comm_, &r);
    return r;
  }
  int size() const {
    int n = 0;
    MPI_Comm_size(comm_, &n);
    return n;
  }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// By how much less tests that send thousands of small messages at once do among simulated ranks:
/// SimGrid looks at all that are under way for each that ends.
inline constexpr int simulated_less = papcoll::detail::simulated ? 10 : 1;

/// Can the algorithm run here? Not if it needs memory that ranks on several nodes do not share.
inline bool runs_on(const papcoll::Communicator& comm, const papcoll::Algorithm& algorithm) {
  const papcoll::AlgorithmSpec& s = algorithm.spec();
  return comm.nodes() == 1 || (s.arrival == nullptr && s.transport_name != "ShmTransport");
}
