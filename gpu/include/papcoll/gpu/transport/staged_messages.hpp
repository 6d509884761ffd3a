#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/handles.hpp>
#include <papcoll/gpu/transport/device_steps.hpp>
#include <papcoll/gpu/transport/mailbox.hpp>
#include <papcoll/gpu/transport/pulled_messages.hpp>
#include <papcoll/gpu/transport/staging_ring.hpp>
#include <papcoll/gpu/transport/staging_ring_ends.hpp>
#include <papcoll/gpu/transport/stream_pool.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/plan.hpp>
#include <papcoll/schedule/plan_run.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Messages through memory of the host, for devices that cannot reach each other: they go piece by
/// piece through the window of the two ranks (StagingRing).
///
///     sender                                     receiver
///     start of a send                  ←──────── start of a receive: mail {wanted, ticket}
///     has both: its device copies a piece
///     to a free cell of the window
///     sees that the copy is complete: ─────────→ its device copies the piece from there
///     the cell is filled
///     the send is complete when all    ←──────── sees that the copy is complete: the cell is
///     cells of the message are filled            empty again
///                                                the receive is complete when the copies of
///                                                all pieces are in a stream
///
/// So what is in a window has a receive that waits for it: no message stands in the way of others,
/// and none is kept in memory of its own.
class StagedMessages final : public DeviceMessages {
 public:
  /// With a peer for each rank. `steps` stays longer.
  StagedMessages(DeviceSteps& steps, const Node& node, const std::vector<MailboxPair>& boxes)
      : steps_(&steps), windows_(node), rank_(node.rank) {
    for (const MailboxPair& pair : boxes) {
      peers_.emplace_back();
      peers_.back().boxes = pair;
    }
  }

  bool start(const TransportOp& work, std::size_t lane) override {
    Peer& peer = peers_[static_cast<std::size_t>(work.peer)];
    const bool sends = work.kind == OpKind::send;
    const StreamPool::Use use = sends ? StreamPool::Use::reads : StreamPool::Use::writes;
    steps_->lanes().order(lane, {sends ? work.a : work.to, work.bytes()}, use);
    gpu::OwnedEvent ready = steps_->lanes().events().take();
    steps_->api().record(ready.get(), steps_->lanes().stream(lane));
    if (sends) {
      if (!peer.writer) open(peer.writer, rank_, peer.boxes.on_node);
      peer.sends.push_back({work, std::move(ready), 0});
      match(peer);
      return false;
    }
    if (!peer.reader) open(peer.reader, peer.boxes.on_node, rank_);
    ControlMessage wanted;
    wanted.kind = MailKind::wanted;
    wanted.ticket = peer.reader->receive({true, work, lane, std::move(ready)});
    wanted.sequence = work.sequence;
    wanted.block = work.block;
    wanted.number = work.number;
    peer.kept.push_back(wanted);
    flush(peer);
    return false;
  }

  bool progress() override {
    bool moved = false;
    for (Peer& peer : peers_) {
      if (peer.boxes.out == nullptr) continue;
      moved |= flush(peer);
      if (take(peer)) match(peer);
      if (peer.writer) moved |= peer.writer->progress(completed_);
      if (peer.reader) moved |= peer.reader->progress(completed_);
    }
    // complete() starts further steps, which may complete others: take the list away first.
    for (const TransportOp& w : std::exchange(completed_, {})) w.owner->complete(w.slot, w.step);
    return moved;
  }

  void close() noexcept override {}  // nothing of peers is mapped

  void abandon() noexcept override {
    completed_.clear();
    for (Peer& peer : peers_) {
      peer.kept.clear();
      peer.wanted.clear();
      peer.sends.clear();
      if (peer.writer) peer.writer->abandon();
      if (peer.reader) peer.reader->abandon();
    }
  }

 private:
  struct Peer {
    MailboxPair boxes{};
    std::uint32_t mailed = 0;                  ///< what boxes.out->sent is
    std::uint32_t taken = 0;                   ///< what boxes.in->taken is
    std::deque<ControlMessage> kept;           ///< mails for which there is no slot yet
    std::vector<ControlMessage> wanted;        ///< by the peer, and not sent yet
    std::deque<StagingWriter::Message> sends;  ///< that the peer does not want yet
    detail::Owned<StagingWriter> writer;       ///< null: nothing was sent to it yet
    detail::Owned<StagingReader> reader;       ///< null: nothing was received from it yet
  };

  template <class End>
  void open(detail::Owned<End>& end, int from, int to) {
    end = detail::make_owned<End>(*steps_, windows_.between(from, to));
  }

  /// Sends mails that were kept and have a slot now.
  static bool flush(Peer& peer) {
    Mailbox* const out = peer.boxes.out;
    const std::uint32_t before = peer.mailed;
    while (!peer.kept.empty() &&
           peer.mailed - out->taken.load(std::memory_order_acquire) < Mailbox::slots) {
      out->each[peer.mailed % Mailbox::slots].mail = peer.kept.front();
      peer.kept.pop_front();
      out->sent.store(++peer.mailed, std::memory_order_release);
    }
    return peer.mailed != before;
  }

  static bool take(Peer& peer) {
    Mailbox* const in = peer.boxes.in;
    const std::uint32_t before = peer.taken;
    while (in->sent.load(std::memory_order_acquire) != peer.taken) {
      peer.wanted.push_back(in->each[peer.taken % Mailbox::slots].mail);
      in->taken.store(++peer.taken, std::memory_order_release);
    }
    return peer.taken != before;
  }

  /// Sends go to the window in the order in which they were started, those that are wanted.
  static void match(Peer& peer) {
    for (auto send = peer.sends.begin(); send != peer.sends.end();) {
      const auto wanted =
          std::find_if(peer.wanted.begin(), peer.wanted.end(), [&](const ControlMessage& mail) {
            return mail.sequence == send->work.sequence && mail.block == send->work.block &&
                   mail.number == send->work.number;
          });
      if (wanted == peer.wanted.end()) {
        ++send;
        continue;
      }
      send->ticket = wanted->ticket;
      peer.wanted.erase(wanted);
      peer.writer->send(std::move(*send));
      send = peer.sends.erase(send);
    }
  }

  DeviceSteps* steps_;
  HostWindows windows_;
  int rank_;
  std::vector<Peer> peers_;  ///< by rank
  std::vector<TransportOp> completed_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
