#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/joined.hpp>
#include <papcoll/config.hpp>
#include <papcoll/error.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/device_reducer.hpp>
#include <papcoll/gpu/handles.hpp>
#include <papcoll/op.hpp>
#include <papcoll/plan/endpoint.hpp>
#include <papcoll/plan/plan.hpp>
#include <papcoll/plan/run.hpp>
#include <papcoll/transport/gpu/device_memory.hpp>
#include <papcoll/transport/gpu/imports.hpp>
#include <papcoll/transport/gpu/lanes.hpp>
#include <papcoll/transport/gpu/mail_office.hpp>
#include <papcoll/transport/gpu/mailbox.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// One rank's end for plans between memory of devices.
///
/// A step is complete for the plan when it is in a stream, so that the host runs ahead of the
/// devices; finish() orders the caller's stream after all of it.
///
///     sender                                     receiver
///     its lane: … what makes the data            (has posted the receive)
///     records the slot's event
///     mail {allocation, offset, ticket} ───────→ its lane waits for the event, pulls the bytes
///                                                records its slot's event
///     its lane waits for that event    ←──────── answer {ticket}
///     the send is complete: what overwrites
///     the data comes later in the lane
///
/// Memory of the caller is not shown to peers, since nobody may free what others have mapped: its
/// messages are copied to memory of the rank first. What share() was called for goes directly.
///
/// A mail whose receive is not posted yet is taken at once, so that it does not stop those behind
/// it: a stream for that waits for its event and records one of this rank in its place.
class DeviceEndpoint final : public Endpoint {
 public:
  /// The two mailboxes of a pair; null for the rank itself.
  struct Peer {
    Mailbox* out = nullptr;
    Mailbox* in = nullptr;
  };
  /// Finds the reducer for a device; throws argument_error if there is none.
  using FindReducer = gpu::DeviceReducer (*)(const Reducer&);

  static constexpr std::size_t default_imports = 256;  ///< allocations of peers that stay mapped

  /// On a device of the api's, with a peer for each rank.
  DeviceEndpoint(gpu::Api& api, int device, const std::vector<Peer>& peers, FindReducer find,
                 std::size_t most_imports = default_imports)
      : api_(&api),
        device_(device),
        find_reducer_(find),
        memory_(std::make_shared<DeviceMemory>(api, device)),
        imports_(api, device, most_imports),
        lanes_(api, device),
        early_(api, api.make_stream(device)) {
    for (const Peer& p : peers) {
      peers_.push_back(p.out == nullptr ? nullptr
                                        : std::make_unique<MailOffice>(api, device, *p.out, *p.in));
    }
  }

  bool start(const TransportOp& work) override {
    const gpu::Stream lane = lane_of(work);
    switch (work.kind) {
      case OpKind::send:
        start_send(work, lane);
        return false;
      case OpKind::receive:
        return start_receive(work, lane);
      case OpKind::reduce:
      case OpKind::copy:
        break;
    }
    if (work.lies_apart) {
      for_each_piece(work, [&](const TransportOp& piece) { perform(piece, lane); });
    } else {
      perform(work, lane);
    }
    return true;
  }

  bool progress() override {
    bool moved = false;
    for (std::size_t p = 0; p < peers_.size(); ++p) {
      if (!peers_[p]) continue;
      moved |= peers_[p]->flush();
      while (peers_[p]->any()) {
        take(static_cast<int>(p), *peers_[p]);
        moved = true;
      }
    }
    return moved;
  }

  std::shared_ptr<std::byte> scratch(std::size_t bytes, MemoryKind) override {
    return {memory_->take(bytes, scratch_order),
            [memory = memory_](std::byte* p) { memory->give_back(p, scratch_order); }};
  }

  void finish(const Call& call) override {
    lanes_.finish(static_cast<gpu::Stream>(call.stream));
    imports_.trim(lanes_.trunk());
  }

  /// Has the device done all that was finished?
  bool is_idle() { return lanes_.is_idle(); }

  /// Messages from memory that begins at `base`, an allocation, go directly from now on.
  void share(std::byte* base, std::size_t bytes) { memory_->share(base, bytes); }
  /// Ends that, when all ranks have closed their imports of it.
  void unshare(std::byte* base) noexcept { memory_->unshare(base); }

  /// Closes what it has mapped of peers. is_idle() holds.
  void close_imports() noexcept { imports_.close(); }
  /// How many allocations of peers it has mapped.
  std::size_t imports() const noexcept { return imports_.size(); }

  void abandon() noexcept override {
    posted_.clear();
    early_mails_.clear();
    tickets_.clear();
    for (auto& peer : peers_) {
      if (peer) peer->abandon();
    }
    abandoned_ = true;
    memory_->leak();
    imports_.leak();
  }

  bool holds_on() const noexcept override { return abandoned_; }

  std::uint32_t sequences_at_once() const noexcept override { return Lanes::calls_at_once; }

 private:
  /// A message whose mail came before its receive was posted.
  struct EarlyMail {
    int peer;
    Mail mail;
    gpu::OwnedEvent event;
  };
  /// A message of this rank that is not answered.
  struct Sent {
    bool waits = false;
    TransportOp work;
    std::byte* staged = nullptr;  ///< where it was copied to, or null
  };

  static constexpr std::size_t scratch_order = Lanes::count;

  gpu::Stream lane_of(const TransportOp& work) {
    return lanes_.of(work.sequence, work.slot, static_cast<gpu::Stream>(work.owner->call().stream));
  }

