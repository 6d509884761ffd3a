// SPDX-License-Identifier: BSD-3-Clause
// What calls of recorded arrivals would have taken by other algorithms.

#include "catch.hpp"

#include "../simulate/virtual_costs.hpp"

#include <papcoll/algorithms/static/binomial.hpp>
#include <papcoll/arrival/predictions.hpp>
#include <papcoll/choice/names/catalogue.hpp>
#include <papcoll/error.hpp>
#include <papcoll/simulate/simulate.hpp>
#include <papcoll/what_if/answer.hpp>
#include <papcoll/what_if/predicted_orders.hpp>
#include <papcoll/what_if/recorded.hpp>
#include <papcoll/what_if/simulated.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace {

using papcoll::what_if::Answer;
using papcoll::what_if::Basis;
using papcoll::what_if::Outcome;
using papcoll::what_if::PredictedOrders;
using papcoll::what_if::Recorded;
using papcoll::what_if::Stretch;

/// So many calls in which one rank is late.
Recorded one_late(int ranks, std::size_t calls, int late, double seconds,
                  std::size_t elements = 64) {
  Recorded r;
  r.shape.collective = papcoll::Collective::allreduce;
  r.shape.size = ranks;
  r.shape.count = elements;
  r.shape.element_size = 8;
  r.arrivals.ranks = static_cast<std::size_t>(ranks);
  for (std::size_t call = 0; call < calls; ++call) {
    for (int rank = 0; rank < ranks; ++rank) {
      // Calls follow each other on one clock.
      r.arrivals.seconds.push_back(static_cast<double>(call) + (rank == late ? seconds : 0));
    }
  }
  return r;
}

Basis basis() {
  Basis b;
  b.node = virtual_costs();
  return b;
}

Answer answer_of(const Recorded& recorded, const Basis& b = basis()) {
  return papcoll::what_if::simulated_answer(recorded, b, papcoll::catalogue());
}

const Outcome& outcome_of(const Answer& answer, std::string_view name) {
  const auto at = std::find_if(answer.outcomes.begin(), answer.outcomes.end(),
                               [&](const Outcome& o) { return o.name == name; });
  INFO(name);
  REQUIRE(at != answer.outcomes.end());
  return *at;
}

}  // namespace

TEST_CASE("what if: a long trace is sampled evenly, in calls that follow each other") {
  using papcoll::what_if::sampled;
  CHECK(sampled(50, 100) == std::vector<Stretch>{{0, 50}});
  CHECK(sampled(100, 100) == std::vector<Stretch>{{0, 100}});
  CHECK(sampled(1000, 60, 20) == std::vector<Stretch>{{0, 20}, {490, 20}, {980, 20}});
  CHECK(sampled(1000, 10, 20) == std::vector<Stretch>{{0, 10}});
  CHECK(sampled(41, 40, 20) == std::vector<Stretch>{{0, 20}, {21, 20}});
  for (const std::size_t calls : {201U, 1000U, 12345U}) {
    std::size_t all = 0;
    std::size_t end = 0;
    for (const Stretch& s : sampled(calls, 200)) {
      CHECK(s.first >= end);
      end = s.first + s.count;
      all += s.count;
    }
    CHECK(end == calls);
    CHECK(all == 200);
  }
}

TEST_CASE("what if: orders are predicted from earlier calls only") {
  const auto orders_of = [](const Recorded& recorded) {
    PredictedOrders orders{papcoll::AnyPredictor::of<papcoll::LastValue>(), 4};
    std::vector<papcoll::Order> all;
    for (std::size_t call = 0; call < recorded.arrivals.calls(); ++call) {
      all.push_back(orders.order(recorded.shape));
      orders.observe(recorded.arrivals.recorded(call));
    }
    return all;
  };
  const Recorded same = one_late(4, 48, 2, 1e-3);
  // The last call alone differs: no order does, that of the last call included.
  Recorded other = same;
  other.arrivals.seconds.back() += 1;
  const auto ranks_of = [](const std::vector<papcoll::Order>& orders) {
    std::vector<int> ranks;
    for (const papcoll::Order& o : orders) {
      for (int position = 0; position < 4; ++position) ranks.push_back(o.rank(position));
    }
    return ranks;
  };
  CHECK(ranks_of(orders_of(same)) == ranks_of(orders_of(other)));
  // As in the library, what the 16th call begins to agree on is in force after the 32nd.
  const std::vector<papcoll::Order> orders = orders_of(same);
  for (std::size_t call = 0; call < 32; ++call) {
    CHECK(orders[call] == papcoll::static_order(same.shape));
  }
  for (std::size_t call = 32; call < 48; ++call) {
    CHECK(orders[call].rank(0) == 2);  // the latest is nearest to where the result comes together
  }
}

