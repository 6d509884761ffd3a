// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/arrival/policies.hpp>
#include <papcoll/gpu.hpp>
#include <papcoll/gpu/built_in_on_host.hpp>
#include <papcoll/gpu/device_slices.hpp>
#include <papcoll/gpu/model.hpp>
#include <papcoll/gpu/paths.hpp>
#include <papcoll/gpu/shared_device.hpp>
#include <papcoll/thread_team.hpp>

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "device_ranks.hpp"
#include "device_team.hpp"

// Collectives of papcoll::gpu among threads, each a process of the model with a device of its own.

using namespace papcoll;
using namespace device_ranks;

namespace {

/// Devices whose provider knows the paths.
struct PathDevices : ModelDevices {
  static std::vector<gpu::Path> paths(int from, int to) {
    return device_team::paths_of(linked(api().devices()), from, to);
  }
};
using PathTransport = DeviceTransport<PathDevices>;
static_assert(TransportPolicy<PathTransport>);

}  // namespace

TEST_CASE("collectives on memory of devices, among threads", "[gpu]") {
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    for (const std::size_t n : {std::size_t{1}, std::size_t{1000}, std::size_t{40'000}}) {
      CAPTURE(ranks, n);
      CHECK(problem_of(ranks, [n](ThreadTeam::Rank& rank, Device& d) {
              return collectives_are_right(rank, d, n) && rank.why_no_ipc().empty();
            }) == "");
    }
  }
}

TEST_CASE("non-blocking calls on devices, several at once, and an operator of one's own", "[gpu]") {
  for (const int ranks : {2, 3, 8}) {
    CAPTURE(ranks);
    CHECK(problem_of(ranks, requests_are_right<ThreadTeam::Rank>) == "");
  }
}

TEST_CASE("ranks whose transport knows the paths", "[gpu][paths]") {
  for (const int ranks : {2, 3, 5}) {
    CAPTURE(ranks);
    CHECK(problem_of(ranks, [](ThreadTeam::Rank& rank, Device& d) {
            return collectives_are_right<PathTransport>(rank, d, 150'000);
          }) == "");
  }
}

TEST_CASE("a schedule that is named on devices is what runs, whatever else is named", "[gpu]") {
  const auto named = [](const AlgorithmSpec& spec) { return spec.schedule.name(); };
  const Call short_call;
  CHECK(named(gpu::detail::spec_for<Allreduce, true, ModelTransport>(short_call)) ==
        "RecursiveDoubling");
  CHECK(named(gpu::detail::spec_for<Allreduce, true, Ring, ModelTransport>(short_call)) == "Ring");
  CHECK(named(gpu::detail::spec_for<Allreduce, true, OnTopology, Ring, ModelTransport>(
            short_call)) == "Ring");
}

TEST_CASE("a call on the host beside one on a device is reported to both ranks", "[gpu]") {
  gpu::Model model{gpu::DeviceMachine::linked(2, 72e9, 60e9, 6e-6)};
  ThreadTeam team{2};
  std::vector<std::string> told(2);
  team.run([&](ThreadTeam::Rank& rank) {
    Device device{model, rank.rank()};
    std::vector<int> on_host(10);
    try {
      if (rank.rank() == 0) {
        allreduce<Ring>(rank, on_host, sum);
      } else {
        gpu::allreduce<Ring, ModelTransport>(rank, device.put(on_host), 10, sum, device.stream);
      }
    } catch (const peer_error& e) {
      told[static_cast<std::size_t>(rank.rank())] = e.what();
    }
  });
  for (const std::string& text : told) {
    CHECK_THAT(text, Catch::Matchers::Contains("the buffers of one are in memory of a device"));
  }
}

TEST_CASE("memory that cannot be had on one rank is reported to all", "[gpu]") {
  // What each rank was told, in calls of which the k-th allocation fails; empty: nothing.
  const auto told_where = [](auto&& fault) {
    gpu::Model model{gpu::DeviceMachine::linked(3, 72e9, 60e9, 6e-6)};
    std::vector<std::string> told(3);
    std::barrier all_there{3};
    {
      ThreadTeam team{3};
      team.run([&](ThreadTeam::Rank& rank) {
        Device device{model, rank.rank()};
        int* const data = device.put(numbers(rank.rank(), 50'000));
        all_there.arrive_and_wait();
        if (rank.rank() == 0) fault(model);
        all_there.arrive_and_wait();
        try {
          gpu::allreduce<ModelTransport>(rank, data, 50'000, sum, device.stream);
        } catch (const gpu::device_error& e) {
          told[static_cast<std::size_t>(rank.rank())] = std::string("device: ") + e.what();
        } catch (const peer_error& e) {
          told[static_cast<std::size_t>(rank.rank())] = std::string("peer: ") + e.what();
        }
      });
    }
    return told;
  };
  std::size_t k = 0;
  for (;; ++k) {
    CAPTURE(k);
    const auto told = told_where([k](gpu::Model& model) { model.fail_allocation(k); });
    const auto device = std::count_if(told.begin(), told.end(), [](const std::string& t) {
      return t.rfind("device: papcoll: ", 0) == 0;
    });
    const auto nothing = std::count(told.begin(), told.end(), "");
    if (nothing == 3) break;  // there are no more allocations
    CHECK(device == 1);
    CHECK(k < 100);
  }
  CHECK(k >= 3);
}

TEST_CASE("calls on devices refuse what they cannot reach, on all ranks", "[gpu]") {
  gpu::Model model{gpu::DeviceMachine::linked(2, 72e9, 60e9, 6e-6)};
  ThreadTeam team{2};
  std::vector<std::string> told(2);
  const auto call = [&](auto&& wrong_call) {
    team.run([&](ThreadTeam::Rank& rank) {
      Device device{model, rank.rank()};
      std::string& text = told[static_cast<std::size_t>(rank.rank())];
      text.clear();
      try {
        wrong_call(rank, device);
      } catch (const argument_error& e) {
        text = std::string("argument: ") + e.what();
      } catch (const peer_error& e) {
        text = std::string("peer: ") + e.what();
      }
    });
  };
  std::vector<int> on_host(10);
  call([&](ThreadTeam::Rank& rank, Device& d) {
    int* const data = rank.rank() == 0 ? on_host.data() : d.put(on_host);
    gpu::allreduce<ModelTransport>(rank, data, 10, sum, d.stream);
  });
  CHECK_THAT(told[0], Catch::Matchers::StartsWith("argument: papcoll: ") &&
                          Catch::Matchers::Contains("a buffer is in the host's memory"));
  CHECK_THAT(told[1], Catch::Matchers::StartsWith("peer: "));
  call([&](ThreadTeam::Rank& rank, Device& d) {
    int* const data = d.put(on_host);
    gpu::allreduce<ModelTransport>(rank, data, rank.rank() == 0 ? 11 : 10, sum, d.stream);
  });
  CHECK_THAT(told[0], Catch::Matchers::Contains("longer than the memory that it is in"));
  call([&](ThreadTeam::Rank& rank, Device& d) {
    int* const data = d.put(on_host);
    if (rank.rank() == 1) model.set_capturing(d.stream, true);
    gpu::allreduce<ModelTransport>(rank, data, 10, sum, d.stream);
  });
  CHECK_THAT(told[1], Catch::Matchers::Contains("captured as a graph"));
  call([&](ThreadTeam::Rank& rank, Device& d) {
    int* const data = d.put(on_host);
    gpu::allreduce<ModelTransport>(
        rank, data, 10, [](int a, int b) { return a ^ b; }, d.stream);
  });
  CHECK_THAT(told[0], Catch::Matchers::Contains("no kernel"));
}

TEST_CASE("a collective of the host refuses a transport for devices", "[gpu]") {
  std::vector<std::string> told(2);
  CHECK(problem_of(2, [&](ThreadTeam::Rank& rank, Device& d) {
          std::vector<int> on_host(10, rank.rank());
          try {
            papcoll::allreduce<Ring, ModelTransport>(rank, on_host);
          } catch (const argument_error& problem) {
            told[static_cast<std::size_t>(rank.rank())] = problem.what();
          }
          int* const data = d.put(std::vector<int>(10, 1));  // the team goes on
          gpu::allreduce<ModelTransport>(rank, data, 10, sum, d.stream);
          return d.get(data, 10) == std::vector<int>(10, 2);
        }) == "");
  for (const std::string& text : told) {
    CHECK_THAT(text, Catch::Matchers::Contains("ModelTransport moves memory of devices: call "
                                               "papcoll::gpu::allreduce, or take another"));
  }
}

TEST_CASE("arrival-driven algorithms on devices, among threads", "[gpu]") {
  struct ThriceLow {
    int operator()(int low, int high) const {  // of unsigned, which may overflow
      return static_cast<int>(3U * static_cast<unsigned>(low) + static_cast<unsigned>(high));
    }
  };
  static constexpr ThriceLow in_order{};
  for (const int ranks : {1, 2, 3, 5, 8, 17}) {
    for (const std::size_t n : {std::size_t{1}, std::size_t{1000}}) {
      CAPTURE(ranks, n);
      std::vector<int> totals(n);
      std::vector<int> ordered = numbers(0, n);
      for (int r = 0; r < ranks; ++r) {
        const std::vector<int> of_r = numbers(r, n);
        for (std::size_t i = 0; i < n; ++i) totals[i] += of_r[i];
        for (std::size_t i = 0; i < n && r > 0; ++i) ordered[i] = in_order(ordered[i], of_r[i]);
      }
      const auto run = [&]<class A>(A) {
        return problem_of(ranks, [&](ThreadTeam::Rank& rank, Device& d) {
          const int last = rank.size() - 1;
          bool right = true;
          for (int round = 0; round < 3; ++round) {
            int* const data = d.put(numbers(rank.rank(), n));
            gpu::allreduce<A, ModelTransport>(rank, data, n, sum, d.stream);
            // Between them what passes messages.
            gpu::bcast<ModelTransport>(rank, data, n, root{round % rank.size()}, d.stream);
            right &= d.get(data, n) == totals;
            const int* const in = d.put(numbers(rank.rank(), n));
            int* const out = d.put(std::vector<int>(n));
            const gpu::DeviceOperator<int> op{gpu::host_reducer<int>(in_order)};
            gpu::allreduce<ModelTransport, A, Reproducible>(rank, in, out, n, op, d.stream);
            right &= d.get(out, n) == ordered && d.get(in, n) == numbers(rank.rank(), n);
            int* const sums = d.put(numbers(rank.rank(), n));
            gpu::reduce<A, ModelTransport>(rank, sums, n, root{last}, sum, d.stream);
            right &= d.get(sums, n) == (rank.rank() == last ? totals : numbers(rank.rank(), n));
            gpu::allreduce<A, ModelTransport>(rank, data, 0, sum, d.stream);
          }
          return right;
        });
      };
      CHECK(run(SharedDevice{}) == "");
      CHECK(run(DeviceSlices{}) == "");
    }
  }
}

TEST_CASE("what is named for arrivals goes through the host where IPC is refused", "[gpu]") {
  const auto check = [](auto algorithm) {
    using A = decltype(algorithm);
    gpu::Model model{linked(3)};
    model.refuse_ipc(1);
    CHECK(problem_on(model, 3, [](ThreadTeam::Rank& rank, Device& d) {
            constexpr std::size_t n = 1000;
            std::vector<int> totals(n);
            for (int r = 0; r < rank.size(); ++r) {
              const std::vector<int> of_r = numbers(r, n);
              for (std::size_t i = 0; i < n; ++i) totals[i] += of_r[i];
            }
            bool right = true;
            for (int round = 0; round < 2; ++round) {
              int* const data = d.put(numbers(rank.rank(), n));
              gpu::allreduce<A, ModelTransport>(rank, data, n, sum, d.stream);
              right &= d.get(data, n) == totals;
              int* const sums = d.put(numbers(rank.rank(), n));
              gpu::reduce<A, Reproducible, ModelTransport>(rank, sums, n, root{1}, sum, d.stream);
              right &= rank.rank() != 1 || d.get(sums, n) == totals;
            }
            return right && rank.why_no_ipc().find("on rank 1: ") == 0;
          }) == "");
  };
  check(SharedDevice{});
  check(DeviceSlices{});
}

TEST_CASE("ranks that learn at different times that IPC is refused make the same calls", "[gpu]") {
  gpu::Model model{linked(2)};
  model.refuse_ipc(1);
  std::barrier all_there{2};
  std::vector<char> knew(2);
  CHECK(problem_on(model, 2, [&](ThreadTeam::Rank& rank, Device& d) {
          constexpr std::size_t n = 1000;
          std::vector<int> totals = numbers(0, n);
          for (std::size_t i = 0; i < n; ++i) totals[i] += numbers(1, n)[i];
          int* const first = d.put(numbers(rank.rank(), n));
          int* const second = d.put(numbers(rank.rank(), n));
          Request request = gpu::iallreduce<Ring, ModelTransport>(rank, first, n, sum, d.stream);
          all_there.arrive_and_wait();
          // Rank 1 has tried, and does not look again when rank 0 has, too.
          if (rank.rank() == 1) static_cast<void>(request.test());
          all_there.arrive_and_wait();
          if (rank.rank() == 0) static_cast<void>(request.test());
          all_there.arrive_and_wait();
          knew[static_cast<std::size_t>(rank.rank())] = rank.why_no_ipc().empty() ? 0 : 1;
          gpu::allreduce<SharedDevice, ModelTransport>(rank, second, 0, sum, d.stream);
          gpu::allreduce<SharedDevice, ModelTransport>(rank, second, n, sum, d.stream);
          request.wait();
          return d.get(first, n) == totals && d.get(second, n) == totals;
        }) == "");
  CHECK(knew == std::vector<char>{1, 0});
}

TEST_CASE("a rank that fails in an arrival-driven algorithm on devices strands nobody", "[gpu]") {
  const auto told_where = [](auto algorithm, auto&& fault, auto&& count) {
    using A = decltype(algorithm);
    gpu::Model model{gpu::DeviceMachine::linked(3, 72e9, 60e9, 6e-6)};
    std::vector<std::string> told(3);
    std::barrier all_there{3};
    ThreadTeam team{3};
    team.run([&](ThreadTeam::Rank& rank) {
      Device device{model, rank.rank()};
      int* const data = device.put(numbers(rank.rank(), 50'000));
      all_there.arrive_and_wait();
      if (rank.rank() == 0) fault(model);
      all_there.arrive_and_wait();
      try {
        gpu::allreduce<A, ModelTransport>(rank, data, count(rank.rank()), sum, device.stream);
      } catch (const gpu::device_error&) {
        told[static_cast<std::size_t>(rank.rank())] = "device";
      } catch (const peer_error&) {
        told[static_cast<std::size_t>(rank.rank())] = "peer";
      }
    });
    return told;
  };
  const auto same = [](int) { return 50'000; };
  const auto check = [&](auto algorithm) {
    for (std::size_t k = 0;; ++k) {
      CAPTURE(k);
      const auto told = told_where(
          algorithm, [k](gpu::Model& model) { model.fail_allocation(k); }, same);
      const auto nothing = std::count(told.begin(), told.end(), "");
      if (nothing == 3) {  // there are no more allocations
        CHECK(k >= 2);
        break;
      }
      CHECK(std::count(told.begin(), told.end(), "device") == 1);
      REQUIRE(k < 100);
    }
    const auto differ = told_where(
        algorithm, [](gpu::Model&) {}, [](int r) { return r == 1 ? 40'000 : 50'000; });
    CHECK(std::count(differ.begin(), differ.end(), "peer") == 3);
  };
  check(SharedDevice{});
  check(DeviceSlices{});
}
