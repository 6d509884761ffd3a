// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"
#include "predicted.hpp"
#include "thread_problems.hpp"

#include <papcoll/arrival/predictions.hpp>
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/thread_team.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

using namespace papcoll;
using Rank = ThreadTeam::Rank;

namespace {

constexpr std::chrono::seconds patience{30};

ArrivalForecast forecast_of(const std::vector<std::int64_t>& ns) { return ArrivalForecast{ns}; }

Shape shape_of(Collective c, int size, int root = 0) {
  Shape s;
  s.collective = c;
  s.size = size;
  s.root = root;
  s.count = 1;
  return s;
}

std::vector<int> ranks_of(const Order& order) {
  std::vector<int> ranks;
  for (int p = 0; p < order.size(); ++p) ranks.push_back(order.rank(p));
  return ranks;
}

using Ranks = std::vector<int>;

}  // namespace

TEST_CASE("a forecast orders ranks along the flow of data", "[predicted]") {
  const ArrivalForecast f = forecast_of({5'000'000, 1'000'000, 9'000'000, 1'000'100});
  CHECK(Ranks(f.ranks().begin(), f.ranks().end()) == Ranks{1, 3, 0, 2});
  CHECK(ranks_of(f.order(shape_of(Collective::allreduce, 4))) == Ranks{2, 0, 3, 1});
  CHECK(ranks_of(f.order(shape_of(Collective::reduce, 4, 2))) == Ranks{2, 0, 3, 1});
  CHECK(ranks_of(f.order(shape_of(Collective::reduce, 4, 3))) == Ranks{3, 2, 0, 1});
  CHECK(ranks_of(f.order(shape_of(Collective::gather, 4, 1))) == Ranks{1, 2, 0, 3});
  CHECK(ranks_of(f.order(shape_of(Collective::bcast, 4, 1))) == Ranks{1, 3, 0, 2});
  CHECK(ranks_of(f.order(shape_of(Collective::bcast, 4, 2))) == Ranks{2, 1, 3, 0});
  const Order order = f.order(shape_of(Collective::reduce, 4, 3));
  for (int p = 0; p < 4; ++p) CHECK(order.position(order.rank(p)) == p);
  CHECK(order.lateness(0) == 0);
  CHECK(order.lateness(1) == ArrivalForecast::rounded(8'000'000));
  CHECK(order.lateness(2) == ArrivalForecast::rounded(4'000'000));
  CHECK(f.worst_case_imbalance() == Approx(8e-3));
  CHECK(f.average_case_imbalance() == Approx(3e-3).epsilon(1e-3));
}

TEST_CASE("without a forecast, or where it must not matter, ranks keep their order",
          "[predicted]") {
  const std::array nothing{ArrivalForecast{}, forecast_of({1, ArrivalForecast::unknown, 3})};
  for (const ArrivalForecast& f : nothing) {
    CHECK_FALSE(f.is_known());
    CHECK(f.order(shape_of(Collective::allreduce, 3)).is_identity());
    CHECK(f.order(shape_of(Collective::bcast, 3, 2)) == Order::rotation(3, 2));
  }
  const ArrivalForecast f = forecast_of({3'000'000, 2'000'000, 1'000'000});
  Shape s = shape_of(Collective::reduce, 3, 1);
  s.commutative = false;
  CHECK(f.order(s).is_identity());
  const ArrivalForecast same = forecast_of({500, 100, 300});  // less than can be told apart
  CHECK(Ranks(same.ranks().begin(), same.ranks().end()) == Ranks{0, 1, 2});
}

TEST_CASE("lateness is rounded so that plans last", "[predicted]") {
  CHECK(ArrivalForecast::rounded(999) == 0);
  CHECK(ArrivalForecast::rounded(1535) == 1024);
  CHECK(ArrivalForecast::rounded(1536) == 1536);
  CHECK(ArrivalForecast::rounded(3'999'999) == 3 << 20);
  CHECK(forecast_of({0, 1'100'000}).is_like(forecast_of({7, 1'200'000})));
  CHECK_FALSE(forecast_of({0, 1'100'000}).is_like(forecast_of({0, 2'200'000})));
  CHECK_FALSE(forecast_of({0, 1'100'000}).is_like(forecast_of({1'100'000, 0})));
  CHECK_FALSE(forecast_of({0, 0}).is_like(ArrivalForecast{}));
}