TEST_CASE("what if: an outcome in predicted order is what the simulator says of these orders") {
  Recorded recorded = one_late(4, 40, 3, 2e-3);
  // In the last call another rank is late, which nobody could know.
  const std::size_t last = 39 * 4;
  recorded.arrivals.seconds[last + 3] -= 2e-3;
  recorded.arrivals.seconds[last + 1] += 2e-3;
  const Basis b = basis();
  const papcoll::AnySchedule schedule{papcoll::Binomial{}};
  recorded.shape.collective = papcoll::Collective::reduce;
  const papcoll::Order by_number = papcoll::static_order(recorded.shape);
  const std::vector<std::int64_t> expected{0, 0, 0, 2'000'000};
  const papcoll::Order predicted = papcoll::ArrivalForecast{expected}.order(recorded.shape);
  REQUIRE(predicted != by_number);
  double tails = 0;
  for (std::size_t call = 0; call < 40; ++call) {
    papcoll::SimulateOptions options;
    options.arrivals.resize(4);
    recorded.arrivals(call, options.arrivals);
    tails += papcoll::simulate(schedule, recorded.shape, call < 32 ? by_number : predicted,
                               b.messages, options)
                 .tail();
  }
  CHECK(outcome_of(answer_of(recorded, b), "PredictedOrder+Binomial").tail ==
        Approx(tails / 40).epsilon(1e-9));
}

TEST_CASE("what if: all that can run a call is ranked, and the error stands beside it") {
  const Answer answer = answer_of(one_late(4, 30, 1, 5e-6));
  CHECK(answer.calls == 30);
  CHECK(answer.looked_at == 30);
  CHECK(!answer.replayed);
  CHECK(!answer.knows_durations);
  for (const char* const name : {"DynamicLeader", "Exchange", "SplitTail", "Ring",
                                 "PredictedOrder+Ring", "RecursiveDoubling", "Accumulator"}) {
    const Outcome& o = outcome_of(answer, name);
    CHECK(o.tail > 0);
    CHECK(o.in_call > 5e-6 * 3 / 4);  // three of four wait so long
    CHECK(o.saved == 0);
    CHECK(o.error == (o.by_messages ? 0 : virtual_costs().error));
  }
  for (std::size_t i = 1; i < answer.outcomes.size(); ++i) {
    CHECK(answer.outcomes[i - 1].in_call <= answer.outcomes[i].in_call);
  }
  CHECK(!answer.best().by_messages);  // messages of 1.5 µs cannot be the quickest on a node
  CHECK(answer.is_as_good_as_best(answer.best()));
  CHECK(!answer.is_as_good_as_best(answer.outcomes.back()));
  // The same once more.
  const Answer again = answer_of(one_late(4, 30, 1, 5e-6));
  REQUIRE(again.outcomes.size() == answer.outcomes.size());
  for (std::size_t i = 0; i < answer.outcomes.size(); ++i) {
    CHECK(again.outcomes[i].name == answer.outcomes[i].name);
    CHECK(again.outcomes[i].tail == answer.outcomes[i].tail);
    CHECK(again.outcomes[i].in_call == answer.outcomes[i].in_call);
  }
}

TEST_CASE("what if: what is saved is what was recorded, less what it would have taken") {
  Recorded recorded = one_late(2, 20, 1, 5e-6);
  for (std::size_t call = 0; call < 20; ++call) {
    recorded.durations.push_back(25e-6);
    recorded.durations.push_back(20e-6);
  }
  const Answer answer = answer_of(recorded);
  CHECK(answer.knows_durations);
  CHECK(answer.recorded_in_call == Approx(22.5e-6));
  CHECK(answer.recorded_tail == Approx(20e-6));
  for (const Outcome& o : answer.outcomes) {
    CHECK(o.saved == Approx(22.5e-6 - o.in_call - virtual_costs().clock));
  }
  CHECK(answer.best().saved > 15e-6);
}

TEST_CASE("what if: who is always last may let others go earlier") {
  // The ranks of a reduce that bring their part leave; only the root waits for the last one.
  Recorded recorded = one_late(4, 20, 3, 1e-3, 8192);
  recorded.shape.collective = papcoll::Collective::reduce;
  const Answer answer = answer_of(recorded);
  CHECK(outcome_of(answer, "SplitTail").in_call < 0.6e-3);
  CHECK(outcome_of(answer, "Exchange").in_call < 0.6e-3);
}

TEST_CASE("what if: of a long trace some stretches are simulated, and it says so") {
  Basis b = basis();
  b.most_calls = 40;
  const Answer some = answer_of(one_late(2, 400, 1, 5e-6), b);
  CHECK(some.calls == 400);
  CHECK(some.looked_at == 40);
  REQUIRE(!some.remarks.empty());
  CHECK(some.remarks.front() ==
        "40 of 400 calls were simulated, in 2 stretches; predictors saw all");
  const Answer all = answer_of(one_late(2, 60, 1, 5e-6));
  CHECK(outcome_of(some, "Exchange").tail == Approx(outcome_of(all, "Exchange").tail).epsilon(0.2));
}

