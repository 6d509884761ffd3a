// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/transport/device_memory.hpp>
#include <papcoll/gpu/transport/device_node_context.hpp>
#include <papcoll/gpu/transport/device_steps.hpp>
#include <papcoll/gpu/transport/pulled_messages.hpp>
#include <papcoll/gpu/transport/rank_groups.hpp>
#include <papcoll/gpu/transport/stream_pool.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/plan.hpp>
#include <papcoll/schedule/plan_run.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// One rank's end for plans between memory of devices.
///
/// A step is complete for the plan when it is in a stream, so that the host runs ahead of the
/// devices; finish() orders the caller's stream after all of it. How messages go is known from the
/// beginning, or decided while the first calls are under way: until then they are kept.
class DeviceEndpoint : public Endpoint {
 public:
  using Peer = MailboxPair;  ///< the two mailboxes of a pair; null for the rank itself
  using FindReducer = DeviceSteps::FindReducer;  ///< finds the reducer for a device

  static constexpr std::size_t default_imports = 256;  ///< allocations of peers that stay mapped

  /// On a device of the api's, with a peer for each rank, whose memory it maps.
  DeviceEndpoint(gpu::Api& api, int device, const std::vector<Peer>& peers, FindReducer find,
                 std::size_t most_imports = default_imports)
      : steps_(api, device, find),
        intra_node_(detail::make_owned<PulledMessages>(steps_, peers, most_imports)) {}

  bool start(const TransportOp& work) override {
    const std::size_t lane = steps_.lane_of(work);
    if (work.kind != OpKind::send && work.kind != OpKind::receive) {
      steps_.start(work, lane);
      return true;
    }
    if (is_decided()) return way_to(work.peer).start(work, lane);
    kept_.push_back({work, lane});
    return false;
  }

  bool progress() override {
    const bool moved = inter_node_ != nullptr && inter_node_->progress();
    return (intra_node_ != nullptr && intra_node_->progress()) || moved;
  }

  detail::Shared<std::byte> scratch(std::size_t bytes, MemoryKind) override {
    return steps_.scratch(bytes);
  }

  void finish(const Call& call) override {
    steps_.streams().finish(static_cast<gpu::Stream>(call.stream));
    if (intra_node_ != nullptr) intra_node_->finish();
    if (inter_node_ != nullptr) inter_node_->finish();
  }

  /// Returns true if the device has performed all that was finished.
  bool is_idle() { return steps_.streams().is_idle(); }

  /// Messages from memory that begins at `base`, an allocation, go directly from now on.
  void share(std::byte* base, std::size_t bytes) { memory()->share(base, bytes); }
  /// Undoes share(). Requires that all ranks have closed their imports of it.
  void unshare(std::byte* base) noexcept { memory()->unshare(base); }

  /// Closes what it has mapped of peers. is_idle() holds.
  void close_imports() noexcept {
    if (intra_node_ != nullptr) intra_node_->close();
    if (inter_node_ != nullptr) inter_node_->close();
  }
  /// The memory that peers may have mapped.
  const detail::Shared<DeviceMemory>& memory() const noexcept { return steps_.memory(); }
  /// Returns the number of allocations of peers that it has mapped.
  std::size_t imports() const noexcept {
    MemoryImports* const mapped = mapped_of_peers();
    return mapped == nullptr ? 0 : mapped->size();
  }

  /// Returns true once it is known how messages go.
  bool is_decided() const noexcept { return intra_node_ != nullptr || inter_node_ != nullptr; }

  /// Returns the context of arrival-driven algorithms; null where devices do not share memory.
  DeviceNodeContext* node_context() noexcept { return node_context_.get(); }
  /// Makes that of the control blocks of all ranks, of which this one is `rank`. They stay.
  void make_node_context(int rank, const std::vector<DeviceControlBlock*>& control_blocks) {
    MemoryImports* const mapped = mapped_of_peers();
    if (mapped == nullptr) return;
    node_context_ = detail::make_owned<DeviceNodeContext>(steps_, *mapped, rank, control_blocks);
  }

  /// The nodes of the team's ranks, if there are several; else null.
  NodesOfRanks* nodes() noexcept { return nodes_.get(); }
  /// Sets the node of each rank of the team.
  void make_nodes(const std::vector<int>& node_of, int rank) {
    nodes_ = detail::make_owned<NodesOfRanks>(*this, node_of, rank);
  }

  void abandon() noexcept override {
    if (nodes_) nodes_->abandon();
    kept_.clear();
    abandoned_ = true;
    memory()->leak();
    if (intra_node_ != nullptr) intra_node_->abandon();
    if (inter_node_ != nullptr) inter_node_->abandon();
  }

  /// Returns true if the team has broken. Then its device memory is never freed: scratch memory of
  /// plans is returned to this endpoint, and not used again.
  bool is_abandoned() const noexcept { return abandoned_; }

  std::uint32_t sequences_at_once() const noexcept override { return StreamPool::calls_at_once; }

 protected:
  /// How messages go is decided later, by go_by().
  DeviceEndpoint(gpu::Api& api, int device, FindReducer find) : steps_(api, device, find) {}

  /// Returns what messages need of the rank's device.
  DeviceSteps& steps() noexcept { return steps_; }
  /// Messages go by these: on several nodes those of peers on other nodes by `inter_node`; a rank
  /// alone on its node has no `intra_node`. Starts those that were kept.
  void go_by(detail::Owned<DeviceMessages> intra_node,
             detail::Owned<DeviceMessages> inter_node = nullptr,
             std::vector<char> is_intra_node = {}) {
    intra_node_ = std::move(intra_node);
    inter_node_ = std::move(inter_node);
    is_intra_node_ = std::move(is_intra_node);
    for (const Kept& k : std::exchange(kept_, {})) {
      if (way_to(k.work.peer).start(k.work, k.lane))
        k.work.owner->complete(k.work.slot, k.work.step);
    }
  }

 private:
  struct Kept {
    TransportOp work;
    std::size_t lane;
  };

  DeviceMessages& way_to(int peer) noexcept {
    const bool is_inter_node =
        inter_node_ != nullptr && is_intra_node_[static_cast<std::size_t>(peer)] == 0;
    return is_inter_node ? *inter_node_ : *intra_node_;
  }
  MemoryImports* mapped_of_peers() const noexcept {
    return intra_node_ == nullptr ? nullptr : intra_node_->imports();
  }

  DeviceSteps steps_;
  detail::Owned<DeviceMessages> intra_node_;  ///< both null: not known yet
  detail::Owned<DeviceMessages> inter_node_;  ///< null: there is one node
  std::vector<char> is_intra_node_;           ///< by rank, if there are several
  std::vector<Kept> kept_;                    ///< messages until then
  detail::Owned<DeviceNodeContext> node_context_;
  detail::Owned<NodesOfRanks> nodes_;  ///< null: there is one node
  bool abandoned_ = false;
};

}  // namespace papcoll::inline PAPCOLL_ABI
