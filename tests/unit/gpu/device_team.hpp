// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Ranks with a device each, on a model of GPUs, all in one thread: runs a call by a static schedule
// with elements that know where they come from, and says what was wrong with it.

#include <papcoll/gpu/model.hpp>
#include <papcoll/gpu/transport/device_endpoint.hpp>
#include <papcoll/gpu/transport/device_node_context.hpp>
#include <papcoll/gpu/transport/network_messages.hpp>
#include <papcoll/gpu/transport/staged_messages.hpp>
#include <papcoll/schedule/make_plan.hpp>
#include <papcoll/schedule/plan_run.hpp>
#include <papcoll/schedule/vector_layout.hpp>
#include <papcoll/transport/transport.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "../algorithms/plan_simulation.hpp"

namespace device_team {

using namespace papcoll;
using plan_simulation::Operator;
using plan_simulation::Provenance;

struct Commutes {
  static constexpr bool commutative = true;
  Provenance operator()(const Provenance& a, const Provenance& b) const {
    return plan_simulation::combine(a, b, Operator::commutes);
  }
};
struct InOrder {
  Provenance operator()(const Provenance& a, const Provenance& b) const {
    return plan_simulation::combine(a, b, Operator::in_order);
  }
};
struct Idempotent {
  Provenance operator()(const Provenance& a, const Provenance& b) const {
    return plan_simulation::combine(a, b, Operator::idempotent);
  }
};

/// Reducers of these tests have the one for devices as their context.
inline gpu::DeviceReducer device_reducer_of(const Reducer& r) {
  return *static_cast<const gpu::DeviceReducer*>(r.context);
}

/// An endpoint whose messages go through the host.
class StagedEndpoint final : public DeviceEndpoint {
 public:
  StagedEndpoint(gpu::Api& api, int device, const Node& node, const std::vector<Peer>& peers,
                 FindReducer find)
      : DeviceEndpoint(api, device, find) {
    go_by(papcoll::detail::make_owned<StagedMessages>(steps(), node, peers));
  }
};

/// The paths between two devices of a machine where all are linked.
inline std::vector<gpu::Path> paths_of(const gpu::DeviceMachine& machine, int from, int to) {
  const auto rate = [&](int a, int b) {
    return machine.links[static_cast<std::size_t>(machine.route(a, b).links[0])].rate;
  };
  constexpr int host = gpu::DeviceMachine::host;
  const double latency = machine.launch + machine.route(from, to).latency;
  std::vector<gpu::Path> paths{{gpu::Path::direct, rate(from, to), 0, latency}};
  for (int via = 0; via < machine.size(); ++via) {
    if (via == from || via == to) continue;
    paths.push_back({via, rate(from, via), rate(via, to), latency});
  }
  paths.push_back({gpu::Path::host, rate(from, host), rate(host, to), latency});
  return paths;
}

/// An endpoint that shares long messages out over all paths.
class PathsEndpoint final : public DeviceEndpoint {
 public:
  PathsEndpoint(gpu::Api& api, int device, const Node& node, const std::vector<Peer>& peers,
                FindReducer find, const gpu::DeviceMachine& machine, std::size_t most_imports)
      : DeviceEndpoint(api, device, find) {
    SharedOut all;
    all.host = papcoll::detail::make_owned<HostStagedPart>(steps(), node, peers,
                                                           HostStagedPart::Use::parts);
    gpu::ShareLimits limits;
    limits.chunks.most_bytes = static_cast<double>(HostStagedPart::most_piece_bytes(node.size));
    for (int p = 0; p < node.size; ++p) {
      all.paths.emplace_back();
      const int from = p % api.devices();
      if (from == device) continue;
      all.paths.back() = papcoll::detail::make_owned<MessagePaths>(
          api, from, device, paths_of(machine, from, device), limits);
    }
    go_by(
        papcoll::detail::make_owned<PulledMessages>(steps(), peers, most_imports, std::move(all)));
  }
};

/// Messages of the host among ranks of one thread.
class Loopback {
 public:
  using Told = std::function<void(const TransportOp&)>;

  /// The endpoint of a rank.
  std::unique_ptr<Endpoint> make(int rank, Told told) {
    return std::make_unique<End>(*this, rank, std::move(told));
  }

 private:
  struct Posted {
    int from;
    int to;
    TransportOp work;
  };

  class End final : public Endpoint {
   public:
    End(Loopback& all, int rank, Told told) : all_(all), rank_(rank), told_(std::move(told)) {}

