// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/paths.hpp>
#include <papcoll/gpu/transport/device_endpoint.hpp>
#include <papcoll/gpu/transport/device_memory.hpp>
#include <papcoll/gpu/transport/host_staged_part.hpp>
#include <papcoll/gpu/transport/ipc_probe.hpp>
#include <papcoll/gpu/transport/network_messages.hpp>
#include <papcoll/gpu/transport/pulled_messages.hpp>
#include <papcoll/gpu/transport/sent_messages.hpp>
#include <papcoll/gpu/transport/staged_messages.hpp>
#include <papcoll/gpu/transport/stream_pool.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/waiting/waiter.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/transport/transport.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// The endpoint of a rank: what it shares with its peers is in memory that the node's ranks share,
/// and messages to other nodes go through the host and the network. The node's ranks find out in
/// the first calls if all can map each other's memory; if one cannot, the messages of all of them
/// go through the host. At the end every rank closes what it has mapped before anybody frees it:
/// processes wait for each other; of threads, which may all end in one, the last one frees the
/// memory of all.
class NodeDeviceEndpoint final : public DeviceEndpoint {
 public:
  /// How long a rank waits at the end: for its device, and for others to close what it exported.
  /// What is not closed by then is never freed, which only costs memory.
  static constexpr std::chrono::milliseconds patience{1000};

  /// Finds the paths between devices of this process.
  using FindPaths = std::vector<gpu::Path> (*)(int from, int to);

  /// Constructs an endpoint for the device that the rank uses now. Throws device_error, and
  /// transport_unavailable on all ranks.
  NodeDeviceEndpoint(gpu::Api& api, const TeamEnvironment& environment, FindReducer find,
                     FindPaths paths = nullptr)
      : DeviceEndpoint(api, api.current_device(), find),
        node_(node_of(environment, alone_)),
        find_paths_(paths),
        processes_(environment.processes),
        team_(environment.size),
        nodes_(environment.nodes),
        ranks_here_(ranks_here_of(environment, node_)),
        mailboxes_(node_),
        peers_(mailboxes_.peers(environment.size, ranks_here_)) {
    if (is_divided()) {
      network_ = detail::make_owned<NetworkMessages>(steps(), environment.messages);
      calls_at_once_ = std::min(calls_at_once_, network_->sequences_at_once());
      std::vector<int> node_of;
      for (const Place& p : environment.machine->places()) node_of.push_back(p.node);
      make_nodes(node_of, environment.rank);
    }
    // Last: peers that see the handles import them, so nothing may throw behind that.
    probe_ = detail::make_owned<IpcProbe>(steps(), mailboxes_.notices(), node_.rank);
    mailboxes_.notice(node_.rank).state.store(RankNotice::open, std::memory_order_relaxed);
  }
  ~NodeDeviceEndpoint() override { end(); }

  void end() noexcept override {
    if (ended_) return;
    ended_ = true;
    try {
      if (!is_abandoned() && !wait_until([this] { return is_idle(); })) give_up();
    } catch (const gpu::device_error&) {
      give_up();
    }
    if (!is_abandoned()) close_imports();
    if (!is_abandoned() && !processes_) publish_memory();
    // A peer that sees `closed` may free what was mapped here, and the memory that this rank
    // announced to it. Sequentially consistent, as the look at the others' that follows: of two
    // that end at the same time one sees the other, or neither would free it.
    const bool leaks = is_abandoned() && processes_;  // threads use the memory that is told of
    const std::uint32_t state = leaks ? RankNotice::gave_up : RankNotice::closed;
    mailboxes_.notice(node_.rank).state.store(state, std::memory_order_seq_cst);
    if (is_abandoned()) return;
    if (!processes_) {
      if (all_closed()) free_all();
    } else if (!wait_until([this] { return all_closed(); })) {
      give_up();
    }
  }

  /// Operations on what a dead peer had shared fail.
  bool may_mean_peer_death() const noexcept override {
    return detail::handled_as<gpu::device_error>() != nullptr;
  }

  /// Forgets what is in flight; no effect once the endpoint has ended in order.
  void abandon() noexcept override {
    if (!ended_) give_up();
  }

  bool progress() override {
    if (is_decided()) return DeviceEndpoint::progress();
    if (is_abandoned() || !probe_->progress()) return false;
    const std::string refused = probe_->reason(ranks_here_);
    probe_.reset();
    why_no_ipc_ = refused;
    if (is_divided()) {
      why_no_ipc_ = detail::joined({"between its ", nodes_, " nodes there is none",
                                    refused.empty() ? "" : ", and ", refused});
    }
    detail::Owned<DeviceMessages> intra_node;
    if (node_.size > 1 || !is_divided()) {
      intra_node = refused.empty()
                       ? detail::Owned<DeviceMessages>(detail::make_owned<PulledMessages>(
                             steps(), peers_, default_imports, shared_out()))
                       : detail::make_owned<StagedMessages>(steps(), node_, peers_);
    }
    go_by(std::move(intra_node), std::move(network_), intra_node_peers());
    make_node_context(
        node_.rank,
        mailboxes_.control_blocks());  // none if the node's messages go through the host
    return true;
  }

