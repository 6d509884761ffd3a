// SPDX-License-Identifier: BSD-3-Clause
// Parts of a team that know nothing of it: the gate, the ledger of refused requests, and the node
// side of a team that has none.

#include "catch.hpp"

#include <papcoll/base/config.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/node/waiting/doorbells.hpp>
#include <papcoll/runtime/node_calls.hpp>
#include <papcoll/runtime/node_signals.hpp>
#include <papcoll/runtime/team_context.hpp>

#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

using namespace papcoll;

namespace {

struct alignas(cache_line) Line {
  std::byte bytes[cache_line];
};

/// What the ranks of a node share.
class SharedMemory {
 public:
  static constexpr std::size_t chunk = cache_line;

  explicit SharedMemory(int ranks)
      : ranks_(ranks),
        control_(NodeControlBlock::bytes(ranks, chunk) / sizeof(Line) + 1),
        bells_(Doorbells::bytes(ranks) / sizeof(Line) + 1) {
    Doorbells::initialise(bells_.data()->bytes, ranks);
    control_block().initialise(1);
  }

  NodeControlBlock control_block() noexcept { return {control_.data()->bytes, ranks_, chunk}; }
  Doorbells bells() noexcept { return {bells_.data()->bytes, ranks_}; }

 private:
  int ranks_;
  std::vector<Line> control_;
  std::vector<Line> bells_;
};

}  // namespace

TEST_CASE("a gate opens when all are there, again and again", "[gate]") {
  SharedMemory shared{2};
  NodeRendezvous a{shared.control_block(), shared.bells()};
  NodeRendezvous b{shared.control_block(), shared.bells()};
  for (int i = 0; i < 3; ++i) {
    a.arrive();
    CHECK_FALSE(a.is_open());
    b.arrive();
    CHECK(a.is_open());
    CHECK(b.is_open());
    CHECK_FALSE(a.is_closed());
  }
}

TEST_CASE("a gate that is closed stays so, and is not closed once all are there", "[gate]") {
  SharedMemory shared{2};
  NodeRendezvous a{shared.control_block(), shared.bells()};
  NodeRendezvous b{shared.control_block(), shared.bells()};
  SECTION("in time") {
    a.arrive();
    CHECK(a.close());
    b.arrive();
    CHECK(b.is_closed());
    CHECK_FALSE(b.is_open());
    CHECK(b.close());
  }
  SECTION("too late") {
    a.arrive();
    b.arrive();
    CHECK_FALSE(a.close());
    CHECK(b.is_open());
    CHECK_FALSE(b.is_closed());
  }
}

TEST_CASE("a refused request is found by who has started it", "[refused_requests]") {
  SharedMemory shared{3};
  RefusedRequests a{shared.control_block(), 0};
  RefusedRequests b{shared.control_block(), 1};
  b.refuse(7);
  CHECK(a.find(6) == -1);
  CHECK(a.find(7) == 1);
  CHECK(a.find(8) == 1);  // as long as the request is there
  CHECK(b.find(7) == -1);
}

TEST_CASE("a request that both have refused is no problem", "[refused_requests]") {
  SharedMemory shared{2};
  RefusedRequests a{shared.control_block(), 0};
  RefusedRequests b{shared.control_block(), 1};
  b.refuse(7);
  CHECK(a.find(6) == -1);
  a.refuse(7);
  CHECK(a.find(9) == -1);
  CHECK(b.find(9) == -1);
}

TEST_CASE("numbers of requests wrap", "[refused_requests]") {
  SharedMemory shared{2};
  RefusedRequests a{shared.control_block(), 0};
  RefusedRequests b{shared.control_block(), 1};
  b.refuse(2);
  CHECK(a.find(0xfffffffeU) == -1);
  CHECK(a.find(2) == 1);
}

TEST_CASE("so many refused requests that their numbers are lost", "[refused_requests]") {
  SharedMemory shared{2};
  RefusedRequests a{shared.control_block(), 0};
  RefusedRequests b{shared.control_block(), 1};
  const auto refuse_irregularly = [&](std::uint32_t from, std::uint32_t until) {
    for (std::uint32_t i = from; i < until; ++i) b.refuse(1000 + i * i);
  };
  refuse_irregularly(0, NodeControlBlock::refusals - 1);
  CHECK(a.find(1) == -1);
  refuse_irregularly(NodeControlBlock::refusals, 4 * NodeControlBlock::refusals);
  CHECK(a.find(1) == 1);
}

