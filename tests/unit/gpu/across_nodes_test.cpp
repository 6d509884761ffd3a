// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/gpu.hpp>
#include <papcoll/gpu/device_nodes.hpp>
#include <papcoll/gpu/device_slices.hpp>
#include <papcoll/gpu/shared_device.hpp>
#include <papcoll/gpu/transport/rank_groups.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "device_team.hpp"

// Allreduces of ranks on several nodes by what depends on arrivals within each node.

using namespace papcoll;

namespace {

struct AcrossNodes {
  int ranks = 4;
  std::size_t count = 100;
  device_team::Operator op = device_team::Operator::commutes;
  bool in_place = true;
  bool share_memory = true;  ///< devices of a node share memory
};

/// Two calls of ranks that come in random order; what was wrong, empty if nothing.
template <DeviceAlgorithm A>
std::string failure_across(const AcrossNodes& settings, std::uint64_t seed) {
  using plan_simulation::Provenance;
  static const device_team::Commutes commutes{};
  static const device_team::InOrder in_order{};
  const bool commutative = settings.op == device_team::Operator::commutes;
  const gpu::DeviceReducer reducer = commutative ? gpu::host_reducer<Provenance>(commutes)
                                                 : gpu::host_reducer<Provenance>(in_order);
  const device_team::Way way =
      settings.share_memory ? device_team::Way::nodes_of_two : device_team::Way::nodes_of_two_apart;
  device_team::TeamOnDevices team{
      gpu::DeviceMachine::linked(settings.ranks, 72e9, 60e9, 6e-6), settings.ranks, 256, {}, way};
  struct Rank {
    Call call;
    gpu::detail::RunAcrossNodes<A> run;
    std::vector<std::byte*> host;
    bool begun = false;
    bool done = false;
  };
  const std::size_t bytes = settings.count * sizeof(Provenance);
  std::vector<std::byte*> in;
  std::vector<std::byte*> out;
  std::vector<std::byte*> host;
  for (int r = 0; r < settings.ranks; ++r) {
    in.push_back(team.api(r).allocate(team.device(r), bytes));
    out.push_back(settings.in_place ? in.back() : team.api(r).allocate(team.device(r), bytes));
  }
  plan_simulation::Random random{seed};
  std::string wrong;
  for (std::uint32_t round = 0; round < 2 && wrong.empty(); ++round) {
    std::vector<Rank> all(static_cast<std::size_t>(settings.ranks));
    std::size_t left = all.size();
    for (std::size_t idle = 0; left != 0 && idle < 3000 * all.size(); ++idle) {
      const std::size_t i = random.below(all.size());
      const int r = static_cast<int>(i);
      Rank& rank = all[i];
      auto& endpoint = *team.endpoints[i];
      if (!rank.begun) {
        rank.begun = true;
        std::vector<Provenance> mine;
        for (std::size_t k = 0; k < settings.count; ++k) {
          mine.push_back(plan_simulation::contributed(r, k));
        }
        std::byte* const from = device_team::host_memory(team, r, rank.host, bytes, mine.data());
        team.api(r).copy(in[i], from, bytes, team.streams[i]);
        Call& c = rank.call;
        c.collective = Collective::allreduce;
        c.count = settings.count;
        c.reducer.context = &reducer;
        c.reducer.size = sizeof(Provenance);
        c.reducer.commutative = commutative;
        c.rank_order = !commutative;
        c.memory = MemoryKind::device;
        c.stream = team.streams[i];
        c.in = in[i];
        c.out = out[i];
      }
      endpoint.progress();
      if (rank.done || !rank.run.step(endpoint, rank.call, 2 * round)) continue;
      rank.done = true;
      --left;
      idle = 0;
      std::byte* const to = device_team::host_memory(team, r, rank.host, bytes, nullptr);
      team.api(r).copy(to, out[i], bytes, team.streams[i]);
    }
    if (left != 0) return "deadlock";
    team.model.run();
    for (std::size_t i = 0; i < all.size() && wrong.empty(); ++i) {
      std::vector<Provenance> result(settings.count);
      std::memcpy(result.data(), all[i].host.back(), bytes);
      for (std::size_t k = 0; k < result.size(); ++k) {
        const bool whole = result[k].ranks == ~std::uint64_t{0} >> (64 - settings.ranks);
        if (result[k].sound && result[k].element == k && whole) continue;
        wrong = "rank " + std::to_string(i) + ": element " + std::to_string(k) + " is wrong";
      }
      for (std::byte* h : all[i].host) team.api(static_cast<int>(i)).free_host(h);
    }
  }
  for (int r = 0; r < settings.ranks; ++r) {
    const auto i = static_cast<std::size_t>(r);
    team.api(r).free(in[i]);
    if (!settings.in_place) team.api(r).free(out[i]);
  }
  team.end();
  for (const auto& found : {team.model.problems(), team.model.leftovers()}) {
    if (wrong.empty() && !found.empty()) wrong = found.front();
  }
  return wrong;
}

}  // namespace

TEST_CASE("allreduces by arrival within nodes are right, without a race", "[gpu]") {
  for (const int ranks : {3, 4, 5, 8}) {
    for (const bool in_place : {true, false}) {
      for (const bool share_memory : {true, false}) {
        for (const auto op : {device_team::Operator::commutes, device_team::Operator::in_order}) {
          for (std::uint64_t seed = 1; seed < 4; ++seed) {
            const AcrossNodes settings{ranks, 100, op, in_place, share_memory};
            CAPTURE(ranks, in_place, share_memory, seed);
            CHECK(failure_across<SharedDevice>(settings, seed) == "");
            CHECK(failure_across<DeviceSlices>(settings, seed) == "");
          }
        }
      }
    }
  }
  // Long enough for segments.
  const AcrossNodes longer{4, 250'000, device_team::Operator::commutes, true, true};
  CHECK(failure_across<DeviceSlices>(longer, 1) == "");
}
