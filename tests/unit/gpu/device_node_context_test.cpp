// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/gpu/device_slices.hpp>
#include <papcoll/gpu/shared_device.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device_node_context_team.hpp"

// Arrival-driven algorithms on memory of devices that the host cannot read, on the model: results,
// races, and what is left over.

using namespace papcoll;
using namespace device_team;

namespace {

gpu::DeviceMachine floor_devices(int n) { return gpu::DeviceMachine::linked(n, 72e9, 60e9, 6e-6); }

/// Everything that the algorithm serves, among so many ranks on so many devices; what was wrong
/// first.
template <class A> std::string floor_failure(int ranks, int devices, std::size_t count) {
  TeamOnDevices team{floor_devices(devices), ranks};
  std::uint64_t seed = 1;
  for (const Collective c : {Collective::allreduce, Collective::reduce}) {
    for (const Operator op : {Operator::commutes, Operator::in_order}) {
      for (const bool in_place : {false, true}) {
        for (const bool shared : {false, true}) {
          FloorCall call;
          call.collective = c;
          call.count = count;
          call.in_place = in_place;
          call.op = op;
          call.shared = shared;
          call.root = ranks - 1;
          const std::string wrong = call_on_floor<A>(team, ranks, call, seed++).wrong;
          if (wrong.empty()) continue;
          return std::string(A::name) + " " + std::string(name_of(c)) +
                 (in_place ? " in place" : "") + (shared ? " shared" : "") + " of " +
                 std::to_string(ranks) + ": " + wrong;
        }
      }
    }
  }
  team.end();
  const auto left = team.model.leftovers();
  return left.empty() ? "" : left.front();
}

/// The waits of calls that may be left out unseen, each one alone, but for those that are for peers
/// to have taken what they read; `taken`: how many of those.
template <class A>
std::size_t unseen_waits(const gpu::DeviceMachine& machine, const FloorCall& call,
                         std::size_t& taken) {
  constexpr int ranks = 3;
  constexpr std::size_t all_waits = ~std::size_t{0};
  std::size_t waits = 0;
  const auto result_without = [&](std::size_t leave_out) {
    // What is combined too early is no poison, which is no bool either.
    gpu::ModelOptions options;
    options.poison = false;
    TeamOnDevices team{machine, ranks, 256, options};
    if (leave_out != all_waits) team.model.leave_out_wait(leave_out);
    FloorResult found = call_on_floor<A>(team, ranks, call, 7);
    waits = team.model.waits();
    return found;
  };
  const FloorResult right = result_without(all_waits);
  CHECK(right.wrong == "");
  const std::vector<std::size_t>& noted = right.waits_for_taken;
  taken = 0;
  std::size_t others = 0;
  for (std::size_t k = 0, all = waits; k < all; ++k) {
    if (!result_without(k).wrong.empty()) continue;
    ++(std::find(noted.begin(), noted.end(), k) != noted.end() ? taken : others);
  }
  return others;
}

}  // namespace

TEST_CASE("calls of one algorithm follow those of another in the same context", "[gpu]") {
  for (const int ranks : {1, 2, 3}) {
    TeamOnDevices team{floor_devices(1), ranks};
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      FloorCall call;
      call.count = 100;
      CAPTURE(ranks, seed);
      CHECK(call_on_floor<DeviceSlices>(team, ranks, call, seed).wrong == "");
      CHECK(call_on_floor<SharedDevice>(team, ranks, call, seed).wrong == "");
    }
    team.end();
  }
}

