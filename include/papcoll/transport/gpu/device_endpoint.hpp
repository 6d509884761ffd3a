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
#include <papcoll/transport/gpu/device_board.hpp>
#include <papcoll/transport/gpu/device_floor.hpp>
#include <papcoll/transport/gpu/device_memory.hpp>
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

/// One rank's end for plans between memory of devices.
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
class DeviceEndpoint : public Endpoint {
 public:
  /// The two mailboxes of a pair; null for the rank itself.
  struct Peer {
    Mailbox* out = nullptr;
    Mailbox* in = nullptr;
  };
  /// Finds the reducer for a device; throws argument_error if there is none.
  using FindReducer = DeviceFloor::FindReducer;

  static constexpr std::size_t default_imports = 256;  ///< allocations of peers that stay mapped

  /// On a device of the api's, with a peer and a board for each rank; this one is `rank`.
  DeviceEndpoint(gpu::Api& api, int device, int rank, const std::vector<Peer>& peers,
                 const std::vector<DeviceBoard*>& boards, FindReducer find,
                 std::size_t most_imports = default_imports)
      : api_(&api),
        find_reducer_(find),
        memory_(std::make_shared<DeviceMemory>(api, device)),
        imports_(api, device, most_imports),
        lanes_(api, device),
        early_(api, api.make_stream(device)),
        floor_({api, device, *memory_, imports_, lanes_, find}, rank, boards) {
    for (const Peer& p : peers) {
      peers_.push_back(p.out == nullptr ? nullptr : std::make_unique<Pair>(api, device, p));
    }
  }

