// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/gpu.hpp>
#include <papcoll/gpu/model.hpp>
#include <papcoll/gpu/shared_device.hpp>
#include <papcoll/thread_team.hpp>

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "device_ranks.hpp"

// Memory of devices that all ranks may map.

using namespace device_ranks;

namespace {

using SharedInts = gpu::shared_buffer<int, ModelTransport>;

/// What the ranks add up to, of numbers().
std::vector<int> added_up(int ranks, std::size_t n) {
  std::vector<int> all(n);
  for (int r = 0; r < ranks; ++r) {
    const std::vector<int> of_r = numbers(r, n);
    for (std::size_t i = 0; i < n; ++i) all[i] += of_r[i];
  }
  return all;
}

}  // namespace

TEST_CASE("collectives on memory that devices share", "[gpu]") {
  for (const int ranks : {1, 2, 3, 8}) {
    CAPTURE(ranks);
    gpu::Model model{linked(ranks)};
    CHECK(problem_on(model, ranks, [&](ThreadTeam::Rank& rank, Device& d) {
            bool right = true;
            for (const std::size_t n : {std::size_t{1}, std::size_t{40'000}, std::size_t{30'000}}) {
              const SharedInts in{rank, n};
              const SharedInts out{rank, n};
              right &= in.size() == n && in.data() != out.data();
              const std::vector<int> own = numbers(rank.rank(), n);
              std::memcpy(model.reach(in.data()), own.data(), n * sizeof(int));
              gpu::allreduce<Ring, ModelTransport>(rank, in.data(), out.data(), n, sum, d.stream);
              right &= d.get(out.data(), n) == added_up(rank.size(), n);
              gpu::allreduce<SharedDevice, ModelTransport>(rank, in.data(), n, sum, d.stream);
              right &= d.get(in.data(), n) == added_up(rank.size(), n);
            }
            return right;
          }) == "");
  }
}

TEST_CASE("what was shared is used again, and may outlive its team", "[gpu]") {
  gpu::Model model{linked(2)};
  std::vector<std::optional<SharedInts>> kept(2);
  std::vector<char> right(2);
  {
    ThreadTeam team{2};
    team.run([&](ThreadTeam::Rank& rank) {
      const Device device{model, rank.rank()};
      bool is_right = true;
      int* first = nullptr;
      {
        SharedInts buffer{rank, 100'000};
        first = buffer.data();
        const SharedInts moved = std::move(buffer);
        is_right &= moved.data() == first;
      }
      kept[static_cast<std::size_t>(rank.rank())].emplace(rank, 90'000);
      is_right &= kept[static_cast<std::size_t>(rank.rank())]->data() == first;
      // Of lengths that differ.
      const SharedInts other{rank, rank.rank() == 0 ? 0 : 7};
      is_right &= other.size() == (rank.rank() == 0 ? 0U : 7U);
      right[static_cast<std::size_t>(rank.rank())] = is_right ? 1 : 0;
    });
  }
  CHECK(right == std::vector<char>{1, 1});
  for (const auto& buffer : kept) CHECK(model.reach(buffer->data()) != nullptr);
  kept.clear();
  CHECK(model.problems().empty());
  CHECK(model.leftovers().empty());
}

TEST_CASE("a device without memory for what is to be shared is reported to all", "[gpu]") {
  gpu::Model model{linked(3)};
  std::vector<std::string> told(3);
  std::barrier all_there{3};
  ThreadTeam team{3};
  team.run([&](ThreadTeam::Rank& rank) {
    const Device device{model, rank.rank()};
    const SharedInts works{rank, 10};
    all_there.arrive_and_wait();
    if (rank.rank() == 1) model.fail_allocation(0);
    all_there.arrive_and_wait();
    try {
      const SharedInts buffer{rank, 100'000};
      // Nobody waits for the others while it is made; the next call tells them.
      gpu::allreduce<ModelTransport>(rank, buffer.data(), 10, sum, device.stream);
    } catch (const gpu::device_error&) {
      told[static_cast<std::size_t>(rank.rank())] = "device";
    } catch (const peer_error&) {
      told[static_cast<std::size_t>(rank.rank())] = "peer";
    }
  });
  CHECK(std::count(told.begin(), told.end(), "device") == 1);
  CHECK(std::count(told.begin(), told.end(), "peer") == 2);
}
