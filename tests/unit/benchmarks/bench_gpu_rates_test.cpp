// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/bounds.hpp"
#include "gpu/json_line.hpp"
#include "gpu/rates.hpp"

#include "catch.hpp"

#include <papcoll/gpu/model.hpp>

#include <cmath>
#include <cstddef>
#include <limits>

// What gpu_bench measures, on the model of a GPU.

using namespace papcoll::gpu;

namespace {

constexpr std::size_t length = std::size_t{256} << 20U;

bool is_about(double value, double wanted) { return std::abs(value - wanted) <= 0.01 * wanted; }

ModelOptions without_data() {
  ModelOptions options;
  options.move_no_data = true;
  return options;
}

}  // namespace

TEST_CASE("bounds of allreduces on one GPU", "[bench]") {
  // Four ranks, 1 GiB, 4.3 TB/s: 2 ms.
  CHECK(is_about(bench::memory_bound(std::size_t{1} << 30U, 4, 4.3e12), 2.0e-3));
  CHECK(is_about(bench::host_bound(1'000'000, 4, 50e9), 120e-6));
  CHECK(bench::host_bound(1'000'000, 1, 50e9) == 0);
}

TEST_CASE("lines of JSON", "[bench]") {
  CHECK(bench::JsonLine{"x"}
            .add("text", "a b")
            .add("count", std::size_t{3})
            .add("rate", 1.5e9)
            .add("ok", true)
            .text() ==
        "{\"what\": \"x\", \"text\": \"a b\", \"count\": 3, \"rate\": 1.5e+09, \"ok\": true}");
  CHECK(bench::JsonLine{"x"}.add("y", std::numeric_limits<double>::infinity()).text() ==
        "{\"what\": \"x\", \"y\": null}");
}

TEST_CASE("rates of a GPU's memory, and of the way to its host", "[bench]") {
  Model model{DeviceMachine::one_device(50e9, 2e-6), without_data()};
  Api& api = model.process(0);
  const bench::Now now = [&] { return model.now(); };
  CHECK(is_about(bench::copy_traffic(api, 0, std::size_t{4} << 30U, now), 2.1e12));
  const bench::HostRates rates = bench::host_rates(api, 0, 0, length, now);
  CHECK(is_about(rates.down, 50e9));
  CHECK(is_about(rates.up, 50e9));
  CHECK(is_about(rates.duplex, 50e9));
  CHECK(model.problems().empty());
  CHECK(model.leftovers().empty());
}

TEST_CASE("both ways to the host at once may be slower than each alone", "[bench]") {
  DeviceMachine machine = DeviceMachine::one_device(50e9, 2e-6);
  machine.host_memory_rate = 60e9;
  Model model{machine, without_data()};
  const bench::HostRates rates =
      bench::host_rates(model.process(0), 0, 0, length, [&] { return model.now(); });
  CHECK(is_about(rates.down, 50e9));
  CHECK(is_about(rates.up, 50e9));
  CHECK(is_about(rates.duplex, 30e9));
}

TEST_CASE("a direct path and the host together reach the sum of both", "[bench]") {
  for (const double host_memory : {1e15, 80e9}) {
    DeviceMachine machine = DeviceMachine::linked(2, 72e9, 53e9, 6e-6);
    machine.host_memory_rate = host_memory;
    Model model{machine, without_data()};
    const bench::PathSum sum =
        bench::path_sum(model.process(0), 0, 1, length, [&] { return model.now(); });
    CAPTURE(sum.direct, sum.host, sum.both);
    CHECK(is_about(sum.direct, 72e9));
    CHECK(sum.host > 36e9);
    CHECK(sum.part() >= 0.95);
    CHECK(sum.part() <= 1.01);
    CHECK(model.problems().empty());
    CHECK(model.leftovers().empty());
  }
}