  bool start(const TransportOp& work) override {
    const std::size_t lane = lane_of(work);
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
      MailOffice& office = peers_[p]->office;
      moved |= office.flush();
      while (office.any()) {
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

  /// What arrival-driven algorithms run on.
  DeviceFloor& floor() noexcept { return floor_; }

  /// Has the device done all that was finished?
  bool is_idle() { return lanes_.is_idle(); }

  /// Messages from memory that begins at `base`, an allocation, go directly from now on.
  void share(std::byte* base, std::size_t bytes) { memory_->share(base, bytes); }
  /// Ends that, when all ranks have closed their imports of it.
  void unshare(std::byte* base) noexcept { memory_->unshare(base); }

  /// Closes what it has mapped of peers. is_idle() holds.
  void close_imports() noexcept { imports_.close(); }
  /// The memory that peers may have mapped.
  std::shared_ptr<DeviceMemory> memory() const noexcept { return memory_; }
  /// How many allocations of peers it has mapped.
  std::size_t imports() const noexcept { return imports_.size(); }

  void abandon() noexcept override {
    posted_.clear();
    early_mails_.clear();
    tickets_.clear();
    for (auto& peer : peers_) {
      if (peer) peer->office.abandon();
    }
    abandoned_ = true;
    memory_->leak();
    imports_.leak();
  }

  /// Has the team broken? Then its memory of the device is never freed. What plans had of it as
  /// scratch memory goes back to this endpoint, where nobody takes it any more.
  bool is_abandoned() const noexcept { return abandoned_; }

  std::uint32_t sequences_at_once() const noexcept override { return Lanes::calls_at_once; }

 private:
  using Use = Lanes::Use;

  /// What this rank has for a peer.
  struct Pair {
    Pair(gpu::Api& api, int device, const Peer& boxes)
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
    gpu::OwnedEvent ready;
  };
  /// A message of this rank that is not answered.
  struct Sent {
    bool waits = false;
    TransportOp work{};
    DeviceRange range{};          ///< what the peer pulls
    std::byte* staged = nullptr;  ///< where it was copied to, or null
  };

  static constexpr std::size_t scratch_order = Lanes::count;

  std::size_t lane_of(const TransportOp& work) {
    return lanes_.of(work.sequence, work.slot, static_cast<gpu::Stream>(work.owner->call().stream));
  }

  void start_send(const TransportOp& work, std::size_t lane) {
    Sent sent{true, work, {work.a, work.bytes()}, nullptr};
    lanes_.order(lane, sent.range, Use::reads);
    const DeviceMemory::Allocation* has = work.n == 0 ? nullptr : memory_->find(work.a);
    if (has == nullptr && work.n != 0) {
      sent.staged = memory_->take(work.bytes(), lane);
      sent.range.lo = sent.staged;
      lanes_.order(lane, sent.range, Use::writes);
      api_->copy(sent.staged, work.a, work.bytes(), lanes_.stream(lane));
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
      mail.memory = has->handle;
    }
    pair(work.peer).office.send(mail, lanes_.stream(lane));
  }

  std::uint32_t ticket_for(const Sent& sent) {
    auto free =
        std::find_if(tickets_.begin(), tickets_.end(), [](const Sent& s) { return !s.waits; });
    if (free == tickets_.end()) free = tickets_.insert(free, Sent{});
    *free = sent;
    return static_cast<std::uint32_t>(free - tickets_.begin());
  }

  bool start_receive(const TransportOp& work, std::size_t lane) {
    lanes_.order(lane, {work.to, work.bytes()}, Use::writes);
    Posted posted{work, lanes_.events().take()};
    api_->record(posted.ready.get(), lanes_.stream(lane));
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
    lanes_.events().give_back(std::move(mail.event));
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
      lanes_.used_by(lane_of(work), {work.to, work.bytes()}, Use::writes, from.pulls.get());
    }
    lanes_.events().give_back(std::move(posted.ready));
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
      gpu::OwnedEvent event = lanes_.events().take();
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
    const std::size_t lane = lane_of(sent.work);
    lanes_.used_by(lane, sent.range, Use::reads, from.answers.get());
    if (sent.staged != nullptr) memory_->give_back(sent.staged, lane);
    sent.work.owner->complete(sent.work.slot, sent.work.step);
  }

  void perform(const TransportOp& work, std::size_t lane) {
    if (work.n == 0) return;
    const std::size_t bytes = work.bytes();
    lanes_.order(lane, {work.a, bytes}, Use::reads);
    if (work.kind == OpKind::reduce) lanes_.order(lane, {work.b, bytes}, Use::reads);
    lanes_.order(lane, {work.to, bytes}, Use::writes);
    if (work.kind == OpKind::copy) return copy(work, lane);
    gpu::Operands operands;
    operands.inputs = 2;
    operands.in[0] = work.a;
    operands.in[1] = work.b;
    operands.outputs = 1;
    operands.out[0] = work.to;
    api_->combine(operands, work.n, find_reducer_(*work.reducer), lanes_.stream(lane));
  }

  /// Devices copy between ranges that overlap in no order that anybody knows.
  void copy(const TransportOp& work, std::size_t lane) {
    const std::size_t bytes = work.bytes();
    const gpu::Stream stream = lanes_.stream(lane);
    if (work.to == work.a) return;
    if (!DeviceRange{work.a, bytes}.overlaps({work.to, bytes})) {
      return api_->copy(work.to, work.a, bytes, stream);
    }
    std::byte* const between = memory_->take(bytes, lane);
    lanes_.order(lane, {between, bytes}, Use::writes);
    api_->copy(between, work.a, bytes, stream);
    api_->copy(work.to, between, bytes, stream);
    memory_->give_back(between, lane);
  }

  Pair& pair(int peer) { return *peers_[static_cast<std::size_t>(peer)]; }

  gpu::Api* api_;
  FindReducer find_reducer_;
  std::shared_ptr<DeviceMemory> memory_;
  Imports imports_;
  Lanes lanes_;
  gpu::OwnedStream early_;  ///< waits for events of mails whose receive is not posted
  DeviceFloor floor_;
  std::vector<std::unique_ptr<Pair>> peers_;
  std::vector<Posted> posted_;
  std::vector<EarlyMail> early_mails_;
  std::vector<Sent> tickets_;
  bool abandoned_ = false;
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
