// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/paths.hpp>
#include <papcoll/gpu/transport/device_steps.hpp>
#include <papcoll/gpu/transport/host_staged_part.hpp>
#include <papcoll/gpu/transport/mailbox.hpp>
#include <papcoll/gpu/transport/sent_messages.hpp>
#include <papcoll/gpu/transport/stream_pool.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/plan.hpp>
#include <papcoll/schedule/plan_run.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// How messages are shared out over paths. Without a host path, none of `paths` goes there.
struct SharedOut {
  detail::Owned<HostStagedPart> host{};
  std::vector<detail::Owned<MessagePaths>> paths{};  ///< from each rank; may be null
};

/// Messages that their receiver pulls from memory of the sender's device, which it has mapped.
///
/// A step is complete for the plan when it is in a stream, so that the host runs ahead of the
/// devices; finish() orders the caller's stream after all of it.
///
///     sender                                     receiver
///     its lane: … what makes the data            (has posted the receive)
///     records the slot's event
///     control {allocation, offset, ticket} ────→ its stream for pulls from the sender waits for
///                                                the event, pulls, records its slot's event
///     the send is complete: its lane will  ←──── answer {ticket}
///     wait for that event before it              the receive is complete: its lane will wait
///     overwrites the data                        for the pull before it uses the data
///
/// One message at a time is pulled from a peer, in the order of their control messages: messages of
/// several blocks would share the link, and all of them arrive late.
///
/// A long message may be shared out over several paths, as the receiver says: it pulls what goes
/// directly and through other devices, and asks the sender for the part that goes through the host.
/// The answer then comes behind the last piece.
///
/// A control message whose receive is not posted yet is taken at once, so that it does not stop
/// those behind it: a stream for that waits for its event and records one of this rank in its
/// place.
class PulledMessages final : public DeviceMessages {
 public:
  /// With a peer for each rank. `steps` stays longer.
  PulledMessages(DeviceSteps& steps, const std::vector<MailboxPair>& peers,
                 std::size_t most_imports, SharedOut shared_out = {})
      : api_(&steps.api()),
        streams_(&steps.streams()),
        imports_(steps.api(), steps.device(), most_imports),
        host_path_(std::move(shared_out.host)),
        sent_(steps, host_path_ ? MessagePaths::least_shared_out : SentMessages::none),
        early_(steps.api(), steps.api().make_stream(steps.device())) {
    for (std::size_t p = 0; p < peers.size(); ++p) {
      peers_.emplace_back();
      if (peers[p].out == nullptr) continue;
      peers_.back() = detail::make_owned<Pair>(steps.api(), steps.device(), peers[p]);
      if (p < shared_out.paths.size()) peers_.back()->paths = std::move(shared_out.paths[p]);
    }
  }

  bool start(const TransportOp& work, std::size_t lane) override {
    if (work.kind == OpKind::receive) return start_receive(work, lane);
    sent_.start(work, lane, pair(work.peer).endpoint);
    return false;
  }

  bool progress() override {
    bool moved = false;
    for (std::size_t p = 0; p < peers_.size(); ++p) {
      if (!peers_[p]) continue;
      MailboxEndpoint& endpoint = peers_[p]->endpoint;
      moved |= endpoint.flush();
      while (endpoint.any()) {
        take(static_cast<int>(p), *peers_[p]);
        moved = true;
      }
    }
    return moved;
  }

  void finish() override { imports_.trim(streams_->order_stream()); }

  void close() noexcept override {
    imports_.close();
    if (host_path_) host_path_->close();
  }

  void abandon() noexcept override {
    posted_.clear();
    early_messages_.clear();
    sent_.abandon();
    if (host_path_) host_path_->abandon();
    for (auto& peer : peers_) {
      if (!peer) continue;
      peer->endpoint.abandon();
      if (peer->paths) peer->paths->abandon();
    }
    imports_.leak();
  }

  MemoryImports* imports() noexcept override { return &imports_; }

 private:
  using Use = StreamPool::Use;

  /// What this rank has for a peer.
  struct Pair {
    Pair(gpu::Api& api, int device, const MailboxPair& boxes)
        : endpoint(api, device, boxes),
          pulls(api, api.make_stream(device)),
          answers(api, api.make_stream(device)) {}

    MailboxEndpoint endpoint;
    detail::Owned<MessagePaths> paths;  ///< of long messages of the peer; null: directly
    gpu::OwnedStream pulls;             ///< messages of the peer
    gpu::OwnedStream answers;           ///< waits for the peer's pulls
  };
  /// A message whose control message came before its receive was posted.
  struct EarlyMessage {
    int peer;
    ControlMessage control;
    gpu::OwnedEvent event;
  };
  /// A receive, and an event: its lane has done with the bytes before.
  struct Posted {
    TransportOp work;
    std::size_t lane;
    gpu::OwnedEvent ready;
  };
  bool start_receive(const TransportOp& work, std::size_t lane) {
    streams_->order(lane, {work.to, work.bytes()}, Use::writes);
    Posted posted{work, lane, streams_->events().take()};
    api_->record(posted.ready.get(), streams_->stream(lane));
    const auto early = std::find_if(
        early_messages_.begin(), early_messages_.end(),
        [&](const EarlyMessage& m) { return m.peer == work.peer && is_about(m.control, work); });
    if (early == early_messages_.end()) {
      posted_.push_back(std::move(posted));
      return false;
    }
    EarlyMessage message = std::move(*early);
    early_messages_.erase(early);
    Pair& from = pair(work.peer);
    api_->wait(from.pulls.get(), message.event.get());
    streams_->events().give_back(std::move(message.event));
    return pull(message.control, std::move(posted), from);
  }

