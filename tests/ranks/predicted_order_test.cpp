// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/communicator.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "mixed.hpp"
#include "own_comm.hpp"
#include "predicted.hpp"

namespace {

constexpr std::chrono::seconds thirty_seconds{30};

std::vector<std::string> transports(const papcoll::Communicator& comm) {
  std::vector<std::string> names{"MpiTransport"};
  if (comm.nodes() == 1) names.emplace_back("ShmTransport");
  return names;
}

papcoll::Algorithm algorithm_told(papcoll::AnySchedule schedule, const std::string& transport) {
  papcoll::AlgorithmSpec s;
  s.schedule = std::move(schedule);
  s.order = predicted::PeerFailureNotice{};
  return {"Told", s, transport};
}

}  // namespace

TEST_CASE("an order that is told comes into force on all ranks at once", "[predicted]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(), {.deadline = thirty_seconds}};
  CHECK(predicted::order_as_told(comm, transports(comm).back()) == "");
}

TEST_CASE("ranks agree whatever each predicts, on two communicators by turns", "[predicted]") {
  const OwnComm own;
  const OwnComm another;
  papcoll::Communicator comm{
      own.get(), {.deadline = thirty_seconds, .agreement_period = 2, .first_epoch = 0xffffff80U}};
  papcoll::Communicator other{another.get(), {.deadline = thirty_seconds}};
  for (const std::string& transport : transports(comm)) {
    CHECK(predicted::calls_in_changing_order(comm, other, transport, 800, 5) == "");
  }
}

TEST_CASE("ranks that run ahead come to the same order", "[predicted]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(), {.deadline = thirty_seconds, .agreement_period = 1}};
  for (const std::string& transport : transports(comm)) {
    predicted::PeerFailureNotice::arrival() = comm.rank() * 0.75 - comm.rank() % 2;
    const auto chain = algorithm_told(papcoll::AnySchedule::of<papcoll::Chain>(), transport);
    CHECK(mixed::ranks_that_run_ahead(comm, chain, 200) == "");
  }
}

TEST_CASE("a communicator may end while figures are on their way", "[predicted]") {
  for (int round = 0; round < 12; ++round) {
    const OwnComm own;
    papcoll::Communicator comm{own.get(), {.deadline = thirty_seconds}};
    for (const std::string& transport : transports(comm)) {
      // 16 calls begin an exchange, 32 end it and begin another; all but the root run ahead.
      const auto tree = algorithm_told(papcoll::AnySchedule::of<papcoll::Binomial>(), transport);
      const int calls = 16 + 4 * round;
      predicted::PeerFailureNotice::arrival() = 1e-3 * ((comm.rank() * 5 + round) % 7);
      mixed::Delays delays{static_cast<std::uint32_t>(comm.rank() + round)};
      for (int i = 0; i < calls; ++i) {
        delays.maybe();
        const int got =
            papcoll::reduce(comm, 1, papcoll::root{round % comm.size()}, papcoll::sum, tree);
        if (comm.rank() == round % comm.size()) CHECK(got == comm.size());
      }
    }
  }
}

TEST_CASE("watched arrivals lead to a forecast on every communicator", "[predicted]") {
  const OwnComm own;
  const OwnComm world;
  const OwnComm half{MPI_COMM_WORLD, world.rank() % 2, -world.rank()};
  papcoll::Communicator comm{own.get(), {.deadline = thirty_seconds}};
  papcoll::Communicator part{half.get(), {.deadline = thirty_seconds}};
  const auto ring = papcoll::algorithm("PredictedOrder:LastValue+PreReducedRing");
  for (int i = 0; i < 40; ++i) {
    std::vector<double> data(100, 1.0);
    papcoll::allreduce(comm, data, papcoll::sum, ring);
    papcoll::allreduce(part, data, papcoll::sum, ring);
    CHECK(data == std::vector<double>(100, 1.0 * comm.size() * part.size()));
  }
  for (papcoll::Communicator* c : {&comm, &part}) {
    const papcoll::Predictions& p = c->core().predictions(ring.spec().order.predictor());
    CHECK(p.forecast().is_known() == (c->size() > 1));
  }
}