    bool start(const TransportOp& work) override {
      const bool sends = work.kind == OpKind::send;
      (sends ? all_.sends_ : all_.receives_)
          .push_back({sends ? rank_ : work.peer, sends ? work.peer : rank_, work});
      return false;
    }
    /// Takes the messages of this rank that are there, and tells both ends.
    bool progress() override {
      for (auto receive = all_.receives_.begin(); receive != all_.receives_.end(); ++receive) {
        const auto send =
            std::find_if(all_.sends_.begin(), all_.sends_.end(), [&](const Posted& s) {
              const TransportOp& w = receive->work;
              return s.from == receive->from && s.to == receive->to &&
                     s.work.sequence == w.sequence && s.work.block == w.block &&
                     s.work.number == w.number;
            });
        if (receive->to != rank_ || send == all_.sends_.end()) continue;
        const TransportOp to = receive->work;
        const Posted from = *send;
        all_.receives_.erase(receive);
        all_.sends_.erase(send);
        if (to.n != 0) std::memcpy(to.to, from.work.a, to.bytes());
        all_.sent_.push_back(from);
        told_(to);
        return true;
      }
      const auto mine = std::find_if(all_.sent_.begin(), all_.sent_.end(),
                                     [this](const Posted& s) { return s.from == rank_; });
      if (mine == all_.sent_.end()) return false;
      const TransportOp work = mine->work;
      all_.sent_.erase(mine);
      told_(work);
      return true;
    }
    void abandon() noexcept override {}

   private:
    Loopback& all_;
    int rank_;
    Told told_;
  };

  std::deque<Posted> sends_;
  std::deque<Posted> receives_;
  std::deque<Posted> sent_;  ///< whose senders have not been told
};

/// An endpoint on one of several nodes, each of `per_node` ranks.
class NodesEndpoint final : public DeviceEndpoint {
 public:
  NodesEndpoint(gpu::Api& api, int device, std::vector<Peer> peers, FindReducer find, int rank,
                int per_node, const std::vector<DeviceControlBlock*>& control_blocks,
                Loopback& network)
      : DeviceEndpoint(api, device, find) {
    std::vector<char> intra_node;
    std::vector<int> node_of;
    std::vector<DeviceControlBlock*> control_blocks_here;
    for (int p = 0; p < static_cast<int>(peers.size()); ++p) {
      node_of.push_back(p / per_node);
      intra_node.push_back(p / per_node == rank / per_node ? 1 : 0);
      if (intra_node.back() == 0) peers[static_cast<std::size_t>(p)] = {};
      if (intra_node.back() != 0 && !control_blocks.empty()) {
        control_blocks_here.push_back(control_blocks[static_cast<std::size_t>(p)]);
      }
    }
    const MakeNotifyingEndpoint make = [&network, rank](Loopback::Told told) {
      return network.make(rank, std::move(told));
    };
    go_by(papcoll::detail::make_owned<PulledMessages>(steps(), peers, default_imports),
          papcoll::detail::make_owned<NetworkMessages>(steps(), make), intra_node);
    make_nodes(node_of, rank);
    if (!control_blocks.empty()) make_node_context(rank % per_node, control_blocks_here);
  }
};

/// How a team's messages go.
enum class Way : unsigned char {
  pulled,
  through_host,
  several_paths,
  nodes_of_two,
  nodes_of_two_apart
};

/// The ranks' endpoints on a machine with a device for each.
class TeamOnDevices {
 public:
  TeamOnDevices(const gpu::DeviceMachine& machine, int ranks, std::size_t most_imports = 256,
                const gpu::ModelOptions& options = {}, Way way = Way::pulled)
      : model(machine, options),
        ranks_(ranks),
        boxes_(static_cast<std::size_t>(ranks * ranks)),
        control_blocks_(static_cast<std::size_t>(ranks)),
        patience_(way == Way::pulled || way == Way::several_paths ? 2 : 1000) {
    std::vector<DeviceControlBlock*> control_blocks;
    for (DeviceControlBlock& b : control_blocks_) control_blocks.push_back(&b);
    const std::size_t bytes = papcoll::detail::device_staging_ring_bytes(ranks);
    if (way != Way::pulled) windows_ = Zeros{boxes_.size() * bytes};
    for (int r = 0; r < ranks; ++r) {
      std::vector<DeviceEndpoint::Peer> peers;
      for (int p = 0; p < ranks; ++p) {
        peers.push_back(p == r ? DeviceEndpoint::Peer{}
                               : DeviceEndpoint::Peer{&box(r, p), &box(p, r), p});
      }
      if (way == Way::pulled) {
        endpoints.push_back(std::make_unique<DeviceEndpoint>(api(r), device(r), peers,
                                                             &device_reducer_of, most_imports));
        endpoints.back()->make_node_context(r, control_blocks);
      } else {
        Node node{r, ranks};
        node.device_staging_rings = windows_.begin();
        if (way == Way::nodes_of_two || way == Way::nodes_of_two_apart) {
          const bool share = way == Way::nodes_of_two;
          endpoints.push_back(std::make_unique<NodesEndpoint>(
              api(r), device(r), peers, &device_reducer_of, r, 2,
              share ? control_blocks : std::vector<DeviceControlBlock*>{}, network_));
        } else if (way == Way::through_host) {
          endpoints.push_back(
              std::make_unique<StagedEndpoint>(api(r), device(r), node, peers, &device_reducer_of));
        } else {
          endpoints.push_back(std::make_unique<PathsEndpoint>(
              api(r), device(r), node, peers, &device_reducer_of, machine, most_imports));
        }
      }
      streams.push_back(api(r).make_stream(device(r)));
    }
  }
  TeamOnDevices(const TeamOnDevices&) = delete;
  TeamOnDevices& operator=(const TeamOnDevices&) = delete;

