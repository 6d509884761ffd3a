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
#include <papcoll/transport/gpu/device_memory.hpp>
#include <papcoll/transport/gpu/ipc_trial.hpp>
#include <papcoll/transport/gpu/mailbox.hpp>
#include <papcoll/transport/gpu/pulled_messages.hpp>
#include <papcoll/transport/gpu/staged_messages.hpp>
#include <papcoll/transport/transport.hpp>

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
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

/// The endpoint of a rank of a node: what it shares with its peers is in memory that the node's
/// ranks share. They find out in the first calls if all can map each other's memory; if one cannot,
/// the messages of all go through the host. At the end every rank closes what it has mapped before
/// anybody frees it: processes wait for each other; of threads, which may all end in one, the last
/// one frees the memory of all.
class NodeDeviceEndpoint final : public DeviceEndpoint {
 public:
  /// How long a rank waits at the end: for its device, and for others to close what it exported.
  /// What is not closed by then is never freed, which only costs memory.
  static constexpr std::chrono::milliseconds patience{1000};

  /// For the device that the rank uses now. `processes`: the ranks are not threads of one.
  NodeDeviceEndpoint(gpu::Api& api, const Node& node, bool processes, FindReducer find)
      : DeviceEndpoint(api, api.current_device(), find),
        node_(node),
        processes_(processes),
        peers_(peers_of(node)),
        trial_(std::make_unique<IpcTrial>(steps(), notices_of(node), node.rank)) {
    notice(node_.rank).state.store(RankNotice::open, std::memory_order_relaxed);
  }
  NodeDeviceEndpoint(const NodeDeviceEndpoint&) = delete;
  NodeDeviceEndpoint& operator=(const NodeDeviceEndpoint&) = delete;

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
    if (!is_abandoned() && !processes_) tell_memory();
    // Release: a peer that sees it may free what was mapped here, and the memory it was told of.
    notice(node_.rank).state.store(RankNotice::closed, std::memory_order_release);
    if (is_abandoned()) return;
    if (!processes_) {
      if (all_closed()) free_all();
    } else if (!wait_until([this] { return all_closed(); })) {
      give_up();
    }
  }

  /// What a dead peer had cannot be imported any more.
  bool may_be_of_death(const std::exception& problem) const noexcept override {
    const auto* const device = dynamic_cast<const gpu::device_error*>(&problem);
    return device != nullptr &&
           (device->fault == gpu::Fault::ipc_refused || device->fault == gpu::Fault::misuse);
  }

  /// Of what has ended in order nothing is left to be forgotten.
  void abandon() noexcept override {
    if (!ended_) give_up();
  }

  bool progress() override {
    if (is_decided()) return DeviceEndpoint::progress();
    if (is_abandoned() || !trial_->progress()) return false;
    why_no_ipc_ = trial_->reason();
    trial_.reset();
    if (why_no_ipc_.empty()) {
      go_by(std::make_unique<PulledMessages>(steps(), peers_, default_imports));
      make_floor(node_.rank, boards_of(node_));
    } else {
      go_by(std::make_unique<StagedMessages>(steps(), node_, peers_));
    }
    return true;
  }

  const std::string& why_no_ipc() const noexcept override { return why_no_ipc_; }

 private:
  void give_up() noexcept { DeviceEndpoint::abandon(); }

  static std::byte* place(const Node& node, int from, int to) {
    const auto ranks = static_cast<std::size_t>(node.size);
    const std::size_t pair = static_cast<std::size_t>(from) * ranks + static_cast<std::size_t>(to);
    return node.device_mailboxes + pair * device_mailbox_bytes;
  }

  static Mailbox& box(const Node& node, int from, int to) {
    return *std::launder(reinterpret_cast<Mailbox*>(reserved(node, place(node, from, to))));
  }

  /// What is where a rank's mailbox with itself would be.
  struct OfRank {
    RankNotice notice;
    DeviceBoard board;
  };
  static_assert(sizeof(OfRank) <= device_mailbox_bytes);

  static OfRank& of_rank(const Node& node, int rank) {
    return *std::launder(reinterpret_cast<OfRank*>(place(node, rank, rank)));
  }
  static RankNotice& notice(const Node& node, int rank) { return of_rank(node, rank).notice; }
  RankNotice& notice(int rank) const { return notice(node_, rank); }

  static std::vector<Peer> peers_of(const Node& node) {
    std::vector<Peer> peers;
    for (int p = 0; p < node.size; ++p) {
      const bool self = p == node.rank;
      peers.push_back(self ? Peer{} : Peer{&box(node, node.rank, p), &box(node, p, node.rank)});
    }
    return peers;
  }

  static std::vector<RankNotice*> notices_of(const Node& node) {
    std::vector<RankNotice*> all;
    for (int p = 0; p < node.size; ++p) {
      reserved(node, place(node, p, p));
      all.push_back(&notice(node, p));
    }
    return all;
  }

  static std::vector<DeviceBoard*> boards_of(const Node& node) {
    std::vector<DeviceBoard*> all;
    all.reserve(static_cast<std::size_t>(node.size));
    for (int p = 0; p < node.size; ++p) all.push_back(&of_rank(node, p).board);
    return all;
  }

  static std::byte* reserved(const Node& node, std::byte* at) {
    if (node.reserve != nullptr) node.reserve(node.context, at, device_mailbox_bytes);
    return at;
  }

  void tell_memory() {
    try {
      notice(node_.rank).memory = new std::shared_ptr<DeviceMemory>(memory());
    } catch (const std::bad_alloc&) {
      give_up();
    }
  }

  void free_all() {
    for (int p = 0; p < node_.size; ++p) {
      // Two that end at the same time may both have found all closed.
      delete notice(p).memory.exchange(nullptr, std::memory_order_acq_rel);
    }
  }

  bool all_closed() {
    for (int p = 0; p < node_.size; ++p) {
      if (notice(p).state.load(std::memory_order_acquire) == RankNotice::open) return false;
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
  std::vector<Peer> peers_;
  std::unique_ptr<IpcTrial> trial_;  ///< null when it is over
  bool ended_ = false;
  std::string why_no_ipc_;
};

/// Memory of devices, among ranks of one node: each maps the others', or, where that is refused on
/// any rank, all go through the host. Static schedules, and DeviceAlgorithms where the memory is
/// mapped. Each rank's device is the one that it uses when the transport is connected, in its first
/// call.
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

  /// The endpoint that connect() made, whose floor() DeviceAlgorithms run on.
  static DeviceEndpoint& device_endpoint(Endpoint& e) { return static_cast<DeviceEndpoint&>(e); }
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
