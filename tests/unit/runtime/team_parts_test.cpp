// Parts of a team that know nothing of it: the gate, the ledger of refused requests, and the node
// side of a team that has none.

#include "catch.hpp"

#include <papcoll/config.hpp>
#include <papcoll/node/board.hpp>
#include <papcoll/runtime/basis.hpp>
#include <papcoll/runtime/node_rendezvous.hpp>
#include <papcoll/runtime/node_side.hpp>
#include <papcoll/runtime/refused_requests.hpp>
#include <papcoll/waiting/doorbells.hpp>

#include <cstddef>
#include <cstdint>
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
        board_(NodeBoard::bytes(ranks, chunk) / sizeof(Line) + 1),
        bells_(Doorbells::bytes(ranks) / sizeof(Line) + 1) {
    Doorbells::initialise(bells_.data()->bytes, ranks);
    board().initialise(1);
  }

  NodeBoard board() noexcept { return {board_.data()->bytes, ranks_, chunk}; }
  Doorbells bells() noexcept { return {bells_.data()->bytes, ranks_}; }

 private:
  int ranks_;
  std::vector<Line> board_;
  std::vector<Line> bells_;
};

}  // namespace

TEST_CASE("a gate opens when all are there, again and again", "[gate]") {
  SharedMemory shared{2};
  NodeRendezvous a{shared.board(), shared.bells()};
  NodeRendezvous b{shared.board(), shared.bells()};
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
  NodeRendezvous a{shared.board(), shared.bells()};
  NodeRendezvous b{shared.board(), shared.bells()};
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
  RefusedRequests a{shared.board(), 0};
  RefusedRequests b{shared.board(), 1};
  b.refuse(7);
  CHECK(a.find(6) == -1);
  CHECK(a.find(7) == 1);
  CHECK(a.find(8) == 1);  // as long as the request is there
  CHECK(b.find(7) == -1);
}

TEST_CASE("a request that both have refused is no problem", "[refused_requests]") {
  SharedMemory shared{2};
  RefusedRequests a{shared.board(), 0};
  RefusedRequests b{shared.board(), 1};
  b.refuse(7);
  CHECK(a.find(6) == -1);
  a.refuse(7);
  CHECK(a.find(9) == -1);
  CHECK(b.find(9) == -1);
}

TEST_CASE("numbers of requests wrap", "[refused_requests]") {
  SharedMemory shared{2};
  RefusedRequests a{shared.board(), 0};
  RefusedRequests b{shared.board(), 1};
  b.refuse(2);
  CHECK(a.find(0xfffffffeU) == -1);
  CHECK(a.find(2) == 1);
}

TEST_CASE("so many refused requests that their numbers are lost", "[refused_requests]") {
  SharedMemory shared{2};
  RefusedRequests a{shared.board(), 0};
  RefusedRequests b{shared.board(), 1};
  constexpr std::uint32_t kept = NodeBoard::refusals - 1;
  for (std::uint32_t i = 0; i < kept; ++i) b.refuse(1000 + i);
  CHECK(a.find(1) == -1);
  for (std::uint32_t i = 0; i < NodeBoard::refusals + 1; ++i) b.refuse(2000 + i);
  CHECK(a.find(1) == 1);
}

TEST_CASE("a node side without a board finds nothing, and changes nothing", "[node]") {
  Surroundings apart;
  apart.size = 3;
  TeamBasis basis{apart, {}};
  NodeSide node{basis};
  CHECK_FALSE(node.is_there());
  CHECK(basis.waiter.bells == nullptr);
  node.announce_only();
  node.check();
  node.keep_what_is_lent();
  CHECK(node.seen({}) == Imbalance{});
  CHECK(node.rendezvous() == nullptr);
  CHECK(node.find_refused_request(7) == -1);
  CHECK(node.abort(5) == 5);
  CHECK(node.abort_reason() == 0);
  CHECK(node.missing().empty());
  CHECK(node.waits_for().empty());
}