TEST_CASE("arrival-driven algorithms on devices are right, without a race, and leave nothing",
          "[gpu]") {
  for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8}) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{40}}) {
      CAPTURE(ranks, count);
      CHECK(floor_failure<SharedDevice>(ranks, 1, count) == "");
      CHECK(floor_failure<SharedDevice>(ranks, ranks, count) == "");
      CHECK(floor_failure<DeviceSlices>(ranks, ranks, count) == "");
      CHECK(floor_failure<DeviceSlices>(ranks, 1, count) == "");
    }
  }
  // More than a kernel has operands.
  for (const int ranks : {17, 33}) {
    CHECK(floor_failure<SharedDevice>(ranks, 1, 40) == "");
    CHECK(floor_failure<DeviceSlices>(ranks, ranks, 100) == "");
  }
}

TEST_CASE("on devices, too, bits depend on arrivals only where they may", "[gpu]") {
  const auto digests = [](auto algorithm, bool rank_order, std::uint64_t seed) {
    TeamOnDevices team{floor_devices(6), 6};
    FloorCall call;
    call.count = 12;
    call.rank_order = rank_order;
    const FloorResult found = call_on_floor<decltype(algorithm)>(team, 6, call, seed);
    CHECK(found.wrong == "");
    // All ranks have the same.
    CHECK(std::count(found.digests.begin(), found.digests.end(), found.digests[0]) == 6);
    return found.digests[0];
  };
  bool slices_differ = false;
  for (std::uint64_t seed = 2; seed < 12; ++seed) {
    CHECK(digests(SharedDevice{}, false, seed) == digests(SharedDevice{}, true, 1));
    CHECK(digests(DeviceSlices{}, true, seed) == digests(SharedDevice{}, true, 1));
    slices_differ |= digests(DeviceSlices{}, false, seed) != digests(DeviceSlices{}, false, 1);
  }
  CHECK(slices_differ);
}

TEST_CASE("slices of devices cover the vector and begin where packs do", "[gpu]") {
  for (const std::size_t size : {1U, 3U, 4U, 8U, 16U, 24U}) {
    for (const std::size_t n : {0U, 1U, 23U, 1000U}) {
      for (const int ranks : {1, 3, 8}) {
        std::size_t end = 0;
        for (int r = 0; r < ranks; ++r) {
          const Range mine = DeviceSlices::slice(n, size, r, ranks);
          CHECK(mine.lo == end);
          CHECK((mine.lo == n || mine.lo * size % 16 == 0));
          end = mine.hi;
        }
        CHECK(end == n);
      }
    }
  }
}

TEST_CASE("each wait that is left out in the context of devices is found", "[gpu]") {
  for (const Collective c : {Collective::allreduce, Collective::reduce}) {
    for (const bool shared : {true, false}) {
      for (const bool in_place : {true, false}) {
        FloorCall call;
        call.collective = c;
        call.count = 40;
        call.shared = shared;
        call.in_place = in_place;
        CAPTURE(c, shared, in_place);
        std::size_t taken = 0;
        // A rank without a result waits for the leader only before it uses its copy again.
        const std::size_t unneeded = c == Collective::reduce && !shared ? 3 : 0;
        CHECK(unseen_waits<SharedDevice>(floor_devices(1), call, taken) == unneeded);
        CHECK(unseen_waits<DeviceSlices>(floor_devices(3), call, taken) == 0);
        // In the last of three calls nothing is used again. Before that most follow from the next
        // call's signals, but not where a rank begins to combine before all have arrived.
      }
    }
  }
}

TEST_CASE("results on devices are pulled before a rank combines the next ones", "[gpu]") {
  // The root pulls slowly, and comes late to the next call, in which the others combine meanwhile.
  gpu::DeviceMachine machine = floor_devices(3);
  machine.join(0, 2, 1e3, 6e-6);
  machine.join(1, 2, 1e3, 6e-6);
  FloorCall call;
  call.collective = Collective::reduce;
  call.root = 2;
  call.count = 40;
  call.rounds = 2;
  call.late = 2;
  std::size_t taken = 0;
  CHECK(unseen_waits<DeviceSlices>(machine, call, taken) == 0);
  // Needed of two calls with six each: in the first one, those of the others for the root.
  CHECK(taken == 12 - 2);
}
