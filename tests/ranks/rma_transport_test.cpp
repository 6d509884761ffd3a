// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/communicator.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "matrix.hpp"
#include "mixed.hpp"
#include "outcome.hpp"
#include "own_comm.hpp"
#include "tickets.hpp"

namespace {

using papcoll::ArrivalOrder;
using papcoll::Chain;
using papcoll::RemoteTickets;
using papcoll::RmaTransport;

constexpr std::chrono::seconds half_a_minute{30};

papcoll::Algorithm short_segments() { return tickets::short_segments({}, "RmaTransport"); }

}  // namespace

TEST_CASE("tickets by RMA, if they are fast, whether or not, and never", "[rma]") {
  for (const auto tickets : {RemoteTickets::probed, RemoteTickets::always, RemoteTickets::never}) {
    const OwnComm own;
    papcoll::Communicator comm{
        own.get(), {.deadline = half_a_minute, .tickets = tickets, .first_epoch = 0xffffffe0U}};
    INFO("tickets " << static_cast<int>(tickets) << ", " << comm.why_no_tickets());
    CHECK(tickets::calls_by_ticket(comm, short_segments(), 300, 3) == "");
    const bool draws = comm.core().draws_tickets();
    CHECK((comm.size() == 1 || draws != !comm.why_no_tickets().empty()));
    // Across nodes Open MPI 4.1 may find no way to have a window.
    const bool has_window = comm.why_no_tickets().find("MPI_Win_allocate") == std::string::npos;
    const bool is_sure = comm.nodes() == 1 || (tickets == RemoteTickets::always && has_window);
    if (tickets == RemoteTickets::never) {
      CHECK_FALSE(draws);
    } else if (is_sure) {
      CHECK(draws == (comm.size() > 1));
    }
    // All ranks the same.
    CHECK(papcoll::allreduce(comm, draws ? 1 : 0) == (draws ? comm.size() : 0));
    if (draws || comm.size() == 1) continue;
    CHECK(comm.why_no_tickets().find("calls run in predicted order: ") != std::string::npos);
    CHECK(comm.core().predictions(papcoll::PredictedOrder<>::predictor()).forecast().is_known());
  }
}

TEST_CASE("the matrix by tickets, and some schedules over the same messages", "[rma]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(),
                             {.deadline = half_a_minute, .tickets = RemoteTickets::always}};
  matrix::Runner runner{comm};
  for (const matrix::Candidate& c : matrix::candidates("RmaTransport")) {
    if (c.row != nullptr && c.row->algorithm == nullptr && c.row->name != "Binomial") continue;
    runner.run_all(c, std::vector<std::size_t>{0, 1, 5, 40});
  }
  CHECK(runner.problems() == "");
}

TEST_CASE("tickets between other calls", "[rma]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(), {.deadline = half_a_minute}};
  auto some = matrix::candidates("MpiTransport");
  for (const auto& c : matrix::candidates("RmaTransport")) some.push_back(c);
  CHECK(mixed::calls_of_all_kinds(comm, some, 500, 5) == "");
}

TEST_CASE("ArrivalOrder, Chain and RmaTransport as policies", "[rma]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(), {.deadline = half_a_minute}};
  // More than a segment, and more than a message that MPI sends before it is received.
  const std::vector<double> in(100'000, comm.rank() + 1.0);
  std::vector<double> out(in.size());
  const std::vector<double> sum(in.size(), comm.size() * (comm.size() + 1) / 2);
  papcoll::allreduce<ArrivalOrder, Chain, RmaTransport>(comm, in, out);
  CHECK(out == sum);
  for (int r = 0; r < comm.size(); ++r) {
    out = in;
    papcoll::reduce<RmaTransport, Chain, ArrivalOrder>(comm, out, papcoll::root{r});
    CHECK(out == (comm.rank() == r ? sum : in));
  }
}

TEST_CASE("communicators with tickets come and go", "[rma]") {
  for (int i = 0; i < 20; ++i) {
    const OwnComm own;
    papcoll::Communicator comm{own.get(),
                               {.deadline = half_a_minute, .tickets = RemoteTickets::always}};
    CHECK(papcoll::allreduce(comm, 1, papcoll::sum, short_segments()) == comm.size());
  }
}

TEST_CASE("communicators that have no rank in common get their tickets at the same time", "[rma]") {
  // Sums that count the other half's tickets, or a window that MPI cannot find, are wrong.
  int world_rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  for (int i = 0; i < 30; ++i) {
    const OwnComm half{MPI_COMM_WORLD, world_rank % 2, world_rank};
    papcoll::Communicator comm{half.get(),
                               {.deadline = half_a_minute, .tickets = RemoteTickets::always}};
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(tickets::calls_by_ticket(comm, short_segments(), 10, 7) == "");
    if (papcoll::detail::mixes_windows_up && comm.nodes() > 1 && comm.size() > comm.nodes()) {
      CHECK(comm.why_no_tickets().find("can give communicators") != std::string::npos);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// MPICH 4.0 over UCX aborts in MPI_Finalize if a window is left.
#ifdef OPEN_MPI
TEST_CASE("a rank that comes late to the end of a communicator with tickets", "[.late]") {
  for (const bool home : {true, false}) {
    std::optional<OwnComm> own{std::in_place};
    if (own->size() != 2 && own->size() != 3) return;
    std::optional<papcoll::Communicator> comm{std::in_place, own->get(),
                                              papcoll::Options{.tickets = RemoteTickets::always}};
    CHECK(papcoll::allreduce(*comm, 1, papcoll::sum, short_segments()) == own->size());
    // Longer than any rank waits for others there.
    const bool late = own->rank() == (home ? 0 : own->size() - 1);
    std::this_thread::sleep_for(std::chrono::milliseconds{late ? 3500 : 0});
    comm.reset();
    own.reset();
    MPI_Barrier(MPI_COMM_WORLD);  // nobody waits for ever
  }
}
#endif

TEST_CASE("the deadline of calls over RmaTransport", "[rma]") {
  for (const bool first : {true, false}) {
    const OwnComm own;
    if (own.size() == 1) return;
    const int absent = first ? 0 : own.size() - 1;
    papcoll::Communicator comm{own.get(), {.deadline = std::chrono::milliseconds{300}}};
    const Outcome mine = outcome_of([&] {
      if (!first) {
        CHECK(papcoll::allreduce(comm, 1, papcoll::sum, short_segments()) == comm.size());
      }
      if (comm.rank() == absent) {
        MPI_Barrier(MPI_COMM_WORLD);
      } else {
        static_cast<void>(papcoll::allreduce(comm, 1, papcoll::sum, short_segments()));
      }
    });
    if (comm.rank() != absent) MPI_Barrier(MPI_COMM_WORLD);
    INFO(mine);
    CHECK(mine.kind == (comm.rank() == absent ? "fine" : "deadline_exceeded"));
  }
}
