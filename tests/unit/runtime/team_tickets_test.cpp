// SPDX-License-Identifier: BSD-3-Clause
// Calls by tickets among threads, with a transport of the test's own: the messages of
// ThreadTransport, and the words that processes of a node share.

#include "catch.hpp"
#include "outcome.hpp"
#include "thread_problems.hpp"
#include "tickets.hpp"

#include <papcoll/thread_team.hpp>
#include <papcoll/transport/memory_transports.hpp>
#include <papcoll/transport/rma/remote_atomics.hpp>
#include <papcoll/transport/shm/channel_endpoint.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace {

using Rank = papcoll::ThreadTeam::Rank;

constexpr std::chrono::seconds patience{30};

struct WordTransport {
  using policy_kind = papcoll::TransportPolicyKind;
  static constexpr std::string_view name = "WordTransport";
  static constexpr unsigned offers = papcoll::capability::remote_tickets;
  static constexpr bool wakes_receivers = true;

  static std::string unavailable(const papcoll::TeamEnvironment&) { return {}; }
  static std::unique_ptr<papcoll::Endpoint> connect(const papcoll::TeamEnvironment& s) {
    return papcoll::detail::connect_channels<>(*s.node);
  }
  static std::unique_ptr<papcoll::RemoteAtomics> open_atomics(const papcoll::TeamEnvironment& s,
                                                              std::size_t n,
                                                              papcoll::RemoteTickets tickets) {
    if (tickets == papcoll::RemoteTickets::never) {
      throw papcoll::transport_unavailable("they are not wanted");
    }
    return std::make_unique<papcoll::SharedWords>(*s.node, n);
  }
};
static_assert(papcoll::TransportPolicy<WordTransport>);

papcoll::Algorithm chain() {
  papcoll::AlgorithmSpec s;
  s.transport = &papcoll::transport_table<WordTransport>;
  return tickets::short_segments(s, "");
}

}  // namespace

TEST_CASE("calls by tickets", "[tickets]") {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    for (const std::uint32_t first : {1U, 0xffffffc0U}) {
      papcoll::ThreadTeam team{ranks, {.deadline = patience, .first_epoch = first}};
      INFO(ranks << " ranks");
      CHECK(problems(team, [](Rank& comm) {
              std::string text = tickets::calls_by_ticket(comm, chain(), 200, 7);
              if (comm.core().draws_tickets() != (comm.size() > 1)) text += "no tickets\n";
              return text;
            }) == "");
    }
  }
}

TEST_CASE("calls that get no tickets run in predicted order, and say so", "[tickets]") {
  const papcoll::Options options{.deadline = patience, .tickets = papcoll::RemoteTickets::never};
  papcoll::ThreadTeam team{4, options};
  CHECK(problems(team, [](Rank& comm) {
          std::string text = tickets::calls_by_ticket(comm, chain(), 200, 3);
          const std::string& why = comm.core().why_no_tickets();
          if (why.find("run in predicted order: they are not wanted") == std::string::npos) {
            text += "says: " + why + "\n";
          }
          const auto& p = comm.core().predictions(papcoll::PredictedOrder<>::predictor());
          if (!p.forecast().is_known()) text += p.describe() + "\n";
          return text;
        }) == "");
}

TEST_CASE("the order of arrival is that of the chain", "[tickets]") {
  // Each rank appends its digit to what has come before it.
  const auto append = papcoll::commutative([](std::uint64_t a, std::uint64_t b) noexcept {
    return a > b ? a * 10 + b : b * 10 + a;  // the partial result has more digits than a rank
  });
  constexpr int ranks = 4;
  papcoll::ThreadTeam team{ranks, {.deadline = patience}};
  std::atomic<int> turn{0};
  constexpr int order[ranks] = {2, 0, 3, 1};
  CHECK(problems(team, [&](Rank& comm) {
          std::uint64_t data = 0;
          static_cast<void>(papcoll::allreduce(comm, data, papcoll::sum, chain()));
          while (order[turn.load()] != comm.rank()) std::this_thread::yield();
          data = comm.rank() == order[0] ? 100 + 3 : static_cast<std::uint64_t>(comm.rank()) + 1;
          // The next comes when this one has had time to draw its ticket.
          std::jthread next{[&turn, last = turn.load() + 1 == ranks] {
            std::this_thread::sleep_for(std::chrono::milliseconds{50});
            if (!last) ++turn;
          }};
          const auto got = papcoll::allreduce(comm, data, append, chain());
          return got == 103142 ? "" : "got " + std::to_string(got) + "\n";
        }) == "");
}

TEST_CASE("the deadline of calls by tickets", "[tickets]") {
  for (const bool first : {true, false}) {
    papcoll::ThreadTeam team{3, {.deadline = std::chrono::milliseconds{100}}};
    std::vector<Outcome> all(3);
    team.run([&](Rank& comm) {
      auto& mine = all[static_cast<std::size_t>(comm.rank())];
      mine = outcome_of([&] {
        if (!first) static_cast<void>(papcoll::allreduce(comm, 1, papcoll::sum, chain()));
        if (comm.rank() != 0) static_cast<void>(papcoll::allreduce(comm, 1, papcoll::sum, chain()));
      });
    });
    CHECK(all[0].is_fine());
    CHECK(all[1].kind == "deadline_exceeded");
    CHECK(all[2].kind == "deadline_exceeded");
  }
}

TEST_CASE("what calls by tickets refuse", "[tickets]") {
  papcoll::ThreadTeam team{2, {.deadline = patience}};
  CHECK(problems(team, [](Rank& comm) {
          std::string text;
          const auto expect = [&](const char* what, auto&& call) {
            const Outcome o = outcome_of(call);
            if (o.kind != "argument_error" || !o.says(what)) text += o.kind + ": " + o.what + "\n";
          };
          std::vector<int> data(3);
          expect("ArrivalOrder+Chain does not serve bcast, only allreduce, reduce: take Binomial",
                 [&] { papcoll::bcast(comm, data, papcoll::root{0}, chain()); });
          expect("ArrivalOrder+Chain combines contributions out of rank order", [&] {
            papcoll::allreduce(
                comm, data, [](int a, int b) { return a - b; }, chain());
          });
          expect("the call is non-blocking",
                 [&] { papcoll::iallreduce(comm, data, papcoll::sum, chain()).wait(); });
          data.assign(3, 1);
          papcoll::allreduce(comm, data, papcoll::sum, chain());
          if (data[0] != 2) text += "the team is not what it was\n";
          return text;
        }) == "");
}
