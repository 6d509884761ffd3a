#pragma once

#include <papcoll/base/capability.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/config.hpp>
#include <papcoll/error.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/device_reducer.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/op.hpp>
#include <papcoll/transport/gpu/device_board.hpp>
#include <papcoll/transport/gpu/device_endpoint.hpp>
#include <papcoll/transport/gpu/device_floor.hpp>
#include <papcoll/transport/gpu/mailbox.hpp>
#include <papcoll/transport/transport.hpp>

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// Whose devices a DeviceTransport uses: `transport_name`; `unavailable()`, why this process has
/// none, or nothing; `api()`, the operations of this process (of a model: of this thread), which
/// stay until all teams have ended; `find_reducer(reducer)`, what combines for a device as the
/// reducer does for the host, throws argument_error if there is nothing. Optional:
/// `needs_processes = true`, if ranks cannot be threads of one process.
template <class P>
concept DeviceProvider = requires(const Reducer& r) {
  { P::transport_name } -> std::convertible_to<std::string_view>;
  { P::unavailable() } -> std::same_as<std::string>;
  { P::api() } -> std::same_as<gpu::Api&>;
  { P::find_reducer(r) } -> std::same_as<gpu::DeviceReducer>;
};

/// The endpoint of a rank of a node: its mailboxes are in memory that the node's ranks share. At
/// the end every rank closes what it has mapped before anybody frees it: processes wait for each
/// other; of threads, which may all end in one, the last one frees the memory of all.
class NodeDeviceEndpoint final : public DeviceEndpoint {
 public:
  /// How long a rank waits at the end: for its device, and for others to close what it exported.
  /// What is not closed by then is never freed, which only costs memory.
  static constexpr std::chrono::milliseconds patience{1000};

  /// For the device that the rank uses now. `processes`: the ranks are not threads of one.
  NodeDeviceEndpoint(gpu::Api& api, const Node& node, bool processes, FindReducer find)
      : DeviceEndpoint(api, api.current_device(), node.rank, peers_of(node), boards_of(node), find),
        node_(node),
        processes_(processes) {
    state_of(node_.rank).store(open, std::memory_order_relaxed);
  }
  NodeDeviceEndpoint(const NodeDeviceEndpoint&) = delete;
  NodeDeviceEndpoint& operator=(const NodeDeviceEndpoint&) = delete;

  ~NodeDeviceEndpoint() override {
    try {
      if (!is_abandoned() && !wait_until([this] { return is_idle(); })) abandon();
    } catch (const gpu::device_error&) {
      abandon();
    }
    if (!is_abandoned()) close_imports();
    if (!is_abandoned() && !processes_) tell_memory();
    // Release: a peer that sees it may free what was mapped here, and the memory it was told of.
    state_of(node_.rank).store(closed, std::memory_order_release);
    if (is_abandoned()) return;
    if (!processes_) {
      if (all_closed()) free_all();
    } else if (!wait_until([this] { return all_closed(); })) {
      abandon();
    }
  }

 private:
  // What DeviceBoard::state is. Not connected is 0: it has mapped
  // nothing, nor will it, since every message of this rank has been answered.
  static constexpr std::uint32_t open = 1;
  static constexpr std::uint32_t closed = 2;

  static std::byte* of_pair(const Node& node, int from, int to) {
    const auto ranks = static_cast<std::size_t>(node.size);
    const std::size_t pair = static_cast<std::size_t>(from) * ranks + static_cast<std::size_t>(to);
    return node.device_mailboxes + pair * sizeof(Mailbox);
  }
  static Mailbox& box(const Node& node, int from, int to) {
    return *std::launder(reinterpret_cast<Mailbox*>(of_pair(node, from, to)));
  }
  static DeviceBoard& board(const Node& node, int rank) {
    return *std::launder(reinterpret_cast<DeviceBoard*>(of_pair(node, rank, rank)));
  }

  static std::vector<Peer> peers_of(const Node& node) {
    std::vector<Peer> peers;
    for (int p = 0; p < node.size; ++p) {
      const bool self = p == node.rank;
      peers.push_back(self ? Peer{} : Peer{&box(node, node.rank, p), &box(node, p, node.rank)});
      reserve(node, of_pair(node, node.rank, p));
      reserve(node, of_pair(node, p, p));  // its owner may come later
    }
    return peers;
  }

  static std::vector<DeviceBoard*> boards_of(const Node& node) {
    std::vector<DeviceBoard*> boards;
    for (int p = 0; p < node.size; ++p) boards.push_back(&board(node, p));
    return boards;
  }

  static void reserve(const Node& node, const std::byte* at) {
    if (node.reserve != nullptr) node.reserve(node.context, at, sizeof(Mailbox));
  }

  std::atomic<std::uint32_t>& state_of(int rank) { return board(node_, rank).state; }
  std::atomic<std::shared_ptr<DeviceMemory>*>& memory_of(int rank) {
    return board(node_, rank).memory;
  }

  void tell_memory() {
    try {
      memory_of(node_.rank) = new std::shared_ptr<DeviceMemory>(memory());
    } catch (const std::bad_alloc&) {
      abandon();
    }
  }

  void free_all() {
    for (int p = 0; p < node_.size; ++p) {
      // Two that end at the same time may both have found all closed.
      delete memory_of(p).exchange(nullptr, std::memory_order_acq_rel);
    }
  }

  bool all_closed() {
    for (int p = 0; p < node_.size; ++p) {
      if (state_of(p).load(std::memory_order_acquire) == open) return false;
    }
    return true;
  }

  template <class F>
  static bool wait_until(F&& done) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::microseconds{50});
    }
    return true;
  }

  Node node_;  ///< keeps the memory mapped
  bool processes_;
};

/// Memory of devices, among ranks of one node that map each other's: static schedules, and
/// DeviceAlgorithms. Each rank's device is the one that it uses when the transport is connected, in
/// its first call.
template <DeviceProvider P>
struct DeviceTransport {
  using Provider = P;
  using policy_kind = TransportPolicyKind;
  static constexpr std::string_view name = Provider::transport_name;
  static constexpr unsigned offers = capability::device_memory;
  static constexpr bool rings = false;

  static std::string unavailable(const Surroundings& s) {
    if (s.node == nullptr) return s.why_no_shared_memory;
    if constexpr (requires { requires Provider::needs_processes; }) {
      if (!s.processes) return "the ranks are threads of one process, and it is for processes";
    }
    return Provider::unavailable();
  }

  /// Throws gpu::device_error, which breaks the team.
  static std::unique_ptr<Endpoint> connect(const Surroundings& s) {
    return std::make_unique<NodeDeviceEndpoint>(Provider::api(), *s.node, s.processes,
                                                &Provider::find_reducer);
  }

  /// Of an endpoint that connect() made: what DeviceAlgorithms run on.
  static DeviceFloor& floor(Endpoint& e) { return static_cast<DeviceEndpoint&>(e).floor(); }
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
