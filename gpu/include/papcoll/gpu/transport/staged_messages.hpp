// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/transport/device_steps.hpp>
#include <papcoll/gpu/transport/host_staged_part.hpp>
#include <papcoll/gpu/transport/mailbox.hpp>
#include <papcoll/gpu/transport/stream_pool.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/plan.hpp>
#include <papcoll/schedule/plan_run.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Messages through memory of the host, for devices that share none: as whole parts, piece by
/// piece, see HostStagedPart. The devices share no events either, so hosts notify each other of
/// what they have seen to be complete.
///
///     sender                                     receiver
///     start of a send                  ←──────── start of a receive: control {wanted, ticket}
///     has both: sends the message as a part
///     the send is complete when its    ────────→ the receive is complete when the copies of all
///     last piece is sent                         pieces are in a stream
///
/// So what is in a staging ring has a receive that waits for it: no message stands in the way of
/// others, and none is kept in memory of its own.
class StagedMessages final : public DeviceMessages {
 public:
  /// With a peer for each rank. `steps` stays longer.
  StagedMessages(DeviceSteps& steps, const Node& node, const std::vector<MailboxPair>& boxes)
      : steps_(&steps), host_(steps, node, boxes, HostStagedPart::Use::whole) {
    for (const MailboxPair& pair : boxes) {
      peers_.emplace_back();
      if (pair.out == nullptr) continue;
      peers_.back().endpoint = detail::make_owned<MailboxEndpoint>(steps.api(), steps.device(),
                                                                   pair, &steps.streams().events());
    }
  }

  bool start(const TransportOp& work, std::size_t lane) override {
    const bool sends = work.kind == OpKind::send;
    const StreamPool::Use use = sends ? StreamPool::Use::reads : StreamPool::Use::writes;
    StreamPool& streams = steps_->streams();
    streams.order(lane, {sends ? work.a : work.to, work.bytes()}, use);
    gpu::OwnedEvent ready = streams.events().take();
    steps_->api().record(ready.get(), streams.stream(lane));
    Peer& peer = peers_[static_cast<std::size_t>(work.peer)];
    if (sends) {
      peer.sends.push_back({work, std::move(ready)});
      match(peer);
      return false;
    }
    ControlMessage wanted = about(work, ControlKind::wanted);
    wanted.ticket = ++tickets_;
    wanted.allocation = host_.room(work.peer);
    host_.expect({work.peer, wanted.ticket, work.to, work.bytes(), work, lane, std::move(ready)});
    peer.endpoint->send(wanted, nullptr);
    return false;
  }

  bool progress() override {
    bool moved = false;
    for (std::size_t p = 0; p < peers_.size(); ++p) {
      Peer& peer = peers_[p];
      if (!peer.endpoint) continue;
      moved |= peer.endpoint->flush();
      for (; peer.endpoint->any(); moved = true) take(static_cast<int>(p), peer);
      for (const TransportOp& sent : peer.endpoint->completed()) completed_.push_back(sent);
    }
    // complete() starts further steps, which may complete others: take the list away first.
    for (const TransportOp& w : std::exchange(completed_, {})) w.owner->complete(w.slot, w.step);
    return moved;
  }

  void close() noexcept override {}  // nothing of peers is mapped

  void abandon() noexcept override {
    completed_.clear();
    for (Peer& peer : peers_) {
      peer.wanted.clear();
      peer.sends.clear();
      if (peer.endpoint) peer.endpoint->abandon();
    }
    host_.abandon();
  }

 private:
  struct Send {
    TransportOp work;
    gpu::OwnedEvent ready;  ///< the lane has what is sent
  };
  struct Peer {
    detail::Owned<MailboxEndpoint> endpoint{};  ///< null: the rank itself
    std::vector<ControlMessage> wanted{};       ///< by the peer, and not sent yet
    std::deque<Send> sends{};                   ///< that the peer does not want yet
  };

  void take(int rank, Peer& peer) {
    const MailboxEndpoint::Received received = peer.endpoint->next();
    const ControlMessage control = received.control;
    peer.endpoint->taken();
    switch (control.kind) {
      case ControlKind::wanted: peer.wanted.push_back(control); return match(peer);
      case ControlKind::emptied: return host_.emptied(received, rank);
      case ControlKind::piece:
        steps_->api().on_published(received.published);
        if (const auto whole = host_.receive(control, rank, *peer.endpoint)) {
          const TransportOp& work = whole->work;
          steps_->streams().used_by(whole->lane, {work.to, work.bytes()}, StreamPool::Use::writes,
                                    host_.receiving(rank));
          completed_.push_back(work);
        }
        return;
      default: {  // a message that is not as long as its receive
        const TransportOp work = host_.expected(rank, control.ticket).work;
        throw peer_error(
            work.owner->refuse(rank, work.bytes(), detail::joined({control.bytes, " bytes"})));
      }
    }
  }

  /// Sends go to the ring in the order in which they were started, those that are wanted.
  void match(Peer& peer) {
    for (auto send = peer.sends.begin(); send != peer.sends.end();) {
      const auto wanted = std::find_if(
          peer.wanted.begin(), peer.wanted.end(),
          [&](const ControlMessage& control) { return is_about(control, send->work); });
      if (wanted == peer.wanted.end()) {
        ++send;
        continue;
      }
      const ControlMessage control = *wanted;
      Send found = std::move(*send);
      peer.wanted.erase(wanted);
      send = peer.sends.erase(send);
      begin(std::move(found), control, *peer.endpoint);
    }
  }

  void begin(Send send, const ControlMessage& wanted, MailboxEndpoint& endpoint) {
    const TransportOp& work = send.work;
    if (wanted.bytes == work.bytes()) {
      return host_.send({wanted.ticket, work.a, work.bytes(), wanted.allocation, wanted.allocation,
                         std::move(send.ready), work},
                        work.peer, endpoint);
    }
    endpoint.send({.kind = ControlKind::message, .ticket = wanted.ticket, .bytes = work.bytes()},
                  nullptr);
  }

  DeviceSteps* steps_;
  HostStagedPart host_;
  std::uint32_t tickets_ = 0;  ///< of receives
  std::vector<Peer> peers_;    ///< by rank
  std::vector<TransportOp> completed_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
