// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/gpu/model.hpp>
#include <papcoll/gpu/multi_path.hpp>

#include <cstddef>
#include <cstring>
#include <optional>
#include <vector>

// Copies over several paths on the model: every byte, no race, and never slower than one path.

using namespace papcoll::gpu;

namespace {

constexpr double latency = 6e-6;
constexpr double operation = 10e-6;  ///< what an operation takes: the latency and its launch

/// Paths from device 0 to 1 of `devices` that are all linked.
std::vector<Path> paths_between(int devices, double direct, double host) {
  std::vector<Path> paths{{Path::direct, direct, direct, operation}};
  for (int via = 2; via < devices; ++via) paths.push_back({via, direct, direct, operation});
  paths.push_back({Path::host, host, host, operation});
  return paths;
}

struct Copied {
  double seconds = 0;
  bool right = true;
  bool clean = true;
  std::size_t waits = 0;
};

/// Two copies, one after the other, of which the second is timed.
Copied copied_by(const std::vector<Path>& paths, int devices, double direct, double host,
                 std::size_t bytes, std::size_t slot_bytes, bool data = true,
                 std::optional<std::size_t> left_out = {}) {
  ModelOptions options;
  options.move_no_data = !data;
  Model model{DeviceMachine::linked(devices, direct, host, latency), options};
  if (left_out) model.leave_out_wait(*left_out);
  Api& api = model.process(0);
  Copied result;
  std::byte* const from = api.allocate(0, bytes);
  std::byte* const to = api.allocate(1, bytes);
  const Stream stream = api.make_stream(1);
  {
    MultiPath copies{api, 0, 1, paths, {}, slot_bytes};
    std::vector<unsigned char> data_of(bytes);
    for (int round = 0; round < 2; ++round) {
      for (std::size_t i = 0; data && i < bytes; ++i) {
        data_of[i] = static_cast<unsigned char>(i * 7 + i / 256 + static_cast<unsigned>(round));
      }
      if (data) std::memcpy(model.reach(from), data_of.data(), bytes);
      const double begin = model.now();
      copies.copy(to, from, bytes, stream);
      if (!left_out) model.run();
      result.seconds = model.now() - begin;
      if (data && !left_out) {
        result.right &= std::memcmp(model.reach(to), data_of.data(), bytes) == 0;
      }
    }
    model.run();
  }
  api.destroy_stream(stream);
  api.free(from);
  api.free(to);
  result.waits = model.waits();
  result.clean = model.problems().empty() && model.leftovers().empty();
  return result;
}

double single_path(double direct, std::size_t bytes) {
  return operation + static_cast<double>(bytes) / direct;
}

}  // namespace

TEST_CASE("copies over several paths are right, without a race", "[gpu][paths]") {
  for (const int devices : {2, 4}) {
    const auto paths = paths_between(devices, 72e9, 60e9);
    for (const std::size_t bytes : {1U, 4096U, 3'000'001U, 8'000'000U}) {
      for (const std::size_t slot : {std::size_t{1} << 16U, MultiPath::default_slot_bytes}) {
        CAPTURE(devices, bytes, slot);
        const Copied c = copied_by(paths, devices, 72e9, 60e9, bytes, slot);
        CHECK(c.right);
        CHECK(c.clean);
      }
    }
  }
}

TEST_CASE("the order of slots is needed", "[gpu][paths]") {
  // Many waits left out are races. Others are not needed: the first of each slot is for an event
  // that was never recorded, and what begins a path of the first copy is there already.
  const auto paths = paths_between(2, 72e9, 60e9);
  const auto copied = [&](std::optional<std::size_t> left_out) {
    return copied_by(paths, 2, 72e9, 60e9, 12'000'000, 1U << 20U, true, left_out);
  };
  const std::size_t all = copied({}).waits;
  std::size_t found = 0;
  for (std::size_t k = 0; k < all; ++k) found += copied(k).clean ? 0U : 1U;
  CHECK(3 * found > all);
}

TEST_CASE("several paths are never slower than one, and gain what they should", "[gpu][paths]") {
  const auto gain = [](int devices, double host, std::size_t bytes) {
    const auto paths = paths_between(devices, 72e9, host);
    const Copied c =
        copied_by(paths, devices, 72e9, host, bytes, MultiPath::default_slot_bytes, false);
    CHECK(c.clean);
    return single_path(72e9, bytes) / c.seconds;
  };
  for (std::size_t bytes = 4096; bytes <= 1U << 28U; bytes *= 4) {
    for (const double host : {60e9, 12e9}) {
      CAPTURE(bytes, host);
      CHECK(gain(2, host, bytes) >= 1 - 1e-9);
      CHECK(gain(4, host, bytes) >= 1 - 1e-9);
    }
  }
  CHECK(gain(2, 60e9, std::size_t{64} << 20U) >= 1.6);
  CHECK(gain(4, 60e9, std::size_t{64} << 20U) >= 2.7);
}