  gpu::Api& api(int r) { return model.process(r); }
  int device(int r) { return r % model.process(r).devices(); }

  /// Calls progress() of all until every run is done; false: nothing moves any more.
  bool finish(std::deque<PlanRun>& runs) {
    const auto done = [&] {
      return std::all_of(runs.begin(), runs.end(), [](const PlanRun& r) { return r.done(); });
    };
    for (int idle = 0; !done();) {
      bool moved = false;
      for (auto& e : endpoints) moved |= e->progress();
      idle = moved ? 0 : idle + 1;
      if (idle > patience_) return false;
    }
    return true;
  }

  /// Ends everything in the order in which ranks do: imports first, then what was exported.
  void end() {
    model.run();
    for (auto& e : endpoints) e->close_imports();
    endpoints.clear();
    for (int r = 0; r < ranks_; ++r) api(r).destroy_stream(streams[static_cast<std::size_t>(r)]);
  }

  gpu::Model model;
  std::vector<std::unique_ptr<DeviceEndpoint>> endpoints;
  std::vector<gpu::Stream> streams;

 private:
  /// Cache lines of zeros, of which only those take memory that are used: staging rings are large.
  class Zeros {
   public:
    Zeros() = default;
    explicit Zeros(std::size_t bytes) : all_(std::calloc(bytes + cache_line, 1)) {
      if (!all_) throw std::bad_alloc{};
      void* at = all_.get();
      std::size_t room = bytes + cache_line;
      begin_ = static_cast<std::byte*>(std::align(cache_line, bytes, at, room));
    }
    [[nodiscard]] std::byte* begin() const noexcept { return begin_; }

   private:
    struct Free {
      void operator()(void* memory) const noexcept { std::free(memory); }
    };
    std::unique_ptr<void, Free> all_;
    std::byte* begin_ = nullptr;
  };

  Mailbox& box(int from, int to) { return boxes_[static_cast<std::size_t>(from * ranks_ + to)]; }

