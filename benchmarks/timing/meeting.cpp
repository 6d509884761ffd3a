// SPDX-License-Identifier: BSD-3-Clause
#include "timing/meeting.hpp"

#include "timing/together.hpp"

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/papcoll.hpp>

namespace bench {

struct Meeting::State {
  /// A communicator of our own: what a candidate does to the state of the other is not in ours.
  class Copy {
   public:
    explicit Copy(MPI_Comm comm) { MPI_Comm_dup(comm, &comm_); }
    ~Copy() { MPI_Comm_free(&comm_); }
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;

    MPI_Comm get() const { return comm_; }

   private:
    MPI_Comm comm_ = MPI_COMM_NULL;
  };

  explicit State(const Placement& placement)
      : copy(placement.comm()), comm(copy.get(), papcoll::Options{.arena_bytes = 0}) {
    // Across nodes all ranks wait over messages: a rank that has left a call of the MPI library may
    // still have something on its way, which moves when the library is asked.
    if (placement.nodes() == 1) return;
    barrier = papcoll::algorithm("Dissemination+MpiTransport");
    allreduce = papcoll::algorithm("RecursiveDoubling+MpiTransport");
  }

  Copy copy;
  papcoll::Communicator comm;
  papcoll::Algorithm barrier{};
  papcoll::Algorithm allreduce{};
};

Meeting::Meeting(const Placement& placement) {
  together(placement.comm(), [&] { state_ = std::make_unique<State>(placement); });
}

Meeting::~Meeting() = default;

void Meeting::wait() { papcoll::barrier(state_->comm, state_->barrier); }

std::int64_t Meeting::latest(std::int64_t instant) {
  return papcoll::allreduce(state_->comm, instant, papcoll::max, state_->allreduce);
}

}  // namespace bench
