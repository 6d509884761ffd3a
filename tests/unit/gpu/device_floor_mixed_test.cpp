#include "device_ranks.hpp"

#include <papcoll/gpu.hpp>
#include <papcoll/gpu/model.hpp>
#include <papcoll/thread_team.hpp>

#include <cstddef>
#include <vector>

#include "catch.hpp"

// Both algorithms by arrival, and a schedule, in turns on one team.

using namespace papcoll;
using namespace device_ranks;

TEST_CASE("algorithms by arrival take turns on devices", "[gpu]") {
  constexpr std::size_t n = 1000;
  for (const int ranks : {1, 2, 3}) {
    CAPTURE(ranks);
    CHECK(problem_of(ranks, [&](ThreadTeam::Rank& rank, Device& d) {
            std::vector<int> total(n);
            for (int r = 0; r < rank.size(); ++r) {
              const auto of_r = numbers(r, n);
              for (std::size_t i = 0; i < n; ++i) total[i] += of_r[i];
            }
            bool right = true;
            for (int round = 0; round < 3; ++round) {
              int* const data = d.put(numbers(rank.rank(), n));
              const int* const in = d.put(numbers(rank.rank(), n));
              gpu::allreduce<DeviceSlices, ModelTransport>(rank, in, data, n, sum, d.stream);
              right &= d.get(data, n) == total;
              gpu::allreduce<SharedDevice, ModelTransport>(rank, in, data, n, sum, d.stream);
              right &= d.get(data, n) == total;
              gpu::allreduce<Ring, ModelTransport>(rank, in, data, n, sum, d.stream);
              right &= d.get(data, n) == total;
            }
            return right;
          }) == "");
  }
}