  int ranks_;
  std::vector<Mailbox> boxes_;
  std::vector<DeviceControlBlock> control_blocks_;
  Zeros windows_;     ///< through the host
  Loopback network_;  ///< between nodes
  int patience_;      ///< looks at all endpoints without any that moved
};

struct Settings {
  bool shared = false;             ///< the buffers' memory is shown to peers
  int rounds = 2;                  ///< calls, one after the other, with the same buffers
  std::size_t pipeline_depth = 4;  ///< blocks in flight
  bool run_between = false;        ///< the devices have done a call before the next one is called
};

/// Pinned memory of the rank with a copy of what is at `data`, or of nothing.
inline std::byte* host_memory(TeamOnDevices& team, int rank, std::vector<std::byte*>& all,
                              std::size_t bytes, const void* data) {
  std::byte* const made = team.api(rank).allocate_host(bytes);
  if (data != nullptr) std::memcpy(made, data, bytes);
  all.push_back(made);
  return made;
}

/// Calls on the team; the text says what was wrong, empty if nothing.
inline std::string call(TeamOnDevices& team, const AnySchedule& schedule, const Shape& shape,
                        Operator op, const Settings& settings = {}) {
  static const Commutes commutes{};
  static const InOrder in_order{};
  static const Idempotent idempotent{};
  const gpu::DeviceReducer reducer =
      op == Operator::commutes   ? gpu::host_reducer<Provenance>(commutes)
      : op == Operator::in_order ? gpu::host_reducer<Provenance>(in_order)
                                 : gpu::host_reducer<Provenance>(idempotent);
  struct Buffers {
    std::byte* in = nullptr;
    std::byte* out = nullptr;
    std::size_t in_bytes = 0;
    std::size_t out_bytes = 0;
    std::vector<std::byte*> host;  ///< of each round: what in and out begin with, and the result
  };
  const auto at_rank = [&](int r) {
    Shape s = shape;
    s.rank = r;
    s.element_size = sizeof(Provenance);
    return s;
  };
  const Order order = static_order(shape);
  std::vector<Buffers> all;
  for (int r = 0; r < shape.size; ++r) {
    const Layout layout = layout_of(at_rank(r));
    Buffers b;
    b.in_bytes = (layout.in + 1) * sizeof(Provenance);
    b.out_bytes = (layout.out + 1) * sizeof(Provenance);
    b.in = team.api(r).allocate(team.device(r), b.in_bytes);
    b.out = team.api(r).allocate(team.device(r), b.out_bytes);
    auto& endpoint = *team.endpoints[static_cast<std::size_t>(r)];
    if (settings.shared) endpoint.share(b.in, b.in_bytes);
    if (settings.shared) endpoint.share(b.out, b.out_bytes);
    all.push_back(b);
  }
  std::string wrong;
  std::deque<PlanRun> runs(static_cast<std::size_t>(shape.size));
  static std::uint32_t sequence = 0;
  for (int round = 0; round < settings.rounds && wrong.empty(); ++round) {
    ++sequence;
    for (int r = 0; r < shape.size; ++r) {
      const Shape mine = at_rank(r);
      const Layout layout = layout_of(mine);
      const auto i = static_cast<std::size_t>(r);
      std::vector<Provenance> in(layout.in + 1);
      std::vector<Provenance> out(layout.out + 1);
      for (const Placement& p : layout.has) {
        for (std::size_t k = 0; k < p.range.size(); ++k) {
          (layout.input_is_in_out ? out : in)[p.offset + k] =
              plan_simulation::contributed(r, p.first + k);
        }
      }
      // In the order of the rank's stream, as everything of its user is.
      std::byte* const from_in = host_memory(team, r, all[i].host, all[i].in_bytes, in.data());
      std::byte* const from_out = host_memory(team, r, all[i].host, all[i].out_bytes, out.data());
      team.api(r).copy(all[i].in, from_in, all[i].in_bytes, team.streams[i]);
      team.api(r).copy(all[i].out, from_out, all[i].out_bytes, team.streams[i]);
      Call made;
      made.collective = shape.collective;
      made.count = shape.count;
      made.root = shape.root;
      made.reducer.context = &reducer;
      made.reducer.size = sizeof(Provenance);
      made.memory = MemoryKind::device;
      made.stream = team.streams[i];
      made.in = layout.input_is_in_out ? all[i].out : all[i].in;
      made.out = all[i].out;
      runs[i].start(*team.endpoints[i],
                    papcoll::detail::make_shared<BlockedPlan>(make_plan(schedule, mine, order)),
                    order, made, sequence, settings.pipeline_depth);
    }
    if (!team.finish(runs)) wrong = "deadlock";
    for (int r = 0; r < shape.size && wrong.empty(); ++r) {
      const auto i = static_cast<std::size_t>(r);
      std::byte* const result = host_memory(team, r, all[i].host, all[i].out_bytes, nullptr);
      team.api(r).copy(result, all[i].out, all[i].out_bytes, team.streams[i]);
    }
    if (settings.run_between) team.model.run();
  }
  team.model.run();
  for (int round = 0; round < settings.rounds && wrong.empty(); ++round) {
    for (int r = 0; r < shape.size && wrong.empty(); ++r) {
      const Layout layout = layout_of(at_rank(r));
      std::vector<Provenance> out(layout.out + 1);
      const auto& host = all[static_cast<std::size_t>(r)].host;
      std::memcpy(out.data(), host[static_cast<std::size_t>(3 * round + 2)],
                  out.size() * sizeof(Provenance));
      for (const Placement& m : layout.must) {
        for (std::size_t k = 0; k < m.range.size(); ++k) {
          const std::size_t e = m.first + k;
          const Provenance& p = out[m.offset + k];
          const auto ranks = plan_simulation::wanted_ranks(at_rank(r), r, e);
          if (p.sound && p.element == e && p.ranks == ranks) continue;
          wrong = "rank " + std::to_string(r) + ": element " + std::to_string(e) + " is wrong";
        }
      }
    }
  }
  if (wrong.empty()) {
    for (int r = 0; r < shape.size; ++r) {
      auto& endpoint = *team.endpoints[static_cast<std::size_t>(r)];
      endpoint.close_imports();
    }
    for (int r = 0; r < shape.size; ++r) {
      auto& endpoint = *team.endpoints[static_cast<std::size_t>(r)];
      const Buffers& b = all[static_cast<std::size_t>(r)];
      if (settings.shared) endpoint.unshare(b.in);
      if (settings.shared) endpoint.unshare(b.out);
      team.api(r).free(b.in);
      team.api(r).free(b.out);
      for (std::byte* h : b.host) team.api(r).free_host(h);
    }
  }
  if (wrong.empty() && !team.model.problems().empty()) wrong = team.model.problems().front();
  return wrong;
}

}  // namespace device_team
