// SPDX-License-Identifier: BSD-3-Clause
// Ranks work on each other's buffers when a call fails: an exception gives the user his buffers
// back, so nobody may be at work on them any more.

#include <papcoll/node/control_block.hpp>
#include <papcoll/papcoll.hpp>
#include <papcoll/shared_vector.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include <sched.h>

#include "catch.hpp"
#include "outcome.hpp"
#include "own_comm.hpp"

using papcoll::Communicator;
using papcoll::shared_allocator;
using papcoll::shared_vector;

namespace {

constexpr std::size_t count = 20'000;
constexpr int told_to_others = 7;  ///< tag: the receiver's peer has thrown

/// A sum in the midst of which a rank finds that it cannot go on, and takes its time.
struct FailingSum {
  static constexpr bool commutative = true;
  static inline papcoll::TeamCore* fails = nullptr;  ///< none: an ordinary sum

  std::int64_t operator()(std::int64_t a, std::int64_t b) const noexcept {
    if (fails != nullptr) {
      fails->abort_node(papcoll::NodeControlBlock::Abort::gave_up +
                        static_cast<unsigned>(fails->rank()));
      fails = nullptr;
      // Long enough for rank 0 to throw, if it does not wait for this rank.
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds{500};
      for (int here = 0; here == 0 && std::chrono::steady_clock::now() < end; sched_yield()) {
        MPI_Iprobe(0, told_to_others, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE);
      }
    }
    return a + b;
  }
};

}  // namespace

TEST_CASE("nobody writes to the output of a rank that has thrown", "[peers]") {
  const OwnComm own;
  Communicator comm{own.get()};
  if (comm.size() < 2 || !comm.why_no_shared_memory().empty()) {
    WARN("SKIPPED: needs two ranks of one node");
    return;
  }
  const int me = comm.rank();
  const int last = comm.size() - 1;
  const shared_allocator<std::int64_t> arena{comm};
  const shared_vector<std::int64_t> in(count, 1, arena);
  shared_vector<std::int64_t> out(count, 0, arena);
  papcoll::barrier(comm);
  if (me == last) FailingSum::fails = &comm.core();
  const Outcome mine =
      outcome_of([&] { papcoll::allreduce<papcoll::PeerSlices>(comm, in, out, FailingSum{}); });
  if (me == 0) {
    out.assign(count, -7);
    MPI_Send(nullptr, 0, MPI_INT, last, told_to_others, MPI_COMM_WORLD);
  } else if (me == last) {
    MPI_Recv(nullptr, 0, MPI_INT, 0, told_to_others, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  CAPTURE(mine);
  CHECK(mine.kind == "peer_error");
  MPI_Barrier(own.get());  // all have thrown
  if (me == 0) CHECK(std::count(out.begin(), out.end(), -7) == static_cast<long>(count));
}

TEST_CASE("a message that nobody took breaks the communicator before another call can take it",
          "[peers]") {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const OwnComm own{MPI_COMM_WORLD, rank / 2, rank};
  papcoll::Options options;
  options.deadline = std::chrono::seconds{20};
  Communicator comm{own.get(), options};
  if (comm.size() < 2 || !comm.why_no_shared_memory().empty()) {
    WARN("SKIPPED: needs two ranks of one node");
    return;
  }
  const auto bcast_from = [&](int from) {
    return outcome_of([&] {
      static_cast<void>(papcoll::bcast<papcoll::Binomial, papcoll::MpiTransport>(
          comm, comm.rank(), papcoll::root{from}));
    });
  };
  const auto barrier = [&] {
    return outcome_of([&] { papcoll::barrier<papcoll::DynamicLeader>(comm); });
  };
  CHECK(bcast_from(0).is_fine());            // which connects, and so compares at once
  CHECK(bcast_from(comm.rank()).is_fine());  // both send, and nobody receives
  for (int i = 0; i < 3; ++i) CHECK(barrier().is_fine());
  const Outcome fourth = barrier();
  CAPTURE(fourth);
  CHECK(fourth.kind == "peer_error");
  CHECK(fourth.says("all ranks must name the same root"));
  CHECK(comm.broken());
  CHECK(bcast_from(0).kind == "broken_communicator");
}

TEST_CASE("what is freed in the arena of a broken communicator is not used again", "[peers]") {
  const OwnComm own;
  papcoll::Options options;
  options.arena_bytes = std::size_t{8} << 20U;
  Communicator comm{own.get(), options};
  if (!comm.why_no_shared_memory().empty()) {
    WARN("SKIPPED: needs one node: " << comm.why_no_shared_memory());
    return;
  }
  const shared_allocator<char> arena{comm};
  const auto allocate_often = [&] {
    for (int i = 0; i < 20; ++i) shared_vector<char>(1'000'000, 'x', arena);
  };
  allocate_often();
  MPI_Barrier(own.get());
  comm.core().abort_node(papcoll::NodeControlBlock::Abort::deadline);
  CHECK_THROWS_AS(allocate_often(), std::bad_alloc);
}
