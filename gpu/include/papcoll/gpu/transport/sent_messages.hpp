#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/handles.hpp>
#include <papcoll/gpu/transport/device_memory.hpp>
#include <papcoll/gpu/transport/device_steps.hpp>
#include <papcoll/gpu/transport/host_staged_part.hpp>
#include <papcoll/gpu/transport/mailbox.hpp>
#include <papcoll/gpu/transport/mailbox_endpoint.hpp>
#include <papcoll/gpu/transport/stream_pool.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/plan_run.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// The messages that a rank has sent and whose receivers have not pulled them yet.
///
/// Memory of the caller is not shown to peers, since nobody may free what others have mapped: its
/// messages are copied to memory of the rank first. What share() was called for goes directly.
class SentMessages {
 public:
  /// More bytes than any message has.
  static constexpr std::size_t none = ~std::size_t{0};

  /// `steps` stays longer. Receivers may ask that a part of a message of `least_shared_out` or more
  /// bytes goes through the host.
  SentMessages(DeviceSteps& steps, std::size_t least_shared_out)
      : api_(&steps.api()),
        lanes_(&steps.lanes()),
        memory_(steps.memory()),
        least_shared_out_(least_shared_out) {}

  /// Tells the receiver of a send in that lane.
  void start(const TransportOp& work, std::size_t lane, MailboxEndpoint& office) {
    Sent sent;
    sent.waits = true;
    sent.work = work;
    sent.lane = lane;
    sent.range = {work.a, work.bytes()};
    lanes_->order(lane, sent.range, Use::reads);
    DeviceMemory::Allocation* has = work.n == 0 ? nullptr : memory_->find(work.a);
    if (has == nullptr && work.n != 0) {
      sent.staged = memory_->take(work.bytes(), lane);
      sent.range.lo = sent.staged;
      lanes_->order(lane, sent.range, Use::writes);
      api_->copy(sent.staged, work.a, work.bytes(), lanes_->stream(lane));
      has = memory_->find(sent.staged);
    }
    if (work.bytes() >= least_shared_out_) {
      sent.ready = lanes_->events().take();
      api_->record(sent.ready.get(), lanes_->stream(lane));
    }
    ControlMessage mail;
    mail.kind = MailKind::message;
    mail.sequence = work.sequence;
    mail.block = work.block;
    mail.number = work.number;
    mail.bytes = work.bytes();
    if (has != nullptr) {
      mail.allocation = has->number;
      mail.offset = static_cast<std::uint64_t>(sent.range.lo - has->base);
      mail.memory = memory_->handle_of(*has);
    }
    mail.ticket = ticket_for(std::move(sent));
    office.send(mail, lanes_->stream(lane));
  }

  /// What a receiver wants of a message through the host.
  HostStagedPart::Part part(const ControlMessage& wanted) {
    Sent& sent = sent_.at(wanted.ticket);
    return {.ticket = wanted.ticket,
            .from = sent.range.lo + wanted.offset,
            .bytes = wanted.bytes,
            .piece_bytes = wanted.allocation,
            .ready = std::move(sent.ready)};
  }

  /// The receiver has pulled it when what is in the stream now is complete: the lane will wait for
  /// that before it overwrites the bytes. Returns what has been sent.
  TransportOp answered(const ControlMessage& answer, gpu::Stream stream) {
    Sent& sent = sent_.at(answer.ticket);
    sent.waits = false;
    lanes_->used_by(sent.lane, sent.range, Use::reads, stream);
    if (sent.staged != nullptr) memory_->give_back(sent.staged, sent.lane);
    if (sent.ready) lanes_->events().give_back(std::move(sent.ready));
    return sent.work;
  }

  /// Forgets all.
  void abandon() noexcept { sent_.clear(); }

 private:
  using Use = StreamPool::Use;

  struct Sent {
    bool waits = false;
    TransportOp work{};
    std::size_t lane = 0;
    DeviceRange range{};          ///< what the peer pulls
    std::byte* staged = nullptr;  ///< where it was copied to, or null
    gpu::OwnedEvent ready{};  ///< the lane has what is sent, for part(); none for short messages
  };

  std::uint32_t ticket_for(Sent sent) {
    auto free = std::find_if(sent_.begin(), sent_.end(), [](const Sent& s) { return !s.waits; });
    if (free == sent_.end()) free = sent_.insert(free, Sent{});
    *free = std::move(sent);
    return static_cast<std::uint32_t>(free - sent_.begin());
  }

  gpu::Api* api_;
  StreamPool* lanes_;
  detail::Shared<DeviceMemory> memory_;
  std::size_t least_shared_out_;
  std::vector<Sent> sent_;  ///< by ticket
};

}  // namespace papcoll::inline PAPCOLL_ABI
