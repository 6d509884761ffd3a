#pragma once

#include <papcoll/plan/endpoint.hpp>
#include <papcoll/plan/run.hpp>
#include <papcoll/transport/mpi/link.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/mpi_endpoint.hpp>
#include <papcoll/transport/smpi/posted_receives.hpp>
#include <papcoll/transport/smpi/simulated_time.hpp>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// The endpoint of static schedules over messages of simulated ranks: combining takes simulated
/// time, few receives are posted at once, and a rank waits inside MPI, where simulated time passes.
class SmpiEndpoint final : public BasicMpiEndpoint<detail::PostedReceives> {
  using Base = BasicMpiEndpoint<detail::PostedReceives>;

 public:
  explicit SmpiEndpoint(MpiLink& link) : Base(link) {}

  bool start(const TransportOp& work) override {
    const bool is_complete = Base::start(work);
    if (work.kind == OpKind::reduce) detail::charge_combining(work.bytes());
    return is_complete;
  }

  bool run_to_end(const PlanRun& plan_run) override {
    // While a rank combines it sees nothing: what is complete has to be seen before.
    const bool all = detail::simulated_gamma() > 0;
    while (!plan_run.done() && (all ? Base::ask(&MPI_Waitsome, "MPI_Waitsome")
                                    : Base::ask(&wait_for_one, "MPI_Waitany"))) {
    }
    return plan_run.done();
  }

 private:
  /// MPI_Waitsome that tells of one request. SimGrid 3.32's own tests all others, too, which takes
  /// simulated time for each, and leaves an entry for each message of 64 KB and more in a list of
  /// the rank's that is searched for every later message.
  static int wait_for_one(int count, MPI_Request* requests, int* complete, int* indices,
                          MPI_Status* statuses) {
    const int code = MPI_Waitany(count, requests, indices, statuses);
    *complete = *indices == MPI_UNDEFINED ? 0 : 1;
    if (code == MPI_SUCCESS || *complete == 0) return code;
    statuses->MPI_ERROR = code;
    return MPI_ERR_IN_STATUS;
  }
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
