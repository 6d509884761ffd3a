#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/handles.hpp>
#include <papcoll/gpu/transport/mailbox.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace papcoll::inline PAPCOLL_ABI {

/// A rank's end of the two mailboxes that it shares with a peer, with the events of their slots.
/// Never waits: mails for which there is no slot are kept.
class MailboxEndpoint {
 public:
  /// A mail that came, and an event that is the peer's.
  struct Received {
    ControlMessage mail{};
    gpu::Event event = nullptr;
  };

  /// `out` is written by this rank and `in` by the peer; both stay.
  MailboxEndpoint(gpu::Api& api, int device, Mailbox& out, Mailbox& in)
      : api_(&api), device_(device), out_(&out), in_(&in) {}

  /// Tells the peer, with an event that is complete when all that is in the stream now is.
  void send(const ControlMessage& mail, gpu::Stream stream) {
    kept_.push_back({mail, stream});
    flush();
  }

  /// Sends what was kept and has a slot now; true if any had.
  bool flush() {
    const std::uint32_t before = sent_;
    while (!kept_.empty() && sent_ - out_->taken.load(std::memory_order_acquire) < Mailbox::slots) {
      const Kept next = kept_.front();
      kept_.pop_front();
      const std::size_t i = sent_ % Mailbox::slots;
      MailSlot& slot = out_->each[i];
      if (!events_out_[i]) {
        events_out_[i] = {*api_, api_->make_event(device_, true)};
        slot.event = api_->export_event(events_out_[i].get());
      }
      api_->record(events_out_[i].get(), next.stream);
      slot.mail = next.mail;
      out_->sent.store(++sent_, std::memory_order_release);
    }
    return sent_ != before;
  }

  /// Is there a mail?
  bool any() const noexcept { return in_->sent.load(std::memory_order_acquire) != taken_; }

  /// The next one, if any(). It stays until taken().
  Received next() {
    const std::size_t i = taken_ % Mailbox::slots;
    const MailSlot& slot = in_->each[i];
    if (!events_in_[i]) events_in_[i] = {*api_, api_->import_event(device_, slot.event)};
    return {slot.mail, events_in_[i].get()};
  }

  /// A stream waits for the event of the next one, which is done with.
  void taken() noexcept { in_->taken.store(++taken_, std::memory_order_release); }

  /// Forgets what was kept.
  void abandon() noexcept { kept_.clear(); }

 private:
  struct Kept {
    ControlMessage mail;
    gpu::Stream stream;
  };

  gpu::Api* api_;
  int device_;
  Mailbox* out_;
  Mailbox* in_;
  std::uint32_t sent_ = 0;   ///< what out_->sent is
  std::uint32_t taken_ = 0;  ///< what in_->taken is
  std::deque<Kept> kept_;
  std::array<gpu::OwnedEvent, Mailbox::slots> events_out_{};
  std::array<gpu::OwnedEvent, Mailbox::slots> events_in_{};
};

}  // namespace papcoll::inline PAPCOLL_ABI
