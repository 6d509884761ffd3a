// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/transport/stream_pool.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/schedule/endpoint.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <type_traits>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// What a control message says.
enum class ControlKind : std::uint32_t {
  message,  ///< bytes of the sender's memory may be pulled once the event of the control message is
            ///< complete
  answer,   ///< they have been pulled once it is
  wanted,   ///< the writer waits for a message of the reader's: see StagedMessages
  part,     ///< the writer wants a part of a message of the reader's through the host: see
            ///< HostStagedPart
  piece,    ///< a piece of such a part, or message, is in a cell once the event of the control
            ///< message is complete
  emptied,  ///< the cell with the number `ticket` is free once it is
};

/// What one rank sends another about a message between their devices. The bytes of the message stay
/// where they are.
struct ControlMessage {
  ControlKind kind = ControlKind::message;
  std::uint32_t ticket = 0;  ///< which of the sender's messages, or receives; an answer repeats it
  std::uint32_t sequence = 0;    ///< of the call
  std::uint32_t block = 0;       ///< of its plan
  std::uint32_t number = 0;      ///< of the message between these two ranks in that block
  std::uint64_t bytes = 0;       ///< of the message
  std::uint64_t allocation = 0;  ///< the sender's number of the memory that has it
  std::uint64_t offset = 0;      ///< of the message there
  gpu::MemoryHandle memory{};    ///< of that memory
};

/// A control message of this kind about a message.
inline ControlMessage about(const TransportOp& work, ControlKind kind) {
  return {.kind = kind,
          .sequence = work.sequence,
          .block = work.block,
          .number = work.number,
          .bytes = work.bytes()};
}
inline bool is_about(const ControlMessage& control, const TransportOp& work) noexcept {
  return control.sequence == work.sequence && control.block == work.block &&
         control.number == work.number;
}

/// A place for a control message, with the event that goes with it.
struct MailboxSlot {
  /// Of the sender, who fills it in before the first control message; the receiver imports the
  /// event once.
  gpu::EventHandle event{};
  ControlMessage control{};
  std::uint64_t published = 0;  ///< Api::publish() of the sender, where no events are shared
};

/// Control messages of one rank to another one, in memory that both map: a ring with a writer and a
/// reader.
///
/// A slot belongs to the writer while sent − taken < slots says that it is free, and to the reader
/// from the increment of `sent` to that of `taken`. The writer records the slot's event before it
/// sends. The reader lets a stream wait for the event before it takes, which fixes what is waited
/// for, so that the writer may record it anew. Where ranks may not share events, the writer sends
/// when an event of its own is complete.
struct Mailbox {
  static constexpr std::uint32_t slots = 8;  ///< messages under way; more wait at their writer

  /// Messages written. The writer's release makes the slot visible to the reader's acquire.
  alignas(cache_line) std::atomic<std::uint32_t> sent{0};
  /// Messages read. The reader's release says that it has done with the slot; the writer's acquire
  /// orders its next writes after that.
  alignas(cache_line) std::atomic<std::uint32_t> taken{0};
  alignas(cache_line) std::array<MailboxSlot, slots> each{};
};
static_assert(std::is_trivially_destructible_v<Mailbox>);
static_assert(sizeof(Mailbox) == device_mailbox_bytes);

/// The two mailboxes of a pair of ranks; null for the rank itself, and where there are none.
struct MailboxPair {
  Mailbox* out = nullptr;
  Mailbox* in = nullptr;
  int on_node = 0;  ///< the peer's number among the ranks of the node
};

/// A rank's end of the two mailboxes that it shares with a peer, with the events of their slots.
/// Never waits: control messages for which there is no slot are kept.
class MailboxEndpoint {
 public:
  /// A received control message, and an event of the peer's. Null: what the message reports is
  /// complete, and Api::on_published() must be called before anything relies on that.
  struct Received {
    ControlMessage control{};
    gpu::Event event = nullptr;
    std::uint64_t published = 0;
  };

