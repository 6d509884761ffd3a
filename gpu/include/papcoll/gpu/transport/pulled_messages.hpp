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
///     mail {allocation, offset, ticket} ───────→ its stream for pulls from the sender waits for
///                                                the event, pulls, records its slot's event
///     the send is complete: its lane will  ←──── answer {ticket}
///     wait for that event before it              the receive is complete: its lane will wait
///     overwrites the data                        for the pull before it uses the data
///
/// One message at a time is pulled from a peer, in the order of their mails: messages of several
/// blocks would share the link, and all of them arrive late.
///
/// A long message may be shared out over several paths, as the receiver says: it pulls what goes
/// directly and through other devices, and asks the sender for the part that goes through the host.
/// The answer then comes behind the last piece.
///
/// A mail whose receive is not posted yet is taken at once, so that it does not stop those behind
/// it: a stream for that waits for its event and records one of this rank in its place.
class PulledMessages final : public DeviceMessages {
 public:
  /// With a peer for each rank. `steps` stays longer.
  PulledMessages(DeviceSteps& steps, const std::vector<MailboxPair>& peers,
                 std::size_t most_imports, SharedOut shared_out = {})
      : api_(&steps.api()),
        lanes_(&steps.lanes()),
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
    sent_.start(work, lane, pair(work.peer).office);
    return false;
  }

  bool progress() override {
    bool moved = false;
    for (std::size_t p = 0; p < peers_.size(); ++p) {
      if (!peers_[p]) continue;
      MailboxEndpoint& office = peers_[p]->office;
      moved |= office.flush();
      while (office.any()) {
        take(static_cast<int>(p), *peers_[p]);
        moved = true;
      }
    }
    return moved;
  }

  void finish() override { imports_.trim(lanes_->trunk()); }

  void close() noexcept override {
    imports_.close();
    if (host_path_) host_path_->close();
  }

  void abandon() noexcept override {
    posted_.clear();
    early_mails_.clear();
    sent_.abandon();
    if (host_path_) host_path_->abandon();
    for (auto& peer : peers_) {
      if (!peer) continue;
      peer->office.abandon();
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
        : office(api, device, boxes),
          pulls(api, api.make_stream(device)),
          answers(api, api.make_stream(device)) {}

    MailboxEndpoint office;
    detail::Owned<MessagePaths> paths;  ///< of long messages of the peer; null: directly
    gpu::OwnedStream pulls;             ///< messages of the peer
    gpu::OwnedStream answers;           ///< waits for the peer's pulls
  };
  /// A message whose mail came before its receive was posted.
  struct EarlyMail {
    int peer;
    ControlMessage mail;
    gpu::OwnedEvent event;
  };
  /// A receive, and an event: its lane has done with the bytes before.
  struct Posted {
    TransportOp work;
    std::size_t lane;
    gpu::OwnedEvent ready;
  };
  bool start_receive(const TransportOp& work, std::size_t lane) {
    lanes_->order(lane, {work.to, work.bytes()}, Use::writes);
    Posted posted{work, lane, lanes_->events().take()};
    api_->record(posted.ready.get(), lanes_->stream(lane));
    const auto early = std::find_if(
        early_mails_.begin(), early_mails_.end(),
        [&](const EarlyMail& m) { return m.peer == work.peer && is_about(m.mail, work); });
    if (early == early_mails_.end()) {
      posted_.push_back(std::move(posted));
      return false;
    }
    EarlyMail mail = std::move(*early);
    early_mails_.erase(early);
    Pair& from = pair(work.peer);
    api_->wait(from.pulls.get(), mail.event.get());
    lanes_->events().give_back(std::move(mail.event));
    return pull(mail.mail, std::move(posted), from);
  }

  /// The stream for pulls waits for the mail's event already. True: the receive is complete.
  bool pull(const ControlMessage& mail, Posted posted, Pair& from) {
    const TransportOp& work = posted.work;
    if (mail.bytes != work.bytes()) {
      throw peer_error(work.owner->refuse(work.peer, work.bytes(),
                                          papcoll::detail::joined({mail.bytes, " bytes"})));
    }
    const bool complete = mail.bytes == 0 || copy(mail, posted, from);
    if (posted.ready) lanes_->events().give_back(std::move(posted.ready));
    if (complete) answer(mail.ticket, from);
    return complete;
  }

  /// False: a part comes through the host.
  bool copy(const ControlMessage& mail, Posted& posted, Pair& from) {
    const TransportOp& work = posted.work;
    const gpu::Stream pulls = from.pulls.get();
    const std::byte* const there =
        imports_.find(work.peer, mail.allocation, mail.memory) + mail.offset;
    api_->wait(pulls, posted.ready.get());
    MessagePaths* const paths = from.paths.get();
    if (paths == nullptr || !paths->shares_out(mail.bytes)) {
      api_->copy(work.to, there, mail.bytes, pulls);
      lanes_->used_by(posted.lane, {work.to, work.bytes()}, Use::writes, pulls);
      return true;
    }
    const gpu::PathShare by_host = paths->share_out(mail.bytes);
    if (by_host.bytes != 0) ask_for(by_host, mail.ticket, posted, from);
    const std::byte* near = nullptr;
    if (paths->uses_others()) {
      near = imports_.find(work.peer, mail.allocation, mail.memory, paths->from()) + mail.offset;
    }
    paths->copy(work.to, there, near, pulls);
    lanes_->used_by(posted.lane, {work.to, work.bytes()}, Use::writes, pulls);
    return by_host.bytes == 0;
  }

  void ask_for(const gpu::PathShare& by_host, std::uint32_t ticket, Posted& posted, Pair& from) {
    const auto pieces = static_cast<std::size_t>(by_host.chunks);
    const ControlMessage part{.kind = MailKind::part,
                              .ticket = ticket,
                              .bytes = by_host.bytes,
                              .allocation = (by_host.bytes + pieces - 1) / pieces,
                              .offset = by_host.offset};
    from.office.send(part, from.pulls.get());
    host_path_->expect({posted.work.peer, ticket, posted.work.to + by_host.offset, by_host.bytes,
                        posted.work, posted.lane, std::move(posted.ready)});
  }

  /// The sender may overwrite its message when all that is in the stream for pulls now is complete.
  static void answer(std::uint32_t ticket, Pair& from) {
    from.office.send({.kind = MailKind::answer, .ticket = ticket}, from.pulls.get());
  }

  void take(int peer, Pair& from) {
    const MailboxEndpoint::Received received = from.office.next();
    switch (received.mail.kind) {
      case MailKind::answer: return take_answer(received, from);
      case MailKind::part: {
        const ControlMessage wanted = received.mail;
        from.office.taken();
        return host_path_->send(sent_.part(wanted), peer, from.office);
      }
      case MailKind::emptied: host_path_->emptied(received, peer); return from.office.taken();
      case MailKind::piece: return take_piece(received, peer, from);
      default: return take_message(received, peer, from);
    }
  }

  void take_message(const MailboxEndpoint::Received& received, int peer, Pair& from) {
    const ControlMessage mail = received.mail;
    const auto posted = std::find_if(posted_.begin(), posted_.end(), [&](const Posted& p) {
      return p.work.peer == peer && is_about(mail, p.work);
    });
    if (posted == posted_.end()) {
      gpu::OwnedEvent event = lanes_->events().take();
      api_->wait(early_.get(), received.event);
      api_->record(event.get(), early_.get());
      from.office.taken();
      early_mails_.push_back({peer, mail, std::move(event)});
      return;
    }
    Posted receive = std::move(*posted);
    posted_.erase(posted);
    const TransportOp work = receive.work;
    api_->wait(from.pulls.get(), received.event);
    from.office.taken();
    if (pull(mail, std::move(receive), from)) work.owner->complete(work.slot, work.step);
  }

  void take_piece(const MailboxEndpoint::Received& received, int peer, Pair& from) {
    const ControlMessage piece = received.mail;
    api_->wait(host_path_->receiving(peer), received.event);
    from.office.taken();
    const auto whole = host_path_->receive(piece, peer, from.office);
    if (!whole) return;
    gpu::OwnedEvent event = lanes_->events().take();
    api_->record(event.get(), host_path_->receiving(peer));
    api_->wait(from.pulls.get(), event.get());
    lanes_->events().give_back(std::move(event));
    const TransportOp& work = whole->work;
    lanes_->used_by(whole->lane, {work.to, work.bytes()}, Use::writes, from.pulls.get());
    answer(whole->ticket, from);
    work.owner->complete(work.slot, work.step);
  }

  void take_answer(const MailboxEndpoint::Received& received, Pair& from) {
    const ControlMessage mail = received.mail;
    api_->wait(from.answers.get(), received.event);
    from.office.taken();
    const TransportOp work = sent_.answered(mail, from.answers.get());
    work.owner->complete(work.slot, work.step);
  }

  Pair& pair(int peer) { return *peers_[static_cast<std::size_t>(peer)]; }

  gpu::Api* api_;
  StreamPool* lanes_;
  MemoryImports imports_;
  detail::Owned<HostStagedPart> host_path_;  ///< null: no path goes through the host
  SentMessages sent_;
  gpu::OwnedStream early_;  ///< waits for events of mails whose receive is not posted
  std::vector<detail::Owned<Pair>> peers_;
  std::vector<Posted> posted_;
  std::vector<EarlyMail> early_mails_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