  /// The stream for pulls waits for the control message's event already. True: the receive is
  /// complete.
  bool pull(const ControlMessage& control, Posted posted, Pair& from) {
    const TransportOp& work = posted.work;
    if (control.bytes != work.bytes()) {
      throw peer_error(work.owner->refuse(work.peer, work.bytes(),
                                          papcoll::detail::joined({control.bytes, " bytes"})));
    }
    const bool complete = control.bytes == 0 || copy(control, posted, from);
    if (posted.ready) streams_->events().give_back(std::move(posted.ready));
    if (complete) answer(control.ticket, from);
    return complete;
  }

  /// False: a part comes through the host.
  bool copy(const ControlMessage& control, Posted& posted, Pair& from) {
    const TransportOp& work = posted.work;
    const gpu::Stream pulls = from.pulls.get();
    const std::byte* const there =
        imports_.find(work.peer, control.allocation, control.memory) + control.offset;
    api_->wait(pulls, posted.ready.get());
    MessagePaths* const paths = from.paths.get();
    if (paths == nullptr || !paths->shares_out(control.bytes)) {
      api_->copy(work.to, there, control.bytes, pulls);
      streams_->used_by(posted.lane, {work.to, work.bytes()}, Use::writes, pulls);
      return true;
    }
    const gpu::PathShare by_host = paths->share_out(control.bytes);
    if (by_host.bytes != 0) ask_for(by_host, control.ticket, posted, from);
    const std::byte* mapped = nullptr;
    if (paths->uses_others()) {
      mapped = imports_.find(work.peer, control.allocation, control.memory, paths->from()) +
               control.offset;
    }
    paths->copy(work.to, there, mapped, pulls);
    streams_->used_by(posted.lane, {work.to, work.bytes()}, Use::writes, pulls);
    return by_host.bytes == 0;
  }

  void ask_for(const gpu::PathShare& by_host, std::uint32_t ticket, Posted& posted, Pair& from) {
    const auto pieces = static_cast<std::size_t>(by_host.chunks);
    const ControlMessage part{.kind = ControlKind::part,
                              .ticket = ticket,
                              .bytes = by_host.bytes,
                              .allocation = (by_host.bytes + pieces - 1) / pieces,
                              .offset = by_host.offset};
    from.endpoint.send(part, from.pulls.get());
    host_path_->expect({posted.work.peer, ticket, posted.work.to + by_host.offset, by_host.bytes,
                        posted.work, posted.lane, std::move(posted.ready)});
  }

  /// The sender may overwrite its message when all that is in the stream for pulls now is complete.
  static void answer(std::uint32_t ticket, Pair& from) {
    from.endpoint.send({.kind = ControlKind::answer, .ticket = ticket}, from.pulls.get());
  }

  void take(int peer, Pair& from) {
    const MailboxEndpoint::Received received = from.endpoint.next();
    switch (received.control.kind) {
      case ControlKind::answer: return take_answer(received, from);
      case ControlKind::part: {
        const ControlMessage wanted = received.control;
        from.endpoint.taken();
        return host_path_->send(sent_.part(wanted), peer, from.endpoint);
      }
      case ControlKind::emptied: host_path_->emptied(received, peer); return from.endpoint.taken();
      case ControlKind::piece: return take_piece(received, peer, from);
      default: return take_message(received, peer, from);
    }
  }

  void take_message(const MailboxEndpoint::Received& received, int peer, Pair& from) {
    const ControlMessage control = received.control;
    const auto posted = std::find_if(posted_.begin(), posted_.end(), [&](const Posted& p) {
      return p.work.peer == peer && is_about(control, p.work);
    });
    if (posted == posted_.end()) {
      gpu::OwnedEvent event = streams_->events().take();
      api_->wait(early_.get(), received.event);
      api_->record(event.get(), early_.get());
      from.endpoint.taken();
      early_messages_.push_back({peer, control, std::move(event)});
      return;
    }
    Posted receive = std::move(*posted);
    posted_.erase(posted);
    const TransportOp work = receive.work;
    api_->wait(from.pulls.get(), received.event);
    from.endpoint.taken();
    if (pull(control, std::move(receive), from)) work.owner->complete(work.slot, work.step);
  }

  void take_piece(const MailboxEndpoint::Received& received, int peer, Pair& from) {
    const ControlMessage piece = received.control;
    api_->wait(host_path_->receiving(peer), received.event);
    from.endpoint.taken();
    const auto whole = host_path_->receive(piece, peer, from.endpoint);
    if (!whole) return;
    gpu::OwnedEvent event = streams_->events().take();
    api_->record(event.get(), host_path_->receiving(peer));
    api_->wait(from.pulls.get(), event.get());
    streams_->events().give_back(std::move(event));
    const TransportOp& work = whole->work;
    streams_->used_by(whole->lane, {work.to, work.bytes()}, Use::writes, from.pulls.get());
    answer(whole->ticket, from);
    work.owner->complete(work.slot, work.step);
  }

  void take_answer(const MailboxEndpoint::Received& received, Pair& from) {
    const ControlMessage control = received.control;
    api_->wait(from.answers.get(), received.event);
    from.endpoint.taken();
    const TransportOp work = sent_.answered(control, from.answers.get());
    work.owner->complete(work.slot, work.step);
  }

  Pair& pair(int peer) { return *peers_[static_cast<std::size_t>(peer)]; }

  gpu::Api* api_;
  StreamPool* streams_;
  MemoryImports imports_;
  detail::Owned<HostStagedPart> host_path_;  ///< null: no path goes through the host
  SentMessages sent_;
  gpu::OwnedStream early_;  ///< waits for events of messages whose receive is not posted
  std::vector<detail::Owned<Pair>> peers_;
  std::vector<Posted> posted_;
  std::vector<EarlyMessage> early_messages_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