TEST_CASE("what if: on several nodes, static schedules alone are simulated") {
  Recorded recorded = one_late(4, 20, 1, 5e-6);
  recorded.nodes = {0, 0, 1, 1};
  const Answer answer = answer_of(recorded);
  CHECK(std::all_of(answer.outcomes.begin(), answer.outcomes.end(),
                    [](const Outcome& o) { return o.by_messages; }));
  REQUIRE(!answer.remarks.empty());
  CHECK(answer.remarks.front().find("several nodes") != std::string::npos);
}

TEST_CASE("what if: what a node in virtual time has no room for is left out") {
  Recorded recorded = one_late(2, 1, 1, 5e-6);
  recorded.shape.collective = papcoll::Collective::gather;
  recorded.shape.count = (std::size_t{1} << 30U) / 2 / recorded.shape.element_size + 1;
  const Answer answer = answer_of(recorded);
  CHECK(std::all_of(answer.outcomes.begin(), answer.outcomes.end(),
                    [](const Outcome& o) { return o.by_messages; }));
  REQUIRE(answer.remarks.size() == 1);
  INFO(answer.remarks[0]);
  CHECK(answer.remarks[0].find("left out: Exchange in virtual time: the bytes of a call times its "
                               "2 ranks are more than 1 GB") != std::string::npos);
}

TEST_CASE("what if: each collective has an answer") {
  for (std::size_t c = 0; c < papcoll::collective_count; ++c) {
    Recorded recorded = one_late(3, 3, 1, 5e-6, 4);
    recorded.shape.collective = static_cast<papcoll::Collective>(c);
    if (recorded.shape.collective == papcoll::Collective::barrier) {
      recorded.shape.count = recorded.shape.element_size = 1;
    }
    INFO(papcoll::name_of(recorded.shape.collective));
    const Answer answer = answer_of(recorded);
    CHECK(answer.outcomes.size() >= 3);
    CHECK(std::any_of(answer.outcomes.begin(), answer.outcomes.end(),
                      [](const Outcome& o) { return !o.by_messages; }));
  }
}

TEST_CASE("what if: a record that makes no sense is refused in a sentence") {
  const auto refused = [](const Recorded& recorded, const std::string& why) {
    INFO(why);
    try {
      answer_of(recorded);
      FAIL("it was not refused");
    } catch (const papcoll::argument_error& e) {
      INFO(e.what());
      CHECK(std::string(e.what()).find(why) != std::string::npos);
    }
  };
  const Recorded good = one_late(3, 4, 1, 5e-6);
  Recorded bad = good;
  bad.arrivals.seconds.clear();
  refused(bad, "no call was recorded");
  bad = good;
  bad.shape.size = 4;
  refused(bad, "arrivals of 3 ranks, and the call 4");
  bad = good;
  bad.durations = {1e-6};
  refused(bad, "1 times in calls and 12 arrivals");
  bad.durations.assign(12, -1);
  refused(bad, "a time in a call is negative");
  bad.durations.assign(12, std::numeric_limits<double>::quiet_NaN());
  refused(bad, "or no number");
  bad = good;
  bad.nodes = {0};
  refused(bad, "nodes of 1 ranks, and there are 3");
  bad = good;
  bad.shape.root = 3;
  refused(bad, "no rank 3 to be the root");
}

TEST_CASE("a prediction says what it may be wrong by", "[what_if]") {
  // Rank 1 is late by 200 µs in the last calls.
  Recorded r = one_late(3, 60, 1, 0);
  r.shape.collective = papcoll::Collective::barrier;
  for (std::size_t call = 40; call < 60; ++call) r.arrivals.seconds[3 * call + 1] += 200e-6;
  Basis b = basis();
  b.node.error = 0.25;
  const Answer all = answer_of(r, b);
  r.clocks = 1e-6;
  b.most_calls = 40;
  const Answer some = answer_of(r, b);
  for (const Outcome& o : all.outcomes) {
    CHECK(o.unsure.has_value() == !o.by_messages);  // the error of schedules is not known
    if (!o.unsure) continue;
    CHECK(*o.unsure == Approx(0.25 * o.tail));
    const auto same = std::find_if(some.outcomes.begin(), some.outcomes.end(),
                                   [&o](const Outcome& s) { return s.name == o.name; });
    REQUIRE(same != some.outcomes.end());
    CHECK(*same->unsure > 0.25 * same->tail + 1e-6);
    CHECK(std::abs(same->in_call - o.in_call) < *same->unsure);
  }
  // Of one stretch nothing follows for the other calls.
  b.most_calls = 20;
  CHECK_FALSE(answer_of(r, b).best().unsure);
}
