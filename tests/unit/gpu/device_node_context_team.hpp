// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Calls of arrival-driven algorithms on the ranks of a device_team, which come in random order.

#include <papcoll/gpu/device_algorithm.hpp>
#include <papcoll/gpu/transport/device_node_context.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "device_team.hpp"

namespace device_team {

/// What is the same of all ranks of the calls.
struct FloorCall {
  Collective collective = Collective::allreduce;
  std::size_t count = 1;
  bool in_place = true;
  Operator op = Operator::commutes;
  bool rank_order = false;  ///< of an operator that commutes
  bool shared = false;      ///< the buffers' memory is shown to peers
  int rounds = 3;           ///< calls, one after the other, with the same buffers
  int root = 0;
  int late = -1;  ///< this rank comes when the others have looked many times
};

/// A context that notes which waits of the model are for peers to have taken what they read.
class NotingContext {
 public:
  NotingContext(DeviceNodeContext& context, gpu::Model& model, std::vector<std::size_t>& noted)
      : context_(context), model_(model), noted_(noted) {}

  int rank() { return context_.rank(); }
  int size() { return context_.size(); }
  int draw_ticket() { return context_.draw_ticket(); }
  bool is_shown(const std::byte* p) { return context_.is_shown(p); }
  std::byte* take(std::size_t bytes) { return context_.take(bytes); }
  void copy(std::byte* to, const std::byte* from, std::size_t n) { context_.copy(to, from, n); }
  void combine(const gpu::Operands& o, std::size_t n) { context_.combine(o, n); }
  bool is_idle() { return context_.is_idle(); }
  void announce(const std::byte* in, std::byte* out) { context_.announce(in, out); }
  void signal(DeviceSignal s) { context_.signal(s); }
  bool has_signalled(int r, DeviceSignal s) { return context_.has_signalled(r, s); }
  void wait(int r, DeviceSignal s) {
    if (s == DeviceSignal::taken) noted_.push_back(model_.waits());
    context_.wait(r, s);
  }
  const std::byte* contribution_of(int r) { return context_.contribution_of(r); }
  std::byte* result_of(int r) { return context_.result_of(r); }
  void pull(int r, std::byte* to, const std::byte* from, std::size_t n) {
    context_.pull(r, to, from, n);
  }
  void join(const std::byte* to, std::size_t n) { context_.join(to, n); }

