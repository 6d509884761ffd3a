// SPDX-License-Identifier: BSD-3-Clause
// What requests cost does not depend on how many are under way: steps are counted, not seconds.

#include "catch.hpp"

#include <papcoll/algorithms/static/binomial.hpp>
#include <papcoll/op.hpp>
#include <papcoll/runtime/plan_runs.hpp>
#include <papcoll/schedule/endpoint.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

using namespace papcoll;

namespace {

/// The other of two ranks has not arrived: nothing is received before this one says so.
class LonelyEndpoint final : public Endpoint {
 public:
  explicit LonelyEndpoint(std::uint32_t at_once) : at_once_(at_once) {}

  bool start(const TransportOp& work) override {
    if (work.kind == OpKind::receive) receives.push_back(work);
    return work.kind != OpKind::receive;
  }
  bool progress() override { return false; }
  void abandon() noexcept override {}
  std::uint32_t sequences_at_once() const noexcept override {
    ++compared;
    return at_once_;
  }

  void receive(std::size_t i) { receives[i].owner->complete(receives[i].slot, receives[i].step); }

  std::vector<TransportOp> receives;
  mutable std::size_t compared = 0;  ///< runs whose numbers were compared with a limit

 private:
  std::uint32_t at_once_;
};

/// Requests of one rank of two.
class Requests {
 public:
  explicit Requests(std::uint32_t at_once, std::uint32_t first = 1)
      : endpoint(at_once), next_(first) {
    call_.collective = Collective::bcast;
    call_.out = &data_;
    call_.in = &data_;
    call_.count = 1;
    call_.root = 0;
    call_.reducer.size = 1;
  }

  bool has_room() { return !runs.blocks(endpoint, next_); }
  PlanOf plan() { return runs.plan_of(AnySchedule::of<Binomial>(), call_); }
  RequestRun& start(const PlanOf* own = nullptr) {
    call_.plan = own;
    RequestRun& run = runs.of_requests().take();
    runs.begin(run, endpoint, AnySchedule::of<Binomial>(), call_, next_);
    runs.of_requests().begun(run);
    next_ += 2;
    return run;
  }

  LonelyEndpoint endpoint;
  PlanRuns runs{1, 2, 1, nullptr};

 private:
  std::byte data_{};
  Call call_;
  std::uint32_t next_;
};

}  // namespace

TEST_CASE("to see whether there is room for a request takes one step, however many are under way",
          "[requests]") {
  Requests requests{1U << 20};
  for (std::size_t n = 0; n < 1000; ++n) {
    CHECK(requests.has_room());
    CHECK_FALSE(requests.start().done());
    CHECK(requests.endpoint.compared <= n);
  }
}

TEST_CASE("a call that brings its plan does not search for one", "[requests]") {
  Requests requests{1U << 20};
  const PlanOf own = Requests{1}.plan();
  requests.start(&own);
  CHECK(requests.runs.plans().size() == 0);
  PlanOf of_another_call = own;
  ++of_another_call.shape.count;
  requests.start(&of_another_call);
  CHECK(requests.runs.plans().size() == 1);
}

TEST_CASE("the oldest request that is not done decides whether there is room", "[requests]") {
  // From just below the numbers' end.
  Requests requests{8, 0xfffffff9U};
  for (int n = 0; n < 4; ++n) {
    CHECK(requests.has_room());
    requests.start();
  }
  CHECK_FALSE(requests.has_room());
  requests.endpoint.receive(2);
  requests.endpoint.receive(1);
  CHECK_FALSE(requests.has_room());
  requests.endpoint.receive(0);
  for (int n = 0; n < 3; ++n) {  // up to four from the fourth on
    CHECK(requests.has_room());
    requests.start();
  }
  CHECK_FALSE(requests.has_room());
  requests.endpoint.receive(3);
  CHECK(requests.has_room());
}

TEST_CASE("runs are given back in any order, also before they are known to be done", "[requests]") {
  Requests requests{1U << 20};
  RequestRuns& runs = requests.runs.of_requests();
  std::set<const RequestRun*> all;
  for (int round = 0; round < 3; ++round) {
    std::vector<RequestRun*> started;
    requests.endpoint.receives.clear();
    for (int n = 0; n < 7; ++n) started.push_back(&requests.start());
    all.insert(started.begin(), started.end());
    CHECK(runs.oldest() == started.front());
    for (const std::size_t i : {3U, 0U, 6U, 1U}) {
      requests.endpoint.receive(i);
      runs.give_back(*started[i]);
    }
    CHECK(runs.oldest() == started[2]);
    for (const std::size_t i : {2U, 4U, 5U}) requests.endpoint.receive(i);
    CHECK(runs.oldest() == nullptr);
    CHECK(runs.any_taken());
    for (const std::size_t i : {5U, 2U, 4U}) runs.give_back(*started[i]);
    CHECK_FALSE(runs.any_taken());
  }
  CHECK(all.size() == 7);  // used again
}
