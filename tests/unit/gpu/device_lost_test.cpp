// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/error.hpp>
#include <papcoll/gpu.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/device_slices.hpp>
#include <papcoll/gpu/model.hpp>
#include <papcoll/gpu/shared_device.hpp>
#include <papcoll/options.hpp>
#include <papcoll/thread_team.hpp>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "device_ranks.hpp"

// A device that fails in a call, after each of its operations in turn.

using namespace papcoll;
using namespace device_ranks;

namespace {

constexpr int ranks_that_lose = 3;
constexpr std::size_t n_lost = 20'000;

/// For devices. What a program sees itself here, calls tell all ranks.
void let_time_go_by(gpu::Api& api, gpu::Event event, gpu::Stream stream) {
  try {
    api.record(event, stream);
    for (int looks = 0; looks < 2000 && !api.is_complete(event); ++looks) {
      std::this_thread::yield();
    }
  } catch (const gpu::device_error&) {
  }
}

/// What a rank was told by calls on a device, until the first error.
template <class A>
std::string told_by_calls(ThreadTeam::Rank& rank, gpu::Api& api, int* data, gpu::Stream stream) {
  try {
    const gpu::OwnedEvent event{api, api.make_event(api.current_device(), false)};
    for (int call = 0; call < 4; ++call) {
      gpu::allreduce<A, ModelTransport>(rank, data, n_lost, sum, stream);
      let_time_go_by(api, event.get(), stream);
    }
  } catch (const gpu::device_error& e) {
    return e.fault == gpu::Fault::lost ? "lost" : e.what();
  } catch (const peer_error&) {
    return "peer";
  } catch (const broken_communicator&) {
    return "broken";
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

/// The same of all ranks, where the device of one fails after so many operations.
template <class A> std::vector<std::string> told_where_lost(std::size_t operations) {
  gpu::Model model{linked(ranks_that_lose)};
  std::vector<std::string> told(ranks_that_lose);
  std::barrier all_there{ranks_that_lose};
  ThreadTeam team{ranks_that_lose, {.deadline = std::chrono::seconds{20}}};
  team.run([&](ThreadTeam::Rank& rank) {
    gpu::Api& api = model.process(rank.rank());
    model.set_current_device(rank.rank(), rank.rank());
    ModelDevices::own = &api;
    // Not freed: a device that failed gives nothing back.
    const gpu::Stream stream = api.make_stream(rank.rank());
    auto* const data = reinterpret_cast<int*>(api.allocate(rank.rank(), n_lost * sizeof(int)));
    all_there.arrive_and_wait();
    if (rank.rank() == 1) model.lose_device_after(1, operations);
    all_there.arrive_and_wait();
    told[static_cast<std::size_t>(rank.rank())] = told_by_calls<A>(rank, api, data, stream);
  });
  return told;
}

/// What is wrong with what ranks were told, for each number of operations up to where none fails.
template <class A> std::string problem_where_lost() {
  for (std::size_t k = 0; k < 1000; ++k) {
    const std::vector<std::string> told = told_where_lost<A>(k);
    if (told == std::vector<std::string>(ranks_that_lose)) {
      return k == 0 ? "nobody noticed" : "";
    }
    for (const std::string& t : told) {
      if (t != "lost" && t != "peer" && t != "broken" && t != "") {
        return "after " + std::to_string(k) + " operations: " + t;
      }
    }
    // Who has left its last call before hears nothing.
    if (std::find(told.begin(), told.end(), "lost") == told.end()) {
      return "after " + std::to_string(k) + " operations nobody says why: " + told[0] + ", " +
             told[1] + ", " + told[2];
    }
  }
  return "it always fails";
}

}  // namespace

TEST_CASE("a device that fails in a call is reported, and strands nobody", "[gpu]") {
  CHECK(problem_where_lost<Ring>() == "");
  CHECK(problem_where_lost<RecursiveDoubling>() == "");
  CHECK(problem_where_lost<ThreeStage>() == "");
  CHECK(problem_where_lost<SharedDevice>() == "");
  CHECK(problem_where_lost<DeviceSlices>() == "");
}