  /// `boxes.out` is written by this rank and `boxes.in` by the peer; both stay. Where events are
  /// not shared, control messages have events of `own`, which stays longer, and go when these are
  /// complete.
  MailboxEndpoint(gpu::Api& api, int device, const MailboxPair& boxes, EventPool* own = nullptr)
      : api_(&api), device_(device), out_(boxes.out), in_(boxes.in), own_(own) {}

  /// Sends it to the peer, with an event that is complete when all that is in the stream now is; no
  /// stream: at once, and events are not shared. `sent`, if any, is a send that the control
  /// message completes when it goes.
  void send(const ControlMessage& control, gpu::Stream stream, const TransportOp& sent = {}) {
    kept_.push_back({control, stream, sent});
    if (own_ == nullptr || stream == nullptr) return static_cast<void>(flush(false));
    kept_.back().event = own_->take();  // it goes by a later flush()
    api_->record(kept_.back().event.get(), stream);
  }

  /// Sends what was kept and may go now; true if anything may. Events of one stream are complete in
  /// their order. `asks_events`: also what waits for an event of its own.
  bool flush(bool asks_events = true) {
    const std::uint32_t before = sent_;
    for (auto next = kept_.begin();
         next != kept_.end() && sent_ - out_->taken.load(std::memory_order_acquire) < slots;) {
      const bool is_behind = std::any_of(
          kept_.begin(), next, [next](const Kept& k) { return k.stream == next->stream; });
      if (is_behind || (next->event && !(asks_events && api_->is_complete(next->event.get())))) {
        ++next;
        continue;
      }
      put(*next, out_->each[sent_ % slots]);
      out_->sent.store(++sent_, std::memory_order_release);
      if (next->event) own_->give_back(std::move(next->event));
      if (next->sent.owner != nullptr) completed_.push_back(next->sent);
      next = kept_.erase(next);
    }
    return sent_ != before;
  }

  /// The sends that control messages have completed since it was asked last.
  std::vector<TransportOp> completed() { return std::exchange(completed_, {}); }

  /// Returns true if a control message has come.
  bool any() const noexcept { return in_->sent.load(std::memory_order_acquire) != taken_; }

  /// The next one, if any(). It stays until taken().
  Received next() {
    const std::size_t i = taken_ % slots;
    const MailboxSlot& slot = in_->each[i];
    if (own_ != nullptr) return {slot.control, nullptr, slot.published};
    if (!events_in_[i]) events_in_[i] = {*api_, api_->import_event(device_, slot.event)};
    return {slot.control, events_in_[i].get()};
  }

  /// A stream waits for the event of the next one, which is done with.
  void taken() noexcept { in_->taken.store(++taken_, std::memory_order_release); }

  /// Forgets what was kept.
  void abandon() noexcept {
    kept_.clear();
    completed_.clear();
  }

 private:
  static constexpr std::uint32_t slots = Mailbox::slots;

  struct Kept {
    ControlMessage control;
    gpu::Stream stream;
    TransportOp sent;
    gpu::OwnedEvent event{};  ///< where none is shared
  };

  void put(const Kept& kept, MailboxSlot& slot) {
    slot.control = kept.control;
    if (own_ != nullptr) {
      slot.published = kept.event ? api_->publish() : 0;
      return;
    }
    gpu::OwnedEvent& event = events_out_[sent_ % slots];
    if (!event) {
      event = {*api_, api_->make_event(device_, true)};
      slot.event = api_->export_event(event.get());
    }
    api_->record(event.get(), kept.stream);
  }

  gpu::Api* api_;
  int device_;
  Mailbox* out_;
  Mailbox* in_;
  EventPool* own_;           ///< null: events are shared
  std::uint32_t sent_ = 0;   ///< what out_->sent is
  std::uint32_t taken_ = 0;  ///< what in_->taken is
  std::deque<Kept> kept_;
  std::vector<TransportOp> completed_;
  std::array<gpu::OwnedEvent, slots> events_out_{};
  std::array<gpu::OwnedEvent, slots> events_in_{};
};

}  // namespace papcoll::inline PAPCOLL_ABI
