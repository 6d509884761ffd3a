// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/gpu/measure_paths.hpp>
#include <papcoll/gpu/model.hpp>
#include <papcoll/gpu/multi_path.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

// Paths measured on the model, whose rates and latencies are known.

using namespace papcoll::gpu;

namespace {

constexpr double wire = 6e-6;  ///< seconds until the first byte is there

struct Measured {
  std::vector<Path> paths;
  std::vector<std::string> problems;
  std::vector<std::string> leftovers;
};

Measured measured_on(const DeviceMachine& machine, int from, int to) {
  ModelOptions options;
  options.move_no_data = true;
  Model model{machine, options};
  Measured m;
  m.paths = measure_paths(model.process(0), from, to, [&] { return model.now(); });
  m.problems = model.problems();
  m.leftovers = model.leftovers();
  return m;
}

bool is_near(double value, double wanted) { return std::abs(value - wanted) <= 0.01 * wanted; }

bool has(const Path& path, int via, double first, double second, double latency) {
  CAPTURE(path.via, path.first_rate, path.second_rate, path.latency);
  CHECK(path.via == via);
  CHECK(is_near(path.first_rate, first));
  CHECK(is_near(path.second_rate, second));
  CHECK(is_near(path.latency, latency));
  return path.via == via;
}

}  // namespace

TEST_CASE("measured paths have the rates and latencies of linked devices", "[gpu][paths]") {
  const DeviceMachine machine = DeviceMachine::linked(4, 72e9, 60e9, wire);
  const double operation = wire + machine.launch;
  const Measured m = measured_on(machine, 2, 0);
  REQUIRE(m.paths.size() == 4);
  has(m.paths[0], Path::direct, 72e9, 72e9, operation);
  has(m.paths[1], 1, 72e9, 72e9, operation);
  has(m.paths[2], 3, 72e9, 72e9, operation);
  has(m.paths[3], Path::host, 60e9, 60e9, operation);
  CHECK(m.problems.empty());
  CHECK(m.leftovers.empty());
}

TEST_CASE("measured hops of one path may differ", "[gpu][paths]") {
  const DeviceMachine machine = DeviceMachine::two_sockets(2, 72e9, 28e9, 53e9, wire);
  const double operation = wire + machine.launch;
  const Measured across = measured_on(machine, 0, 3);
  REQUIRE(across.paths.size() == 4);
  has(across.paths[0], Path::direct, 28e9, 28e9, operation);
  has(across.paths[1], 1, 72e9, 28e9, operation);
  has(across.paths[2], 2, 28e9, 72e9, operation);
  has(across.paths[3], Path::host, 53e9, 53e9, operation);
  const Measured within = measured_on(machine, 0, 1);
  REQUIRE(within.paths.size() == 4);
  has(within.paths[0], Path::direct, 72e9, 72e9, operation);
  has(within.paths[1], 2, 28e9, 28e9, operation);
}

TEST_CASE("a device alone has its memory and the host", "[gpu][paths]") {
  DeviceMachine machine = DeviceMachine::one_device(50e9, 2e-6);
  const Measured m = measured_on(machine, 0, 0);
  REQUIRE(m.paths.size() == 2);
  // Read once and written once; nothing to cross.
  has(m.paths[0], Path::direct, machine.devices[0].memory_rate / 2,
      machine.devices[0].memory_rate / 2, machine.launch);
  has(m.paths[1], Path::host, 50e9, 50e9, machine.launch + 2e-6);
  CHECK(m.problems.empty());
  CHECK(m.leftovers.empty());
}

TEST_CASE("without access a pair has the paths that remain", "[gpu][paths]") {
  DeviceMachine machine = DeviceMachine::linked(3, 72e9, 60e9, wire);
  machine.access.erase({1, 0});  // 1 does not reach 0; both reach 2
  const Measured by_third = measured_on(machine, 0, 1);
  REQUIRE(by_third.paths.size() == 2);
  CHECK(by_third.paths[0].via == 2);
  CHECK(by_third.paths[1].via == Path::host);
  machine.access.clear();
  const Measured by_host = measured_on(machine, 0, 1);
  REQUIRE(by_host.paths.size() == 1);
  CHECK(by_host.paths[0].via == Path::host);
  CHECK(by_host.problems.empty());
}

TEST_CASE("copies take as long as the measured paths say", "[gpu][paths]") {
  ModelOptions options;
  options.move_no_data = true;
  Model model{DeviceMachine::linked(4, 72e9, 60e9, wire), options};
  Api& api = model.process(0);
  const auto paths = measure_paths(api, 0, 1, [&] { return model.now(); });
  const std::size_t bytes = std::size_t{64} << 20U;
  OwnedMemory from{api, api.allocate(0, bytes)};
  OwnedMemory to{api, api.allocate(1, bytes)};
  OwnedStream stream{api, api.make_stream(1)};
  MultiPath copies{api, 0, 1, paths};
  const double begin = model.now();
  copies.copy(to.get(), from.get(), bytes, stream.get());
  model.run();
  CHECK(is_near((model.now() - begin) / seconds_of(share_out(paths, bytes)), 1.0));
}

TEST_CASE("a device that is lost ends the measurement", "[gpu][paths]") {
  Model model{DeviceMachine::linked(2, 72e9, 60e9, wire)};
  model.lose_device_after(1, 20);
  CHECK_THROWS_AS(measure_paths(model.process(0), 0, 1, [&] { return model.now(); }), device_error);
}
