// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/simulate/smpi/posted_receives.hpp>
#include <papcoll/simulate/smpi/simulated_time.hpp>
#include <papcoll/transport/mpi/mpi_endpoint.hpp>

#include <span>

namespace papcoll::inline PAPCOLL_ABI {

/// MpiEndpoint for ranks that SMPI simulates: it charges time for combining, posts few receives at
/// a time, and waits inside MPI, where a simulated rank has to wait.
class SmpiEndpoint final : public MpiEndpoint {
 public:
  using MpiEndpoint::MpiEndpoint;

  bool start(const TransportOp& work) override {
    if (work.kind == OpKind::reduce) detail::charge_combining(work.bytes());
    if (work.kind == OpKind::receive && !posted_.admit(work)) return false;
    return MpiEndpoint::start(work);
  }

  bool run_to_end(const PlanRun& plan_run) override {
    // While a rank combines it sees nothing: what is complete has to be seen before.
    const bool all = detail::simulated_gamma() > 0;
    while (!plan_run.done() &&
           (all ? ask(&MPI_Waitsome, "MPI_Waitsome") : ask(&wait_for_one, "MPI_Waitany"))) {
    }
    return plan_run.done();
  }

  void abandon() noexcept override {
    MpiEndpoint::abandon();
    posted_.forget();
  }

 private:
  void received(std::span<const TransportOp> receives) override {
    for (const TransportOp& w : receives) {
      posted_.complete(w, [this](const TransportOp& next) { post(next); });
    }
  }

  /// An MPI_Waitsome that reports one request. SimGrid 3.32's own tests all others, too, which
  /// takes simulated time for each, and leaves an entry for each message of 64 KB and more in a
  /// list of the rank's that is searched for every later message.
  static int wait_for_one(int count, MPI_Request* requests, int* complete, int* indices,
                          MPI_Status* statuses) {
    const int code = MPI_Waitany(count, requests, indices, statuses);
    *complete = *indices == MPI_UNDEFINED ? 0 : 1;
    if (code == MPI_SUCCESS || *complete == 0) return code;
    statuses->MPI_ERROR = code;
    return MPI_ERR_IN_STATUS;
  }

  detail::PostedReceives posted_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
