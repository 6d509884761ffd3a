// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"
#include "modelled.hpp"

#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/model.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <utility>
#include <vector>

using namespace modelled;
using papcoll::gpu::detail::Flow;
using papcoll::gpu::detail::share_fairly;

namespace {

ModelOptions times_only() {
  ModelOptions options;
  options.move_no_data = true;
  return options;
}

/// A process that may do anything on four devices, and each of whose operations has a stream.
struct OfFour {
  explicit OfFour(DeviceMachine machine) : model(std::move(machine), times_only()) {
    for (int from = 0; from < api.devices(); ++from) {
      memory.push_back(api.allocate(from, std::size_t{1} << 34U));
      for (int to = 0; to < api.devices(); ++to) api.enable_access(from, to);
    }
  }

  /// Each at other bytes.
  std::byte* part(int device, std::size_t bytes) {
    next += bytes;
    return (device < 0 ? host : memory[static_cast<std::size_t>(device)]) + next - bytes;
  }

  Event copy(int from, int to, double bytes) {
    const int device = to < 0 ? from : to;
    const Stream stream = api.make_stream(device);
    const Event event = api.make_event(device, false);
    const auto n = static_cast<std::size_t>(bytes);
    std::byte* const source = part(from, n);
    api.copy(part(to, n), source, n, stream);
    api.record(event, stream);
    return event;
  }

  /// When it is complete.
  double end(Event event) {
    while (!api.is_complete(event)) {
    }
    return model.now();
  }