TEST_CASE("an order that is told comes into force on all ranks at once", "[predicted]") {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    ThreadTeam team{ranks, {.deadline = patience}};
    CHECK(problems(team, [&](Rank& comm) {
            return predicted::order_as_told(comm, "ThreadTransport");
          }) == "");
  }
}

TEST_CASE("ranks agree whatever each predicts, on two teams by turns", "[predicted]") {
  std::uint32_t seed = 11;
  for (const int ranks : {2, 3, 4, 7}) {
    for (const std::uint32_t first : {1U, 0xfffffe00U}) {
      // With short periods ranks that run ahead come to the end of an exchange before it is over.
      const std::uint32_t period = first == 1U ? 2U : 1U;
      ThreadTeam team{ranks,
                      {.deadline = patience, .agreement_period = period, .first_epoch = first}};
      ThreadTeam other{ranks, {.deadline = patience}};
      std::vector<Rank*> others;
      others.resize(static_cast<std::size_t>(ranks));
      other.run([&](Rank& r) { others[static_cast<std::size_t>(r.rank())] = &r; });
      INFO(ranks << " ranks, seed " << ++seed);
      CHECK(problems(team, [&](Rank& comm) {
              return predicted::calls_in_changing_order(
                  comm, *others[static_cast<std::size_t>(comm.rank())], "ThreadTransport", 1200,
                  seed);
            }) == "");
    }
  }
}

TEST_CASE("ranks that run ahead come to the same order", "[predicted]") {
  AlgorithmSpec s;
  s.schedule = AnySchedule::of<Chain>();
  s.order = predicted::PeerFailureNotice{};
  const Algorithm chain{"Told+Chain", s, "ThreadTransport"};
  for (const int ranks : {2, 5}) {
    ThreadTeam team{ranks,
                    {.deadline = patience, .agreement_period = 1, .first_epoch = 0xfffffff0U}};
    CHECK(problems(team, [&](Rank& comm) {
            predicted::PeerFailureNotice::arrival() = comm.rank() * 0.75 - comm.rank() % 2;
            return mixed::ranks_that_run_ahead(comm, chain, 400);
          }) == "");
  }
}

TEST_CASE("watched arrivals lead to a forecast", "[predicted]") {
  ThreadTeam team{3, {.deadline = patience}};
  for (const char* name : {"PredictedOrder+Chain", "PredictedOrder:LastValue+Binomial",
                           "PredictedOrder:Exponential:0.5+KNomial"}) {
    const Algorithm algorithm = papcoll::algorithm(name);
    INFO(name);
    CHECK(problems(team, [&](Rank& comm) -> std::string {
            for (int i = 0; i < 40; ++i) {
              if (papcoll::reduce(comm, 1, root{1}, sum, algorithm) != (comm.rank() == 1 ? 3 : 1)) {
                return "wrong";
              }
            }
            const auto& f = comm.core().predictions(algorithm.spec().order.predictor()).forecast();
            return f.is_known() ? "" : "nothing is known";
          }) == "");
  }
}

TEST_CASE("policies in predicted order", "[predicted]") {
  ThreadTeam team{4, {.deadline = patience}};
  CHECK(problems(team, [&](Rank& comm) -> std::string {
          std::string text;
          for (int i = 0; i < 50; ++i) {
            std::vector<int> data(20, comm.rank());
            papcoll::allreduce<PredictedOrder<>, Binomial>(comm, data);
            if (data != std::vector<int>(20, 6)) text += "Binomial is wrong\n";
            data.assign(20, comm.rank());
            papcoll::allreduce<PreReducedRing>(comm, data);
            papcoll::allreduce<ClairvoyantTree, PredictedOrder<Exponential>>(comm, data, max);
            if (data != std::vector<int>(20, 6)) text += "PreReducedRing is wrong\n";
            papcoll::bcast<PredictedOrder<LastValue>>(comm, data, root{2});
            Request r = papcoll::iallreduce<SortedLinearTree>(comm, data, min);
            r.wait();
            if (data != std::vector<int>(20, 6)) text += "SortedLinearTree is wrong\n";
          }
          return text;
        }) == "");
}