TEST_CASE("however many requests all have refused, nothing is lost", "[refused_requests]") {
  SharedMemory shared{2};
  RefusedRequests a{shared.control_block(), 0};
  RefusedRequests b{shared.control_block(), 1};
  const bool regular = GENERATE(true, false);
  constexpr std::uint32_t many = 10 * NodeControlBlock::refusals;
  const auto number = [&](std::uint32_t i) { return regular ? 7 + 2 * i : 7 + i * i; };
  for (std::uint32_t i = 0; i < many; ++i) {
    a.refuse(number(i));
    b.refuse(number(i));
  }
  const std::uint32_t last = number(many);
  CHECK(a.find(last) == -1);
  CHECK(b.find(last) == -1);
  b.refuse(last);
  CHECK(a.find(last - 1) == -1);
  CHECK(a.find(last) == 1);
}

TEST_CASE("a peer that has refused one request less than this rank is found by it",
          "[refused_requests]") {
  SharedMemory shared{2};
  RefusedRequests a{shared.control_block(), 0};
  RefusedRequests b{shared.control_block(), 1};
  constexpr std::uint32_t many = 10 * NodeControlBlock::refusals;
  for (std::uint32_t i = 0; i < many; ++i) {
    if (i != 3) a.refuse(i * i);
    b.refuse(i * i);
  }
  CHECK(a.find(many * many) == 1);
}

TEST_CASE("a peer may refuse many requests in a row before this rank does", "[refused_requests]") {
  SharedMemory shared{2};
  RefusedRequests a{shared.control_block(), 0};
  RefusedRequests b{shared.control_block(), 1};
  const std::uint32_t step = GENERATE(1U, 2U, 255U, 256U);
  const std::uint32_t many =
      step > 255 ? NodeControlBlock::refusals - 1 : 10 * NodeControlBlock::refusals;
  const std::uint32_t first = 0U - 5 * step;  // numbers wrap
  for (std::uint32_t i = 0; i < many; ++i) b.refuse(first + i * step);
  CHECK(a.find(first - 1) == -1);
  for (std::uint32_t i = 0; i < many; ++i) {
    CHECK(a.find(first + i * step) == 1);
    a.refuse(first + i * step);
    CHECK(a.find(first + (i + 1) * step - 1) == -1);
  }
  b.refuse(first + many * step);
  CHECK(a.find(first + many * step) == 1);
}

TEST_CASE("a request started in a row of refused ones is found", "[refused_requests]") {
  SharedMemory shared{2};
  RefusedRequests a{shared.control_block(), 0};
  RefusedRequests b{shared.control_block(), 1};
  for (std::uint32_t i = 1; i <= 100; ++i) {
    if (i != 50) a.refuse(i);
    b.refuse(i);
    CHECK(a.find(i) == (i < 50 ? -1 : 1));
  }
}

TEST_CASE("a peer may refuse requests while this rank looks", "[refused_requests]") {
  SharedMemory shared{2};
  RefusedRequests a{shared.control_block(), 0};
  RefusedRequests b{shared.control_block(), 1};
  constexpr std::uint32_t many = 10'000;
  const auto number = [](std::uint32_t i) { return i * i; };
  for (std::uint32_t i = 0; i < many; ++i) a.refuse(number(i));
  std::thread peer{[&] {
    for (std::uint32_t i = 0; i < many; ++i) b.refuse(number(i));
    b.refuse(number(many));
  }};
  while (a.find(number(many) - 1) == -1 && a.find(number(many)) == -1) {
  }
  CHECK(a.find(number(many) - 1) == -1);
  peer.join();
}

TEST_CASE("a node side without a control block finds nothing, and changes nothing", "[node]") {
  TeamEnvironment apart;
  apart.size = 3;
  TeamContext team{apart, {}, nullptr};
  NodeCallTracker node{team};
  CHECK_FALSE(node.is_there());
  CHECK(team.waiter().bells == nullptr);
  node.announce_only();
  node.check();
  node.leak_pools_in_use();
  CHECK(node.seen({}) == Imbalance{});
  CHECK(node.rendezvous() == nullptr);
  CHECK(node.find_refused_request(7) == -1);
  CHECK(node.abort(5) == 5);
  CHECK(node.abort_reason() == 0);
  CHECK(node.missing().empty());
  CHECK(node.waits_for().empty());
}
