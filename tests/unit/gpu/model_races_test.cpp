// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"
#include "modelled.hpp"

#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/model.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

using namespace modelled;

namespace {

constexpr std::size_t race_bytes = 4096;

enum class Conflict { write_write, write_read, read_write };

/// Two processes with a stream and an event each, which use the same memory.
struct Two {
  explicit Two(std::uint64_t seed = 1) : model(four(), jittered(seed)) {}

  static ModelOptions jittered(std::uint64_t seed) {
    ModelOptions options;
    options.jitter = 100e-6;
    options.seed = seed;
    return options;
  }

  Model model;
  Api& first = model.process(0);
  Api& second = model.process(1);
  Stream on_first = first.make_stream(0);
  Stream on_second = second.make_stream(1);
  Event made = first.make_event(0, true);
  Event seen = second.import_event(1, first.export_event(made));
  std::byte* shared = first.allocate(0, race_bytes);
  std::byte* import = second.import_memory(1, first.export_memory(shared));
  std::byte* a = first.allocate(0, race_bytes);
  std::byte* b = second.allocate(1, race_bytes);

  /// The second process is behind the first one's event.
  void conflict(Conflict kind) {
    const bool first_writes = kind != Conflict::read_write;
    const bool second_writes = kind != Conflict::write_read;
    if (first_writes) first.copy(shared, a, race_bytes, on_first);
    if (!first_writes) first.copy(a, shared, race_bytes, on_first);
    first.record(made, on_first);
    second.wait(on_second, seen);
    if (second_writes) second.copy(import, b, race_bytes, on_second);
    if (!second_writes) second.copy(b, import, race_bytes, on_second);
    model.run();
  }
};

}  // namespace

TEST_CASE("a wait that is left out is a race in every order, and none is without", "[gpu]") {
  for (const Conflict kind : {Conflict::write_write, Conflict::write_read, Conflict::read_write}) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      Two right(seed);
      right.conflict(kind);
      CHECK(right.model.waits() == 1);
      CHECK(right.model.problems().empty());
      Two wrong(seed);
      wrong.model.leave_out_wait(0);
      wrong.conflict(kind);
      CHECK(wrong.model.waits() == 1);
      CHECK(wrong.model.problems().size() == 1);
    }
  }
}

TEST_CASE("a race is told by both operations", "[gpu]") {
  Two t;
  t.first.copy(t.shared + 1000, t.a, 100, t.on_first);
  t.second.copy(t.b, t.import + 1050, 200, t.on_second);
  REQUIRE(t.model.problems().size() == 1);
  CHECK(t.model.problems()[0] ==
        "papcoll: a race in import 1 of process 1 (4096 bytes of device 0): nothing puts the copy "
        "(process 1, stream 1 of device 1, operation 1, reads 200 bytes at offset 1050) behind the "
        "copy (process 0, stream 0 of device 0, operation 1, writes 100 bytes at offset 1000); "
        "record an event behind the one and wait for it before the other");
}

TEST_CASE("reads do not race, nor do accesses to other bytes", "[gpu]") {
  Two t;
  t.first.copy(t.a, t.shared, 2000, t.on_first);
  t.second.copy(t.b, t.import, 2000, t.on_second);
  t.first.copy(t.shared + 2000, t.a, 96, t.on_first);
  t.second.copy(t.import + 2096, t.b, 1000, t.on_second);
  t.second.copy(t.import + 3096, t.b, 0, t.on_second);
  CHECK(t.model.problems().empty());
  // Behind the one read, and not behind the other.
  t.first.copy(t.shared + 100, t.a, 1, t.on_first);
  CHECK(t.model.problems().size() == 1);
}

TEST_CASE("an order that goes through other streams is one", "[gpu]") {
  Two t;
  Api& third = t.model.process(2);
  const Stream stream = third.make_stream(2);
  const Event from_first = third.import_event(2, t.first.export_event(t.made));
  const Event on_third = third.make_event(2, true);
  const Event last = t.second.import_event(1, third.export_event(on_third));
  t.first.copy(t.shared, t.a, race_bytes, t.on_first);
  t.first.record(t.made, t.on_first);
  third.wait(stream, from_first);
  third.record(on_third, stream);
  t.second.wait(t.on_second, last);
  t.second.copy(t.b, t.import, race_bytes, t.on_second);
  CHECK(t.model.problems().empty());
}

TEST_CASE("an operation behind the record is not behind the event", "[gpu]") {
  Two t;
  t.first.record(t.made, t.on_first);
  t.first.copy(t.shared, t.a, race_bytes, t.on_first);
  t.second.wait(t.on_second, t.seen);
  t.second.copy(t.b, t.import, race_bytes, t.on_second);
  CHECK(t.model.problems().size() == 1);
}

TEST_CASE("what the host has seen complete is ordered, for that process", "[gpu]") {
  Two t;
  t.first.copy(t.shared, t.a, race_bytes, t.on_first);
  t.first.record(t.made, t.on_first);
  t.model.run();
  // Done, but nobody knows: the next order may be another.
  SECTION("nobody looks") {
    t.second.copy(t.b, t.import, race_bytes, t.on_second);
    CHECK(t.model.problems().size() == 1);
  }
  SECTION("it looks itself") {
    CHECK(t.second.is_complete(t.seen));
    t.second.copy(t.b, t.import, race_bytes, t.on_second);
    CHECK(t.model.problems().empty());
  }
  SECTION("the other looks") {
    CHECK(t.first.is_complete(t.made));
    t.second.copy(t.b, t.import, race_bytes, t.on_second);
    CHECK(t.model.problems().size() == 1);
  }
  SECTION("the other looks, and tells it") {
    CHECK(t.first.is_complete(t.made));
    t.model.order_hosts(0, 1);
    t.second.copy(t.b, t.import, race_bytes, t.on_second);
    CHECK(t.model.problems().empty());
  }
  SECTION("it was told before the other looked") {
    t.model.order_hosts(0, 1);
    CHECK(t.first.is_complete(t.made));
    t.second.copy(t.b, t.import, race_bytes, t.on_second);
    CHECK(t.model.problems().size() == 1);
  }
}