  const std::string& why_no_ipc() const noexcept override { return why_no_ipc_; }

  std::uint32_t sequences_at_once() const noexcept override { return calls_at_once_; }

 private:
  void give_up() noexcept { DeviceEndpoint::abandon(); }

  /// The memory of the node's ranks; where this rank is alone, some of its own.
  static Node node_of(const TeamEnvironment& environment, MailboxTable::OfRank& alone) {
    if (environment.node != nullptr) return *environment.node;
    if (environment.partial_node != nullptr) return *environment.partial_node;
    Node none;
    none.device_mailboxes = reinterpret_cast<std::byte*>(&alone);
    return none;
  }

  static std::vector<int> ranks_here_of(const TeamEnvironment& environment, const Node& node) {
    if (node.size == static_cast<int>(environment.ranks_here.size())) return environment.ranks_here;
    std::vector<int> all(static_cast<std::size_t>(node.size));
    std::iota(all.begin(), all.end(), node.size == 1 ? environment.rank : 0);
    return all;
  }

  /// Returns true if there are ranks on other nodes.
  bool is_divided() const noexcept { return team_ != node_.size; }

  /// Returns by rank of the team whether it is on this rank's node.
  std::vector<char> intra_node_peers() const {
    std::vector<char> intra_node(static_cast<std::size_t>(team_));
    for (const int r : ranks_here_) intra_node[static_cast<std::size_t>(r)] = 1;
    return intra_node;
  }

  /// The paths of the messages of all ranks.
  SharedOut shared_out() {
    SharedOut all;
    if (find_paths_ == nullptr) return all;
    all.host =
        detail::make_owned<HostStagedPart>(steps(), node_, peers_, HostStagedPart::Use::parts);
    gpu::Api& api = steps().api();
    const int to = steps().device();
    gpu::ShareLimits limits;
    limits.chunks.most_bytes = static_cast<double>(HostStagedPart::most_piece_bytes(node_.size));
    for (const Peer& p : peers_) {
      all.paths.emplace_back();
      const int from =
          p.out == nullptr ? to : device_of(mailboxes_.notice(p.on_node).physical_device);
      if (from == to || from < 0) continue;
      all.paths.back() =
          detail::make_owned<MessagePaths>(api, from, to, find_paths_(from, to), limits);
    }
    return all;
  }

  /// The number of a device for this process; -1: it does not see it.
  int device_of(std::uint64_t physical) {
    gpu::Api& api = steps().api();
    for (int d = 0; d < api.devices(); ++d) {
      if (api.physical_device(d) == physical) return d;
    }
    return -1;
  }

  void publish_memory() {
    try {
      mailboxes_.notice(node_.rank).memory = new detail::Shared<DeviceMemory>(memory());
    } catch (const std::bad_alloc&) {
      give_up();
    }
  }

  void free_all() {
    for (int p = 0; p < node_.size; ++p) {
      // Two that end at the same time may both have found all closed.
      delete mailboxes_.notice(p).memory.exchange(nullptr, std::memory_order_acq_rel);
    }
  }

  bool all_closed() {
    for (int p = 0; p < node_.size; ++p) {
      const std::uint32_t state = mailboxes_.notice(p).state.load(std::memory_order_seq_cst);
      if (state == RankNotice::open || state == RankNotice::gave_up) return false;
    }
    return true;
  }

  static bool wait_until(auto&& done) {
    TimeWaited time{patience / 10};
    while (!done()) {
      if (time.look() > patience) return false;
      std::this_thread::sleep_for(std::chrono::microseconds{50});
    }
    return true;
  }

  MailboxTable::OfRank alone_{};
  Node node_;  ///< keeps the memory mapped
  FindPaths find_paths_;
  bool processes_;
  int team_;                     ///< ranks of the team
  int nodes_;                    ///< and their nodes
  std::vector<int> ranks_here_;  ///< ranks of the team, by their numbers on the node
  MailboxTable mailboxes_;
  std::vector<Peer> peers_;                 ///< by rank of the team; null for those on other nodes
  detail::Owned<NetworkMessages> network_;  ///< until it is known how messages go
  std::uint32_t calls_at_once_ = StreamPool::calls_at_once;
  bool ended_ = false;
  detail::Owned<IpcProbe> probe_;  ///< null when it is over
  std::string why_no_ipc_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
