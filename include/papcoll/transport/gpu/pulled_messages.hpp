#pragma once

#include <papcoll/base/joined.hpp>
#include <papcoll/config.hpp>
#include <papcoll/error.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/handles.hpp>
#include <papcoll/plan/endpoint.hpp>
#include <papcoll/plan/plan.hpp>
#include <papcoll/plan/run.hpp>
#include <papcoll/transport/gpu/device_memory.hpp>
#include <papcoll/transport/gpu/device_steps.hpp>
#include <papcoll/transport/gpu/imports.hpp>
#include <papcoll/transport/gpu/lanes.hpp>
#include <papcoll/transport/gpu/mail_office.hpp>
#include <papcoll/transport/gpu/mailbox.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// The two mailboxes of a pair of ranks; null for the rank itself.
struct MailboxPair {
  Mailbox* out = nullptr;
  Mailbox* in = nullptr;
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
/// Memory of the caller is not shown to peers, since nobody may free what others have mapped: its
/// messages are copied to memory of the rank first. What share() was called for goes directly.
///
/// A mail whose receive is not posted yet is taken at once, so that it does not stop those behind
/// it: a stream for that waits for its event and records one of this rank in its place.
class PulledMessages final : public DeviceMessages {
 public:
  /// With a peer for each rank. `steps` stays longer.
  PulledMessages(DeviceSteps& steps, const std::vector<MailboxPair>& peers,
                 std::size_t most_imports)
      : api_(&steps.api()),
        lanes_(&steps.lanes()),
        memory_(steps.memory()),
        imports_(steps.api(), steps.device(), most_imports),
        early_(steps.api(), steps.api().make_stream(steps.device())) {
    for (const MailboxPair& p : peers) {
      peers_.push_back(p.out == nullptr ? nullptr
                                        : std::make_unique<Pair>(steps.api(), steps.device(), p));
    }
  }

  bool start(const TransportOp& work, std::size_t lane) override {
    if (work.kind == OpKind::receive) return start_receive(work, lane);
    start_send(work, lane);
    return false;
  }

  bool progress() override {
    bool moved = false;
    for (std::size_t p = 0; p < peers_.size(); ++p) {
      if (!peers_[p]) continue;
      MailOffice& office = peers_[p]->office;
      moved |= office.flush();
      while (office.any()) {
        take(static_cast<int>(p), *peers_[p]);
        moved = true;
      }
    }
    return moved;
  }

  void finish() override { imports_.trim(lanes_->trunk()); }

  void close() noexcept override { imports_.close(); }

  void abandon() noexcept override {
    posted_.clear();
    early_mails_.clear();
    tickets_.clear();
    for (auto& peer : peers_) {
      if (peer) peer->office.abandon();
    }
    imports_.leak();
  }

  Imports* imports() noexcept override { return &imports_; }

 private:
  using Use = Lanes::Use;

  /// What this rank has for a peer.
  struct Pair {
    Pair(gpu::Api& api, int device, const MailboxPair& boxes)
        : office(api, device, *boxes.out, *boxes.in),
          pulls(api, api.make_stream(device)),
          answers(api, api.make_stream(device)) {}

    MailOffice office;
    gpu::OwnedStream pulls;    ///< messages of the peer
    gpu::OwnedStream answers;  ///< waits for the peer's pulls
  };
  /// A message whose mail came before its receive was posted.
  struct EarlyMail {
    int peer;
    Mail mail;
    gpu::OwnedEvent event;
  };
  /// A receive, and an event: its lane has done with the bytes before.
  struct Posted {
    TransportOp work;
    std::size_t lane;
    gpu::OwnedEvent ready;
  };
  /// A message of this rank that is not answered.
  struct Sent {
    bool waits = false;
    TransportOp work{};
    std::size_t lane = 0;
    DeviceRange range{};          ///< what the peer pulls
    std::byte* staged = nullptr;  ///< where it was copied to, or null
  };