TEST_CASE("what a process told is what it knew then", "[gpu]") {
  Two t;
  t.first.copy(t.shared, t.a, race_bytes, t.on_first);
  t.first.record(t.made, t.on_first);
  const std::uint64_t before = t.first.publish();
  t.model.run();
  CHECK(t.first.is_complete(t.made));
  const std::uint64_t after = t.first.publish();
  t.second.on_published(0);
  t.second.on_published(before);
  SECTION("it had not looked") {
    t.second.copy(t.b, t.import, race_bytes, t.on_second);
    CHECK(t.model.problems().size() == 1);
  }
  SECTION("it had looked") {
    t.second.on_published(after);
    t.second.copy(t.b, t.import, race_bytes, t.on_second);
    CHECK(t.model.problems().empty());
  }
}

TEST_CASE("pinned memory of several processes is one", "[gpu]") {
  Two t;
  std::vector<std::byte> host(10000);
  t.first.pin(host.data(), 10000);
  t.second.pin(host.data(), 10000);
  t.first.copy(host.data() + 500, t.a, 1000, t.on_first);
  t.first.record(t.made, t.on_first);
  t.second.wait(t.on_second, t.seen);
  t.second.copy(t.b, host.data(), 1000, t.on_second);
  CHECK(t.model.problems().empty());
  t.first.copy(host.data() + 600, t.a, 1, t.on_first);
  REQUIRE(t.model.problems().size() == 1);
  CHECK(t.model.problems()[0].find("writes 1 bytes at offset 600") != std::string::npos);
  CHECK(t.model.problems()[0].find("reads 1000 bytes at offset 0") != std::string::npos);
  t.model.run();
  t.first.unpin(host.data());
  t.second.unpin(host.data());
  t.second.pin(host.data(), 10000);  // other users' by now
  t.second.copy(host.data() + 600, t.b, 1000, t.on_second);
  CHECK(t.model.problems().size() == 1);
}

TEST_CASE("many small parts are found by their bytes", "[gpu]") {
  Two t;
  for (std::size_t k = 0; k < 64; ++k) {
    if (k % 2 == 0) t.first.copy(t.shared + 64 * k, t.a, 64, t.on_first);
  }
  for (std::size_t k = 0; k < 64; ++k) {
    if (k % 2 == 1) t.second.copy(t.import + 64 * k, t.b, 64, t.on_second);
  }
  CHECK(t.model.problems().empty());
  t.first.copy(t.a, t.shared, 64 * 11, t.on_first);
  CHECK(t.model.problems().size() == 5);  // parts 1, 3, 5, 7 and 9
}

TEST_CASE("a race is found exactly where paths between operations say so", "[gpu]") {
  // Nodes are operations in the order in which they are asked for. Of streams and events: to which
  // nodes a path leads back.
  struct Node {
    std::size_t first = 0, last = 0;
    bool writes = false;
  };
  constexpr std::size_t streams = 3;
  int racy = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const auto upto = [&random](std::size_t n) { return random() % n; };
    ModelOptions options;
    options.move_no_data = true;
    Model model(four(), options);
    Api& api = model.process(0);
    std::vector<Stream> stream(streams);
    std::vector<Event> event(streams);
    for (std::size_t s = 0; s < streams; ++s) {
      stream[s] = api.make_stream(0);
      event[s] = api.make_event(0, false);
    }
    std::byte* const memory = api.allocate(0, 100);
    std::vector<int> unknown(100);  // of no GPU: not compared
    std::vector<Node> nodes;
    std::vector<std::vector<bool>> reached(streams), recorded(streams);
    const auto join = [](std::vector<bool>& into, const std::vector<bool>& from) {
      if (into.size() < from.size()) into.resize(from.size());
      for (std::size_t k = 0; k < from.size(); ++k) into[k] = into[k] || from[k];
    };
    bool expected = false;
    for (int step = 0; step < 14; ++step) {
      const std::size_t s = upto(streams);
      const std::size_t e = upto(streams);
      const std::size_t what = upto(5);
      if (what < 2) {
        Node node;
        node.first = upto(60);
        node.last = node.first + 1 + upto(40);
        node.writes = upto(2) == 0;
        for (std::size_t k = 0; k < nodes.size(); ++k) {
          const bool meet = nodes[k].first < node.last && node.first < nodes[k].last;
          const bool ordered = k < reached[s].size() && reached[s][k];
          expected = expected || (meet && (nodes[k].writes || node.writes) && !ordered);
        }
        const std::size_t bytes = node.last - node.first;
        if (node.writes) api.copy(memory + node.first, unknown.data(), bytes, stream[s]);
        if (!node.writes) api.copy(unknown.data(), memory + node.first, bytes, stream[s]);
        nodes.push_back(node);
        reached[s].resize(nodes.size());
        reached[s].back() = true;
      } else if (what == 2) {
        api.record(event[e], stream[s]);
        recorded[e] = reached[s];
      } else {
        api.wait(stream[s], event[e]);
        join(reached[s], recorded[e]);
      }
    }
    model.run();
    INFO("seed " << seed);
    CHECK(model.problems().empty() != expected);
    racy += expected ? 1 : 0;
  }
  CHECK(racy > 30);
  CHECK(racy < 270);
}