 private:
  DeviceNodeContext& context_;
  gpu::Model& model_;
  std::vector<std::size_t>& noted_;
};

/// The digests of the last round's results, and what was wrong, empty if nothing.
struct FloorResult {
  std::string wrong;
  std::vector<std::uint64_t> digests;        ///< of element 0, by rank
  std::vector<std::size_t> waits_for_taken;  ///< as NotingFloor notes them
};

/// Numbers calls of all algorithms: a context may see several.
inline std::uint32_t& last_sequence() {
  static std::uint32_t sequence = 0;
  return sequence;
}

/// Steps of all ranks in random order, each of which first comes when it is drawn.
template <DeviceAlgorithm A>
FloorResult call_on_floor(TeamOnDevices& team, int ranks, const FloorCall& settings,
                          std::uint64_t seed) {
  static const Commutes commutes{};
  static const InOrder in_order{};
  const gpu::DeviceReducer reducer = settings.op == Operator::commutes
                                         ? gpu::host_reducer<Provenance>(commutes)
                                         : gpu::host_reducer<Provenance>(in_order);
  const std::size_t bytes = settings.count * sizeof(Provenance);
  struct Rank {
    std::byte* in = nullptr;
    std::byte* out = nullptr;
    std::vector<std::byte*> host;
    Call call;
    typename A::Run run;
    bool begun = false;
    bool done = false;
  };
  std::vector<Rank> all(static_cast<std::size_t>(ranks));
  const auto context_of = [&](std::size_t i) -> DeviceNodeContext& {
    return *team.endpoints[i]->node_context();
  };
  const auto wants = [&](std::size_t i) {
    return settings.collective == Collective::allreduce || static_cast<int>(i) == settings.root;
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const int r = static_cast<int>(i);
    all[i].in = team.api(r).allocate(team.device(r), bytes);
    all[i].out = settings.in_place ? all[i].in : team.api(r).allocate(team.device(r), bytes);
    if (!settings.shared) continue;
    team.endpoints[i]->share(all[i].in, bytes);
    if (!settings.in_place) team.endpoints[i]->share(all[i].out, bytes);
  }
  FloorResult result;
  plan_simulation::Random random{seed};
  std::uint32_t& sequence = last_sequence();
  for (int round = 0; round < settings.rounds && result.wrong.empty(); ++round) {
    sequence += 2;
    for (Rank& rank : all) {
      rank.run = {};
      rank.begun = rank.done = false;
    }
    std::size_t left = all.size();
    for (std::size_t looks = 0, idle = 0; left != 0 && idle < 1000 * all.size(); ++idle, ++looks) {
      const std::size_t i = random.below(all.size());
      const int r = static_cast<int>(i);
      Rank& rank = all[i];
      if (rank.done || (r == settings.late && looks < 200)) continue;
      if (!rank.begun) {
        rank.begun = true;
        std::vector<Provenance> mine;
        for (std::size_t k = 0; k < settings.count; ++k) {
          mine.push_back(plan_simulation::contributed(r, k));
        }
        std::byte* const from = host_memory(team, r, rank.host, bytes, mine.data());
        team.api(r).copy(rank.in, from, bytes, team.streams[i]);
        Call& c = rank.call;
        c.collective = settings.collective;
        c.count = settings.count;
        c.root = settings.root;
        c.reducer.context = &reducer;
        c.reducer.size = sizeof(Provenance);
        c.reducer.commutative = settings.op == Operator::commutes;
        c.rank_order = settings.rank_order || settings.op != Operator::commutes;
        c.memory = MemoryKind::device;
        c.stream = team.streams[i];
        c.in = rank.in;
        c.out = rank.out;
        context_of(i).begin(c, sequence, device_algorithm_id<A>);
      }
      NotingContext noting{context_of(i), team.model, result.waits_for_taken};
      if (!rank.run.step(noting, rank.call)) continue;
      rank.done = true;
      --left;
      idle = 0;
      context_of(i).end();
      std::byte* const to = host_memory(team, r, rank.host, bytes, nullptr);
      if (wants(i)) team.api(r).copy(to, rank.out, bytes, team.streams[i]);
      // What was given is the caller's again.
      if (!wants(i) || !settings.in_place) team.api(r).copy(rank.in, to, bytes, team.streams[i]);
    }
    if (left != 0) result.wrong = "deadlock";
  }
  team.model.run();
  for (std::size_t i = 0; i < all.size() && result.wrong.empty(); ++i) {
    for (std::size_t h = 1; h < all[i].host.size() && wants(i); h += 2) {
      std::vector<Provenance> out(settings.count);
      std::memcpy(out.data(), all[i].host[h], bytes);
      for (std::size_t k = 0; k < out.size(); ++k) {
        const bool whole = out[k].ranks == ~std::uint64_t{0} >> (64 - ranks);
        if (out[k].sound && out[k].element == k && whole) continue;
        result.wrong = "rank " + std::to_string(i) + ": element " + std::to_string(k) + " is wrong";
      }
      if (h + 1 == all[i].host.size()) result.digests.push_back(out[0].digest);
    }
  }
  if (result.wrong.empty()) {
    for (auto& e : team.endpoints) e->close_imports();
    for (std::size_t i = 0; i < all.size(); ++i) {
      gpu::Api& api = team.api(static_cast<int>(i));
      if (settings.shared) team.endpoints[i]->unshare(all[i].in);
      if (settings.shared && !settings.in_place) team.endpoints[i]->unshare(all[i].out);
      api.free(all[i].in);
      if (!settings.in_place) api.free(all[i].out);
      for (std::byte* h : all[i].host) api.free_host(h);
    }
  }
  const auto problems = team.model.problems();
  if (result.wrong.empty() && !problems.empty()) result.wrong = problems.front();
  return result;
}

}  // namespace device_team
