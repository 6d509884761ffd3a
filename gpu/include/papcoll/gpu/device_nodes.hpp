// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/static/binomial.hpp>
#include <papcoll/algorithms/static/pipelined.hpp>
#include <papcoll/algorithms/static/recursive_doubling.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/gpu/device_algorithm.hpp>
#include <papcoll/gpu/on_device.hpp>
#include <papcoll/gpu/transport/device_endpoint.hpp>
#include <papcoll/gpu/transport/device_node_context.hpp>
#include <papcoll/gpu/transport/rank_groups.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI::gpu {
namespace detail {

/// An allreduce of a team on several nodes by an algorithm that depends on arrivals.
///
/// Phases: within each node the ranks reduce to the first of them, by the algorithm, or, where
///   their devices share no memory, by a schedule. Then the first ranks of the nodes allreduce by a
///   schedule, through the host and the network. Each then gives the result to the others of its
///   node by a schedule.
/// Cost: of n bytes the network moves as much as an allreduce among the nodes does, not among the
///   ranks: 2(N − 1)/N · n each way for N nodes. Within a node each vector is moved once more than
///   in an allreduce by the algorithm.
/// Limits: an operator that does not commute, or contributions in rank order, need nodes whose
///   ranks have consecutive numbers.
///
///     node 0: ranks 0 1      node 1: ranks 2 3
///     reduce      [01]  1         [23]  3
///     allreduce   [03]  1         [03]  3
///     bcast       [03] [03]       [03] [03]
template <DeviceAlgorithm A> class RunAcrossNodes {
 public:
  /// Moves the call; true: all of it is in streams. `sequence` numbers it among all calls of the
  /// team; calls of all kinds have less than a quarter of all numbers between them.
  bool step(DeviceEndpoint& devices, const Call& call, std::uint32_t sequence) {
    NodesOfRanks& nodes = *devices.nodes();
    if (phase_ == Phase::begins) begin(devices, nodes, call, sequence);
    if (phase_ == Phase::reduces && is_reduced(devices, nodes)) {
      phase_ = Phase::exchanges;
      if (nodes.is_first() && nodes.between.size() > 1) exchange(nodes, call, sequence + quarter);
    }
    if (phase_ == Phase::exchanges && nodes.between.done()) {
      phase_ = Phase::spreads;
      if (nodes.within.size() > 1) spread(nodes, call, sequence + 2 * quarter);
    }
    return phase_ == Phase::spreads && nodes.within.done();
  }

 private:
  enum class Phase : unsigned char { begins, reduces, exchanges, spreads };

  static constexpr std::uint32_t quarter = 1U << 30U;

  void begin(DeviceEndpoint& devices, NodesOfRanks& nodes, const Call& call,
             std::uint32_t sequence) {
    phase_ = Phase::reduces;
    within_ = call;
    within_.collective = Collective::reduce;
    within_.root = 0;
    in_node_context_ = devices.node_context() != nullptr;
    if (in_node_context_) {
      devices.node_context()->begin(within_, sequence, device_algorithm_id<A>);
    } else {
      // In place at all but the root, who has the result.
      if (!nodes.is_first()) within_.out = const_cast<std::byte*>(within_.in);
      nodes.within.start(Binomial{}, within_, sequence);
    }
  }

  bool is_reduced(DeviceEndpoint& devices, const NodesOfRanks& nodes) {
    if (!in_node_context_) return nodes.within.done();
    if (!run_.step(*devices.node_context(), within_)) return false;
    devices.node_context()->end();
    return true;
  }

  static void exchange(NodesOfRanks& nodes, const Call& call, std::uint32_t sequence) {
    Call between = call;
    between.in = call.out;
    const bool segments = call.reducer.commutative && call.bytes() > device_long_bytes;
    const AnySchedule schedule =
        segments ? AnySchedule{SegmentedRing{}} : AnySchedule{RecursiveDoubling{}};
    nodes.between.start(schedule, between, sequence);
  }

  static void spread(NodesOfRanks& nodes, const Call& call, std::uint32_t sequence) {
    Call within = call;
    within.collective = Collective::bcast;
    within.root = 0;
    within.in = call.out;
    const bool pipelined = call.bytes() > device_long_bytes;
    const AnySchedule schedule =
        pipelined ? AnySchedule{PipelinedChain{}} : AnySchedule{Binomial{}};
    nodes.within.start(schedule, within, sequence);
  }

  Phase phase_ = Phase::begins;
  bool in_node_context_ = false;
  Call within_{};
  typename A::Run run_{};
};

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI::gpu
