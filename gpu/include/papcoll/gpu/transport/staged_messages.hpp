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
///     start of a send                  ←──────── start of a receive: mail {wanted, ticket}
///     has both: sends the message as a part
///     the send is complete when its    ────────→ the receive is complete when the copies of all
///     last piece is mailed                       pieces are in a stream
///
/// So what is in a window has a receive that waits for it: no message stands in the way of others,
/// and none is kept in memory of its own.
class StagedMessages final : public DeviceMessages {
 public:
  /// With a peer for each rank. `steps` stays longer.
  StagedMessages(DeviceSteps& steps, const Node& node, const std::vector<MailboxPair>& boxes)
      : steps_(&steps), host_(steps, node, boxes, HostStagedPart::Use::whole) {
    for (const MailboxPair& pair : boxes) {
      peers_.emplace_back();
      if (pair.out == nullptr) continue;
      peers_.back().office = detail::make_owned<MailboxEndpoint>(steps.api(), steps.device(), pair,
                                                                 &steps.lanes().events());
    }
  }

  bool start(const TransportOp& work, std::size_t lane) override {
    const bool sends = work.kind == OpKind::send;
    const StreamPool::Use use = sends ? StreamPool::Use::reads : StreamPool::Use::writes;
    StreamPool& lanes = steps_->lanes();
    lanes.order(lane, {sends ? work.a : work.to, work.bytes()}, use);
    gpu::OwnedEvent ready = lanes.events().take();
    steps_->api().record(ready.get(), lanes.stream(lane));
    Peer& peer = peers_[static_cast<std::size_t>(work.peer)];
    if (sends) {
      peer.sends.push_back({work, std::move(ready)});
      match(peer);
      return false;
    }
    ControlMessage wanted = about(work, MailKind::wanted);
    wanted.ticket = ++tickets_;
    wanted.allocation = host_.room(work.peer);
    host_.expect({work.peer, wanted.ticket, work.to, work.bytes(), work, lane, std::move(ready)});
    peer.office->send(wanted, nullptr);
    return false;
  }

  bool progress() override {
    bool moved = false;
    for (std::size_t p = 0; p < peers_.size(); ++p) {
      Peer& peer = peers_[p];
      if (!peer.office) continue;
      moved |= peer.office->flush();
      for (; peer.office->any(); moved = true) take(static_cast<int>(p), peer);
      for (const TransportOp& sent : peer.office->completed()) completed_.push_back(sent);
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
      if (peer.office) peer.office->abandon();
    }
    host_.abandon();
  }

 private:
  struct Send {
    TransportOp work;
    gpu::OwnedEvent ready;  ///< the lane has what is sent
  };
  struct Peer {
    detail::Owned<MailboxEndpoint> office{};  ///< null: the rank itself
    std::vector<ControlMessage> wanted{};     ///< by the peer, and not sent yet
    std::deque<Send> sends{};                 ///< that the peer does not want yet
  };

  void take(int rank, Peer& peer) {
    const MailboxEndpoint::Received received = peer.office->next();
    const ControlMessage mail = received.mail;
    peer.office->taken();
    switch (mail.kind) {
      case MailKind::wanted: peer.wanted.push_back(mail); return match(peer);
      case MailKind::emptied: return host_.emptied(received, rank);
      case MailKind::piece:
        steps_->api().hear(received.told);
        if (const auto whole = host_.receive(mail, rank, *peer.office)) {
          const TransportOp& work = whole->work;
          steps_->lanes().used_by(whole->lane, {work.to, work.bytes()}, StreamPool::Use::writes,
                                  host_.receiving(rank));
          completed_.push_back(work);
        }
        return;
      default: {  // a message that is not as long as its receive
        const TransportOp work = host_.expected(rank, mail.ticket).work;
        throw peer_error(
            work.owner->refuse(rank, work.bytes(), detail::joined({mail.bytes, " bytes"})));
      }
    }
  }

  /// Sends go to the window in the order in which they were started, those that are wanted.
  void match(Peer& peer) {
    for (auto send = peer.sends.begin(); send != peer.sends.end();) {
      const auto wanted =
          std::find_if(peer.wanted.begin(), peer.wanted.end(),
                       [&](const ControlMessage& mail) { return is_about(mail, send->work); });
      if (wanted == peer.wanted.end()) {
        ++send;
        continue;
      }
      const ControlMessage mail = *wanted;
      Send found = std::move(*send);
      peer.wanted.erase(wanted);
      send = peer.sends.erase(send);
      begin(std::move(found), mail, *peer.office);
    }
  }

  void begin(Send send, const ControlMessage& wanted, MailboxEndpoint& office) {
    const TransportOp& work = send.work;
    if (wanted.bytes == work.bytes()) {
      return host_.send({wanted.ticket, work.a, work.bytes(), wanted.allocation, wanted.allocation,
                         std::move(send.ready), work},
                        work.peer, office);
    }
    office.send({.kind = MailKind::message, .ticket = wanted.ticket, .bytes = work.bytes()},
                nullptr);
  }

  DeviceSteps* steps_;
  HostStagedPart host_;
  std::uint32_t tickets_ = 0;  ///< of receives
  std::vector<Peer> peers_;    ///< by rank
  std::vector<TransportOp> completed_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
