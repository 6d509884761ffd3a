// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"
#include "sanitizer.hpp"

#include <papcoll/error.hpp>
#include <papcoll/gpu.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/model.hpp>
#include <papcoll/options.hpp>
#include <papcoll/thread_team.hpp>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "device_ranks.hpp"

// Devices that cannot share memory: all ranks go through the host, and say why.

using namespace papcoll;
using namespace device_ranks;

namespace {

/// What the model found in all collectives, and what each rank said of IPC.
std::string problem_without_ipc(gpu::Model& model, int ranks, std::size_t n,
                                std::vector<std::string>& said) {
  said.assign(static_cast<std::size_t>(ranks), "");
  return problem_on(model, ranks, [&](ThreadTeam::Rank& rank, Device& d) {
    const bool right = rank.why_no_ipc().empty() && collectives_are_right(rank, d, n);
    said[static_cast<std::size_t>(rank.rank())] = rank.why_no_ipc();
    return right;
  });
}

}  // namespace

TEST_CASE("where a rank may not share memory, all go through the host and say why", "[gpu]") {
  constexpr std::size_t many = under_tsan ? 50'000 : 400'000;
  for (const int ranks : {2, 3, 5}) {
    for (const std::size_t n : {std::size_t{1}, std::size_t{1000}, many}) {
      for (const bool everywhere : {false, true}) {
        CAPTURE(ranks, n, everywhere);
        gpu::Model model{linked(ranks)};
        for (int r = 0; r < ranks; ++r) {
          if (everywhere || r == 1) model.refuse_ipc(r);
        }
        std::vector<std::string> said;
        CHECK(problem_without_ipc(model, ranks, n, said) == "");
        const std::string first = everywhere ? "on rank 0: " : "on rank 1: ";
        CHECK_THAT(said[0], Catch::Matchers::StartsWith(first));
        CHECK_THAT(said[0], Catch::Matchers::Contains("may not share memory"));
        CHECK(std::count(said.begin(), said.end(), said[0]) == ranks);
      }
    }
  }
}

TEST_CASE("where a device cannot reach another, all go through the host and say why", "[gpu]") {
  gpu::DeviceMachine machine = linked(4);
  machine.access.erase({2, 1});
  gpu::Model model{machine};
  std::vector<std::string> said;
  CHECK(problem_without_ipc(model, 4, 5000, said) == "");
  CHECK_THAT(said[0], Catch::Matchers::StartsWith("on rank 2: device 2 cannot reach device 1"));
  CHECK(std::count(said.begin(), said.end(), said[0]) == 4);
}

TEST_CASE("requests go through the host, several at once", "[gpu]") {
  for (const int ranks : {2, 3, 8}) {
    CAPTURE(ranks);
    gpu::Model model{linked(ranks)};
    model.refuse_ipc(ranks - 1);
    CHECK(problem_on(model, ranks, requests_are_right<ThreadTeam::Rank>) == "");
  }
}

TEST_CASE("memory that cannot be had for the way through the host is reported to all", "[gpu]") {
  for (std::size_t k = 0;; ++k) {
    CAPTURE(k);
    REQUIRE(k < 100);
    gpu::Model model{linked(3)};
    model.refuse_ipc(1);
    std::vector<std::string> told(3);
    std::barrier all_there{3};
    ThreadTeam team{3};
    team.run([&](ThreadTeam::Rank& rank) {
      Device device{model, rank.rank()};
      int* const data = device.put(numbers(rank.rank(), 50'000));
      all_there.arrive_and_wait();
      if (rank.rank() == 0) model.fail_allocation(k);
      all_there.arrive_and_wait();
      try {
        gpu::allreduce<ModelTransport>(rank, data, 50'000, sum, device.stream);
      } catch (const gpu::device_error& e) {
        told[static_cast<std::size_t>(rank.rank())] = std::string("device: ") + e.what();
      } catch (const peer_error& e) {
        told[static_cast<std::size_t>(rank.rank())] = std::string("peer: ") + e.what();
      }
    });
    const auto device = std::count_if(told.begin(), told.end(), [](const std::string& t) {
      return t.rfind("device: papcoll: no room", 0) == 0;
    });
    if (std::count(told.begin(), told.end(), "") == 3) {
      CHECK(k >= 3);
      break;  // there are no more allocations
    }
    CHECK(device == 1);
  }
}

TEST_CASE("a rank that can pin little memory uses smaller staging rings", "[gpu]") {
  for (const int limited : {0, 1, 2}) {
    CAPTURE(limited);
    gpu::Model model{linked(3)};
    model.refuse_ipc(1);
    model.limit_pinning(limited, std::size_t{20} << 10U);
    std::vector<std::string> said;
    CHECK(problem_without_ipc(model, 3, 50'000, said) == "");
  }
}

TEST_CASE("a rank that can pin no memory says so to all", "[gpu]") {
  gpu::Model model{linked(3)};
  model.refuse_ipc(1);
  model.limit_pinning(2, 1000);
  std::vector<std::string> told(3);
  ThreadTeam team{3};
  team.run([&](ThreadTeam::Rank& rank) {
    const Device device{model, rank.rank()};
    int* const data = reinterpret_cast<int*>(model.process(rank.rank()).allocate(rank.rank(), 400));
    try {
      gpu::allreduce<ModelTransport>(rank, data, 100, sum, device.stream);
    } catch (const gpu::device_error&) {
      told[static_cast<std::size_t>(rank.rank())] = "device";
    } catch (const peer_error&) {
      told[static_cast<std::size_t>(rank.rank())] = "peer";
    }
  });
  CHECK(told == std::vector<std::string>{"peer", "peer", "device"});
}

TEST_CASE("nobody waits for a rank that does not arrive to find out about IPC", "[gpu]") {
  gpu::Model model{linked(3)};
  {
    ThreadTeam team{3, {.deadline = std::chrono::seconds{60}}};
    std::vector<char> lost(3);
    const auto call = [&](ThreadTeam::Rank& rank) {
      if (rank.rank() == 1) throw std::runtime_error("rank 1 ends");
      Device device{model, rank.rank()};
      int* const data = device.put(numbers(rank.rank(), 10));
      try {
        gpu::allreduce<ModelTransport>(rank, data, 10, sum, device.stream);
      } catch (const peer_lost&) {
        lost[static_cast<std::size_t>(rank.rank())] = rank.why_no_ipc().empty() ? 1 : 0;
      }
    };
    CHECK_THROWS_AS(team.run(call), std::runtime_error);
    CHECK(std::count(lost.begin(), lost.end(), 1) == 2);
  }
  CHECK(model.problems().empty());
}
