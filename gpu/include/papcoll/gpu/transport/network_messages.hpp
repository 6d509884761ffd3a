// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/transport/device_memory.hpp>
#include <papcoll/gpu/transport/device_steps.hpp>
#include <papcoll/gpu/transport/stream_pool.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/plan.hpp>
#include <papcoll/schedule/plan_run.hpp>
#include <papcoll/transport/transport.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Messages between devices of different nodes: through pinned memory of the host at both ends, and
/// from there by an endpoint for the host's memory.
///
///     sender                                     receiver
///     its lane: … what makes the data            posts a receive into memory of the host
///     the lane copies it to the host
///     its host sees that it is there,
///     and sends it ────────────────────────────→ its host sees that it is there;
///     the send is complete when the              a stream copies it to the device: the receive is
///     memory of the host may be used again       complete, and its lane will wait for the copy
///
/// A message is sent as a whole: what overlaps the copies with the network are the segments of a
/// schedule.
class NetworkMessages final : public DeviceMessages {
 public:
  /// Makes the endpoint for the host's memory; it calls the function for each message that is
  /// complete, and never the owner. `steps` stays longer.
  NetworkMessages(DeviceSteps& steps, const MakeNotifyingEndpoint& make)
      : steps_(&steps),
        in_(steps.api(), steps.api().make_stream(steps.device())),
        memory_(steps.api(), steps.streams().events()),
        network_(make([this](const TransportOp& work) { on_network_complete(work); })) {}

  bool start(const TransportOp& work, std::size_t lane) override {
    const bool sends = work.kind == OpKind::send;
    StreamPool& streams = steps_->streams();
    const DeviceRange range{sends ? work.a : work.to, work.bytes()};
    streams.order(lane, range, sends ? StreamPool::Use::reads : StreamPool::Use::writes);
    Message m{work, lane, memory_.take(work.bytes()), streams.events().take()};
    if (sends && work.n != 0)
      steps_->api().copy(m.host, work.a, work.bytes(), streams.stream(lane));
    steps_->api().record(m.event.get(), streams.stream(lane));
    if (sends) {
      copying_.push_back(std::move(m));
      return false;
    }
    TransportOp receive = work;
    receive.to = m.host;
    under_way_.push_back(std::move(m));
    if (!network_->start(receive)) return false;
    end(receive);
    return true;
  }

  bool progress() override {
    bool moved = send_copied();
    memory_.collect();
    return network_->progress() || moved;
  }

  void close() noexcept override {}  // nothing of peers is mapped

  void abandon() noexcept override {
    network_->abandon();
    copying_.clear();
    under_way_.clear();
    memory_.leak();
  }

  /// Calls that may be in flight together.
  std::uint32_t sequences_at_once() const noexcept { return network_->sequences_at_once(); }

 private:
  struct Message {
    TransportOp work;
    std::size_t lane;
    std::byte* host;        ///< where its bytes are on the host
    gpu::OwnedEvent event;  ///< of a send: they are there; of a receive: its place may be written
  };

  /// Sends whose bytes are on the host go out.
  bool send_copied() {
    bool moved = false;
    while (!copying_.empty() && steps_->api().is_complete(copying_.front().event.get())) {
      Message m = std::move(copying_.front());
      copying_.pop_front();
      steps_->streams().events().give_back(std::move(m.event));
      TransportOp send = m.work;
      send.a = m.host;
      under_way_.push_back(std::move(m));
      if (network_->start(send)) on_network_complete(send);
      moved = true;
    }
    return moved;
  }

  /// The message is complete on the network.
  void on_network_complete(const TransportOp& of_host) {
    const TransportOp work = end(of_host);
    work.owner->complete(work.slot, work.step);
  }

  /// Frees the host memory of a message, and returns the message between devices.
  TransportOp end(const TransportOp& of_host) {
    const bool sent = of_host.kind == OpKind::send;
    const std::byte* const host = sent ? of_host.a : of_host.to;
    const auto found = std::find_if(under_way_.begin(), under_way_.end(),
                                    [host](const Message& m) { return m.host == host; });
    Message m = std::move(*found);
    *found = std::move(under_way_.back());
    under_way_.pop_back();
    const TransportOp& work = m.work;
    if (sent) {
      memory_.give_back(m.host);
    } else {
      gpu::Api& api = steps_->api();
      api.wait(in_.get(), m.event.get());
      if (work.n != 0) api.copy(work.to, m.host, work.bytes(), in_.get());
      steps_->streams().used_by(m.lane, {work.to, work.bytes()}, StreamPool::Use::writes,
                                in_.get());
      api.record(m.event.get(), in_.get());
      memory_.give_back(m.host, std::move(m.event));
    }
    return work;
  }

  DeviceSteps* steps_;
  gpu::OwnedStream in_;  ///< copies what came to the device
  PinnedPool memory_;
  std::deque<Message> copying_;  ///< sends that are not on the network yet
  std::vector<Message> under_way_;
  std::unique_ptr<Endpoint> network_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