  void start_send(const TransportOp& work, std::size_t lane) {
    Sent sent{true, work, lane, {work.a, work.bytes()}, nullptr};
    lanes_->order(lane, sent.range, Use::reads);
    DeviceMemory::Allocation* has = work.n == 0 ? nullptr : memory_->find(work.a);
    if (has == nullptr && work.n != 0) {
      sent.staged = memory_->take(work.bytes(), lane);
      sent.range.lo = sent.staged;
      lanes_->order(lane, sent.range, Use::writes);
      api_->copy(sent.staged, work.a, work.bytes(), lanes_->stream(lane));
      has = memory_->find(sent.staged);
    }
    Mail mail;
    mail.kind = MailKind::message;
    mail.ticket = ticket_for(sent);
    mail.sequence = work.sequence;
    mail.block = work.block;
    mail.number = work.number;
    mail.bytes = work.bytes();
    if (has != nullptr) {
      mail.allocation = has->number;
      mail.offset = static_cast<std::uint64_t>(sent.range.lo - has->base);
      mail.memory = memory_->handle_of(*has);
    }
    pair(work.peer).office.send(mail, lanes_->stream(lane));
  }

  std::uint32_t ticket_for(const Sent& sent) {
    auto free =
        std::find_if(tickets_.begin(), tickets_.end(), [](const Sent& s) { return !s.waits; });
    if (free == tickets_.end()) free = tickets_.insert(free, Sent{});
    *free = sent;
    return static_cast<std::uint32_t>(free - tickets_.begin());
  }

  bool start_receive(const TransportOp& work, std::size_t lane) {
    lanes_->order(lane, {work.to, work.bytes()}, Use::writes);
    Posted posted{work, lane, lanes_->events().take()};
    api_->record(posted.ready.get(), lanes_->stream(lane));
    const auto early = std::find_if(
        early_mails_.begin(), early_mails_.end(),
        [&](const EarlyMail& m) { return m.peer == work.peer && is_for(m.mail, work); });
    if (early == early_mails_.end()) {
      posted_.push_back(std::move(posted));
      return false;
    }
    EarlyMail mail = std::move(*early);
    early_mails_.erase(early);
    Pair& from = pair(work.peer);
    api_->wait(from.pulls.get(), mail.event.get());
    lanes_->events().give_back(std::move(mail.event));
    pull(mail.mail, std::move(posted), from);
    return true;
  }

  static bool is_for(const Mail& mail, const TransportOp& work) noexcept {
    return mail.sequence == work.sequence && mail.block == work.block && mail.number == work.number;
  }

  /// The stream for pulls waits for the mail's event already.
  void pull(const Mail& mail, Posted posted, Pair& from) {
    const TransportOp& work = posted.work;
    if (mail.bytes != work.bytes()) {
      throw peer_error(work.owner->refuse(work, papcoll::detail::joined({mail.bytes, " bytes"})));
    }
    if (mail.bytes != 0) {
      const std::byte* const there = imports_.find(work.peer, mail.allocation, mail.memory);
      api_->wait(from.pulls.get(), posted.ready.get());
      api_->copy(work.to, there + mail.offset, mail.bytes, from.pulls.get());
      lanes_->used_by(posted.lane, {work.to, work.bytes()}, Use::writes, from.pulls.get());
    }
    lanes_->events().give_back(std::move(posted.ready));
    Mail answer;
    answer.kind = MailKind::answer;
    answer.ticket = mail.ticket;
    from.office.send(answer, from.pulls.get());
  }

  void take(int peer, Pair& from) {
    const MailOffice::Received received = from.office.next();
    const Mail mail = received.mail;
    if (mail.kind == MailKind::answer) {
      take_answer(mail, received.event, from);
      return;
    }
    const auto posted = std::find_if(posted_.begin(), posted_.end(), [&](const Posted& p) {
      return p.work.peer == peer && is_for(mail, p.work);
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
    pull(mail, std::move(receive), from);
    work.owner->complete(work.slot, work.step);
  }

  void take_answer(const Mail& mail, gpu::Event event, Pair& from) {
    const Sent sent = tickets_.at(mail.ticket);
    tickets_[mail.ticket].waits = false;
    api_->wait(from.answers.get(), event);
    from.office.taken();
    lanes_->used_by(sent.lane, sent.range, Use::reads, from.answers.get());
    if (sent.staged != nullptr) memory_->give_back(sent.staged, sent.lane);
    sent.work.owner->complete(sent.work.slot, sent.work.step);
  }

  Pair& pair(int peer) { return *peers_[static_cast<std::size_t>(peer)]; }

  gpu::Api* api_;
  Lanes* lanes_;
  std::shared_ptr<DeviceMemory> memory_;
  Imports imports_;
  gpu::OwnedStream early_;  ///< waits for events of mails whose receive is not posted
  std::vector<std::unique_ptr<Pair>> peers_;
  std::vector<Posted> posted_;
  std::vector<EarlyMail> early_mails_;
  std::vector<Sent> tickets_;
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
