// SPDX-License-Identifier: BSD-3-Clause
// What a rank writes for its peers: where calls put it.

#include "catch.hpp"

#include <papcoll/base/config.hpp>
#include <papcoll/base/copying.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/error.hpp>
#include <papcoll/node/arena_heap.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/node_context.hpp>
#include <papcoll/node/pool.hpp>
#include <papcoll/node/waiting/doorbells.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

using papcoll::NodeContext;
using papcoll::NodeControlBlock;
using papcoll::Pool;

namespace {

constexpr std::size_t megabyte = std::size_t{1} << 20U;

/// One rank's part of a node's memory.
struct PoolMemory {
  explicit PoolMemory(std::size_t size) : bytes(size) {
    node.pool = bytes.data();
    node.pool_bytes = size;
  }
  std::vector<std::byte> bytes;
  papcoll::Node node;
};

/// Memory of a node that the pools of several communicators share.
struct PoolSource {
  PoolSource() {
    node.pool = bytes.data();
    node.pool_bytes = bytes.size();
    node.taken_pools = &taken;
  }
  bool has(const std::byte* at) const {
    const auto places = taken.places();
    return std::find(places.begin(), places.end(), at) != places.end();
  }
  struct Pages final : papcoll::NodePages {
    void reserve(const std::byte*, std::size_t) const override {}
  };
  Pages pages;
  std::vector<std::byte> bytes = std::vector<std::byte>(16 * megabyte);
  papcoll::detail::ArenaHeap heap{bytes.data(), bytes.size(), pages};
  papcoll::detail::TakenPools taken{&heap};
  papcoll::Node node;
};

std::byte* next_of(Pool& pool, std::size_t n) {
  pool.end_call();
  return pool.get_shared(n);
}

}  // namespace

TEST_CASE("calls use the pool in turns, and each keeps its place", "[node]") {
  PoolMemory memory{8 * megabyte};
  Pool pool{&memory.node};
  std::set<std::byte*> places;
  const std::size_t n = 100'000;
  for (int call = 0; call < 100; ++call) {
    std::byte* const at = next_of(pool, n);
    CHECK(at >= memory.bytes.data());
    CHECK(at + n <= memory.bytes.data() + memory.bytes.size());
    CHECK(pool.get(n / 2) == at);
    CHECK(pool.get(n) == at);
    for (std::byte* const other : places)
      CHECK((other == at || other >= at + n || other + n <= at));
    places.insert(at);
  }
  CHECK(places.size() >= megabyte / 2 / n);
  CHECK(places.size() <= 4 * megabyte / n);
}