  Model model;
  Api& api = model.process(0);
  std::vector<std::byte*> memory;
  std::byte* host = api.allocate_host(std::size_t{1} << 34U);
  std::size_t next = 0;
};

bool nearly(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

/// A flow that loads resources with these weights.
Flow flow_of(std::vector<papcoll::gpu::detail::Load> loads) { return {std::move(loads), 0, 0}; }

}  // namespace

TEST_CASE("a copy takes its latency, and its bytes at the link's rate", "[gpu]") {
  OfFour m(four());
  CHECK(nearly(m.end(m.copy(0, 1, 1e6)), copy_start + 1e6 / 100e9));
  const double then = m.model.now();
  CHECK(nearly(m.end(m.copy(-1, 2, 1e6)), then + copy_start + 1e6 / 50e9));
  const double later = m.model.now();
  CHECK(nearly(m.end(m.copy(2, 2, 1e6)), later + 4e-6 + 2e6 / 2.1e12));  // reads and writes
}

TEST_CASE("copies over one link share it; over two, or both ways, they do not", "[gpu]") {
  OfFour one(four());
  const Event brief = one.copy(0, 1, 1e6);
  const Event slow = one.copy(0, 1, 3e6);
  CHECK(nearly(one.end(brief), copy_start + 2e6 / 100e9));
  CHECK(nearly(one.end(slow), copy_start + 4e6 / 100e9));

  OfFour both(four());
  const Event there = both.copy(0, 1, 1e6);
  const Event back = both.copy(1, 0, 1e6);
  const Event aside = both.copy(0, 2, 1e6);
  CHECK(nearly(both.end(there), copy_start + 1e6 / 100e9));
  CHECK(both.api.is_complete(back));
  CHECK(both.api.is_complete(aside));
}

TEST_CASE("who begins later shares from then on", "[gpu]") {
  OfFour m(four());
  const Event first = m.copy(0, 1, 4e6);  // alone for 24 us
  const Event other = m.copy(2, 3, 1e6);
  CHECK(nearly(m.end(other), copy_start + 10e-6));
  const Event second = m.copy(0, 1, 1e6);  // flows from 14 + 10 + 14 us on
  CHECK(nearly(m.end(second), copy_start + 10e-6 + copy_start + 20e-6));
  CHECK(nearly(m.end(first), copy_start + 50e-6));
}

TEST_CASE("pairs of different sockets share a link each way", "[gpu]") {
  OfFour m(DeviceMachine::two_sockets(2, 100e9, 25e9, 50e9, 10e-6));
  const Event across = m.copy(0, 2, 1e6);
  const Event beside = m.copy(1, 3, 1e6);
  const Event within = m.copy(0, 1, 1e6);
  const Event back = m.copy(3, 0, 1e6);
  CHECK(nearly(m.end(within), copy_start + 10e-6));
  CHECK(nearly(m.end(back), copy_start + 40e-6));
  CHECK(nearly(m.end(across), copy_start + 80e-6));
  CHECK(m.api.is_complete(beside));
}

TEST_CASE("three flows on two links are max-min fair", "[gpu]") {
  // The first and second share link 0, the second and third link 1.
  Flow a = flow_of({{0, 1}});
  Flow b = flow_of({{0, 1}, {1, 1}});
  Flow c = flow_of({{1, 1}});
  share_fairly({&a, &b, &c}, {100, 60});
  CHECK(nearly(a.rate, 70));
  CHECK(nearly(b.rate, 30));
  CHECK(nearly(c.rate, 30));
  b.loads[1].weight = 2;  // 60 = 2 b + c
  share_fairly({&a, &b, &c}, {100, 60});
  CHECK(nearly(a.rate, 80));
  CHECK(nearly(b.rate, 20));
  CHECK(nearly(c.rate, 20));
  b.loads[0].weight = 4;  // 100 = a + 4 b is used up as well
  share_fairly({&a, &b, &c}, {100, 60});
  CHECK(nearly(a.rate, 20));
  CHECK(nearly(b.rate, 20));
  CHECK(nearly(c.rate, 20));

  // The same by copies: a 70, b 30, c 30 bytes a second.
  DeviceMachine machine = DeviceMachine::linked(3, 100, 100, 0);
  machine.links.clear();
  machine.launch = 0;
  const int left = machine.add_link("left", 100);
  const int right = machine.add_link("right", 60);
  machine.routes[{0, 1}] = {{left}, 0};
  machine.routes[{0, 2}] = {{left, right}, 0};
  machine.routes[{1, 2}] = {{right}, 0};
  OfFour m(machine);
  const Event first = m.copy(0, 1, 700);
  const Event second = m.copy(0, 2, 600);
  const Event third = m.copy(1, 2, 300);
  CHECK(nearly(m.end(first), 10));
  CHECK(m.api.is_complete(third));
  CHECK(nearly(m.end(second), 15));  // 300 at 30, then 300 at 60
}

TEST_CASE("every flow has a resource that is used up and on which none is faster", "[gpu]") {
  std::mt19937 random(1);
  const auto upto = [&random](std::size_t n) { return random() % n; };
  for (int round = 0; round < 300; ++round) {
    std::vector<double> room(1 + upto(6));
    for (double& r : room) r = static_cast<double>(1 + upto(20));
    std::vector<Flow> flows(1 + upto(12));
    std::vector<Flow*> all;
    for (Flow& f : flows) {
      for (std::size_t r = 0; r < room.size(); ++r) {
        if (upto(2) == 0) f.loads.push_back({r, static_cast<double>(1 + upto(3))});
      }
      if (f.loads.empty()) f.loads.push_back({0, 1});
      all.push_back(&f);
    }
    share_fairly(all, room);
    std::vector<double> used(room.size(), 0), fastest(room.size(), 0);
    for (const Flow& f : flows) {
      for (const auto& load : f.loads) {
        used[load.resource] += load.weight * f.rate;
        fastest[load.resource] = std::max(fastest[load.resource], f.rate);
      }
    }
    for (std::size_t r = 0; r < room.size(); ++r) CHECK(used[r] <= room[r] * (1 + 1e-9));
    for (const Flow& f : flows) {
      CHECK(std::any_of(f.loads.begin(), f.loads.end(), [&](const auto& load) {
        return nearly(used[load.resource], room[load.resource]) &&
               nearly(fastest[load.resource], f.rate);
      }));
    }
  }
}

TEST_CASE("a kernel is as fast as memories and links allow", "[gpu]") {
  OfFour m(four());
  const Stream stream = m.api.make_stream(0);
  const Event event = m.api.make_event(0, false);
  const std::plus<> plus;
  const auto reducer = papcoll::gpu::host_reducer<float>(plus);
  const auto run = [&](std::vector<int> in, std::vector<int> out) {
    Operands o;
    for (const int device : in) o.in[o.inputs++] = m.part(device, 4000000);
    for (const int device : out) o.out[o.outputs++] = m.part(device, 4000000);
    const double then = m.model.now();
    m.api.combine(o, 1000000, reducer, stream);
    m.api.record(event, stream);
    return m.end(event) - then;
  };
  CHECK(nearly(run({0, 0}, {0}), 4e-6 + 3 * 4e6 / 2.1e12));
  CHECK(nearly(run({0, 0, 0, 0, 0, 0, 0, 0}, {0, 0}), 4e-6 + 10 * 4e6 / 2.1e12));
  CHECK(nearly(run({0, 1}, {0}), copy_start + 4e6 / 100e9));
  CHECK(nearly(run({1, 1, 2}, {0}), copy_start + 2 * 4e6 / 100e9));
  CHECK(nearly(run({0, 1, 2, 3}, {0, 1, 2, 3}), copy_start + 4e6 / 100e9));  // both ways at once
  CHECK(nearly(run({0, -1}, {-1}), copy_start + 4e6 / 50e9));
}

TEST_CASE("jitter makes operations later, the same for the same seed", "[gpu]") {
  const auto end = [](std::uint64_t seed) {
    ModelOptions options = times_only();
    options.jitter = 5e-6;
    options.seed = seed;
    Model model(four(), options);
    Api& api = model.process(0);
    api.copy(api.allocate(0, 1000), api.allocate_host(1000), 1000, nullptr);
    model.run();
    return model.now();
  };
  CHECK(end(1) == end(1));
  CHECK(end(1) != end(2));
  CHECK(end(1) > copy_start);
  CHECK(end(1) < copy_start + 6e-6);
}

TEST_CASE("thousands of operations take little time", "[gpu]") {
  OfFour m(four());
  const auto began = std::chrono::steady_clock::now();
  std::vector<Stream> streams;
  std::vector<Event> events;
  for (int d = 0; d < 4; ++d) {
    for (int k = 0; k < 8; ++k) {
      streams.push_back(m.api.make_stream(d));
      events.push_back(m.api.make_event(d, false));
    }
  }
  for (std::size_t k = 0; k < 5000; ++k) {
    const std::size_t s = k % streams.size();
    const int device = static_cast<int>(s / 8);
    std::byte* const from = m.part((device + 1) % 4, 1000 * (1 + k % 7));
    m.api.wait(streams[s], events[(s + 5) % streams.size()]);
    m.api.copy(m.part(device, 10000), from, 1000 * (1 + k % 7), streams[s]);
    m.api.record(events[s], streams[s]);
  }
  m.model.run();
  CHECK_FALSE(m.model.stuck());
  CHECK(m.model.problems().empty());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  INFO(took.count() << " s");
  CHECK(took.count() < 20);  // 0.1 s; more under sanitizers
}