  void start_send(const TransportOp& work, gpu::Stream lane) {
    Sent sent{true, work, nullptr};
    const std::byte* from = work.a;
    const DeviceMemory::Allocation* has = work.n == 0 ? nullptr : memory_->find(from);
    if (has == nullptr && work.n != 0) {
      sent.staged = memory_->take(work.bytes(), work.slot % Lanes::count);
      api_->copy(sent.staged, from, work.bytes(), lane);
      from = sent.staged;
      has = memory_->find(from);
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
      mail.offset = static_cast<std::uint64_t>(from - has->base);
      mail.memory = has->handle;
    }
    office(work.peer).send(mail, lane);
  }

  std::uint32_t ticket_for(const Sent& sent) {
    auto free =
        std::find_if(tickets_.begin(), tickets_.end(), [](const Sent& s) { return !s.waits; });
    if (free == tickets_.end()) free = tickets_.insert(free, Sent{});
    *free = sent;
    return static_cast<std::uint32_t>(free - tickets_.begin());
  }

  bool start_receive(const TransportOp& work, gpu::Stream lane) {
    const auto early = std::find_if(
        early_mails_.begin(), early_mails_.end(),
        [&](const EarlyMail& m) { return m.peer == work.peer && is_for(m.mail, work); });
    if (early == early_mails_.end()) {
      posted_.push_back(work);
      return false;
    }
    const EarlyMail mail = std::move(*early);
    early_mails_.erase(early);
    api_->wait(lane, mail.event.get());
    pull(mail.mail, work, lane);
    return true;
  }

  static bool is_for(const Mail& mail, const TransportOp& work) noexcept {
    return mail.sequence == work.sequence && mail.block == work.block && mail.number == work.number;
  }

  /// The lane waits for the mail's event already.
  void pull(const Mail& mail, const TransportOp& work, gpu::Stream lane) {
    if (mail.bytes != work.bytes()) {
      throw peer_error(work.owner->refuse(work, papcoll::detail::joined({mail.bytes, " bytes"})));
    }
    if (mail.bytes != 0) {
      const std::byte* const from = imports_.find(work.peer, mail.allocation, mail.memory);
      api_->copy(work.to, from + mail.offset, mail.bytes, lane);
    }
    Mail answer;
    answer.kind = MailKind::answer;
    answer.ticket = mail.ticket;
    office(work.peer).send(answer, lane);
  }

  void take(int peer, MailOffice& from) {
    const MailOffice::Received received = from.next();
    const Mail mail = received.mail;
    if (mail.kind == MailKind::answer) {
      take_answer(mail, received.event, from);
      return;
    }
    const auto posted = std::find_if(posted_.begin(), posted_.end(), [&](const TransportOp& w) {
      return w.peer == peer && is_for(mail, w);
    });
    if (posted == posted_.end()) {
      gpu::OwnedEvent event{*api_, api_->make_event(device_, false)};
      api_->wait(early_.get(), received.event);
      api_->record(event.get(), early_.get());
      from.taken();
      early_mails_.push_back({peer, mail, std::move(event)});
      return;
    }
    const TransportOp work = *posted;
    posted_.erase(posted);
    const gpu::Stream lane = lane_of(work);
    api_->wait(lane, received.event);
    from.taken();
    pull(mail, work, lane);
    work.owner->complete(work.slot, work.step);
  }

  void take_answer(const Mail& mail, gpu::Event event, MailOffice& from) {
    const Sent sent = tickets_.at(mail.ticket);
    tickets_[mail.ticket].waits = false;
    api_->wait(lane_of(sent.work), event);
    from.taken();
    if (sent.staged != nullptr) memory_->give_back(sent.staged, sent.work.slot % Lanes::count);
    sent.work.owner->complete(sent.work.slot, sent.work.step);
  }

  void perform(const TransportOp& work, gpu::Stream lane) {
    if (work.n == 0) return;
    if (work.kind == OpKind::copy) return copy(work, lane);
    gpu::Operands operands;
    operands.inputs = 2;
    operands.in[0] = work.a;
    operands.in[1] = work.b;
    operands.outputs = 1;
    operands.out[0] = work.to;
    api_->combine(operands, work.n, find_reducer_(*work.reducer), lane);
  }

  /// Devices copy between ranges that overlap in no order that anybody knows.
  void copy(const TransportOp& work, gpu::Stream lane) {
    const std::size_t bytes = work.bytes();
    if (work.to == work.a) return;
    const bool overlap =
        std::less<>{}(work.a, work.to + bytes) && std::less<>{}(work.to, work.a + bytes);
    if (!overlap) return api_->copy(work.to, work.a, bytes, lane);
    const std::size_t order = work.slot % Lanes::count;
    std::byte* const between = memory_->take(bytes, order);
    api_->copy(between, work.a, bytes, lane);
    api_->copy(work.to, between, bytes, lane);
    memory_->give_back(between, order);
  }

  MailOffice& office(int peer) { return *peers_[static_cast<std::size_t>(peer)]; }

  gpu::Api* api_;
  int device_;
  FindReducer find_reducer_;
  std::shared_ptr<DeviceMemory> memory_;
  Imports imports_;
  Lanes lanes_;
  gpu::OwnedStream early_;  ///< waits for events of mails whose receive is not posted
  std::vector<std::unique_ptr<MailOffice>> peers_;
  std::deque<TransportOp> posted_;
  std::vector<EarlyMail> early_mails_;
  std::vector<Sent> tickets_;
  bool abandoned_ = false;
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