TEST_CASE("a call's memory is at the beginning of the pool where turns gain nothing", "[node]") {
  PoolMemory memory{8 * megabyte};
  Pool pool{&memory.node};
  for (int call = 0; call < 3; ++call) {
    CHECK(next_of(pool, 64) == memory.bytes.data());
    CHECK(next_of(pool, 5 * megabyte) == memory.bytes.data());
  }
  PoolMemory little{100'000};
  Pool without_turns{&little.node};
  for (int call = 0; call < 3; ++call) CHECK(next_of(without_turns, 50'000) == little.bytes.data());
  CHECK(without_turns.get_shared(200'000) == nullptr);
}

TEST_CASE("a pool whose turns find no pages stays at its beginning", "[node]") {
  PoolMemory memory{8 * megabyte};
  struct Pages final : papcoll::NodePages {
    void reserve(const std::byte* at, std::size_t bytes) const override {
      if (at + bytes > end) throw papcoll::system_error("no pages", ENOSPC);
    }
    const std::byte* end = nullptr;
  } pages;
  pages.end = memory.bytes.data() + megabyte / 4;
  memory.node.pages = {nullptr, &pages};
  Pool pool{&memory.node};
  for (int call = 0; call < 3; ++call) CHECK(next_of(pool, 50'000) == memory.bytes.data());
  CHECK(pool.get_shared(megabyte) == nullptr);
}

TEST_CASE("a pool beside others moves where there is room, and gives back what nobody reads",
          "[node]") {
  PoolSource source;
  Pool pool{&source.node};
  CHECK(pool.backed() == 0);
  pool.end_call();
  std::byte* const little = pool.get_shared(1000);
  CHECK(source.has(little));
  CHECK(pool.backed() == 65536);
  std::byte* const larger = pool.get_shared(100'000);
  CHECK(larger != little);
  CHECK(source.has(little));  // peers may read it
  CHECK(pool.backed() >= 100'000);
  pool.forget_former();
  CHECK_FALSE(source.has(little));
  for (int call = 0; call < 20; ++call) {
    std::byte* const at = next_of(pool, 50'000);
    CHECK(at >= source.bytes.data());
    CHECK(at + 50'000 <= source.bytes.data() + source.bytes.size());
  }
  pool.forget_former();
  REQUIRE(source.taken.places().size() == 1);
  // Twice as much has no room: as much as is asked for.
  const std::byte* const end = source.taken.places().front() + pool.backed();
  const auto left = static_cast<std::size_t>(source.bytes.data() + source.bytes.size() - end);
  const std::size_t rest = left / 1024 * 1024;
  CHECK(pool.back(rest));
  CHECK(pool.backed() == rest);
  CHECK(!pool.back(rest + 1024));
  CHECK(pool.backed() == rest);
}

TEST_CASE("what a call left in the pool stays when the next call takes the room for turns",
          "[node]") {
  PoolSource source;
  Pool pool{&source.node};
  const std::size_t n = 5 * megabyte;  // more than what is used in turns
  std::byte* const lent = next_of(pool, n);
  REQUIRE(lent != nullptr);
  std::fill_n(lent, n, std::byte{7});
  REQUIRE(next_of(pool, 50'000) != nullptr);
  CHECK(std::count(lent, lent + n, std::byte{7}) == static_cast<std::ptrdiff_t>(n));
}

TEST_CASE("a place in the pool is written again when all have left the call that used it",
          "[node]") {
  PoolMemory memory{8 * megabyte};
  memory.node.peers = papcoll::PeerMemory{memory.bytes.data(), memory.bytes.size(), {}};
  memory.node.copies = papcoll::detail::make_shared<papcoll::detail::CopyChoice>();
  std::vector<std::uint64_t> control(NodeControlBlock::bytes(2, 64) / 8 + 8);
  std::vector<std::uint64_t> words(papcoll::Doorbells::bytes(2) / 8 + 8);
  const auto aligned = [](std::vector<std::uint64_t>& v) {
    auto* const at = reinterpret_cast<std::byte*>(v.data());
    return at + (0 - reinterpret_cast<std::uintptr_t>(at)) % papcoll::cache_line;
  };
  const auto context_of = [&](int rank, const papcoll::Node* node) {
    return std::make_unique<NodeContext>(NodeControlBlock{aligned(control), 2, 64},
                                         papcoll::Doorbells{aligned(words), 2}, rank, 1, node);
  };
  const auto me = context_of(0, &memory.node);
  const auto other = context_of(1, nullptr);
  const papcoll::Reducer none;
  const auto begin = [&](NodeContext& context) {
    context.begin({}, none);
    REQUIRE(context.enter());
    context.announce(nullptr, 0, 0);
  };
  begin(*other);
  std::byte* former = nullptr;
  for (int call = 1; call <= 3; ++call) {  // the other rank is still in the first
    begin(*me);
    std::byte* const place = me->shared_pool(50'000);
    CHECK(place != nullptr);
    CHECK(place != former);
    former = place;
    CHECK(me->use_pool());
    CHECK(me->use_pool());
    me->leave();
  }
  begin(*me);
  CHECK(me->shared_pool(5 * megabyte) == memory.bytes.data());  // where the other may read
  CHECK_FALSE(me->use_pool());
  other->leave();
  CHECK_FALSE(me->use_pool());
  for (int call = 2; call <= 3; ++call) {
    begin(*other);
    other->leave();
  }
  CHECK(me->use_pool());
  me->leave();
}
