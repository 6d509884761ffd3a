#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/node/node.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI {

/// What a mail says.
enum class MailKind : std::uint32_t {
  message,  ///< bytes of the sender's memory may be pulled once the mail's event is complete
  answer,   ///< they have been pulled once it is
  wanted,   ///< the writer waits for a message of the reader's: see StagedMessages
  part,     ///< the writer wants a part of a message of the reader's through the host: see
            ///< HostStagedPart
  piece,    ///< a piece of such a part, or message, is in a cell once the mail's event is complete
  emptied,  ///< the cell with the number `ticket` is free once it is
};

/// What one rank tells another of a message between their devices. Its bytes stay where they are.
struct ControlMessage {
  MailKind kind = MailKind::message;
  std::uint32_t ticket = 0;  ///< which of the sender's messages, or receives; an answer repeats it
  std::uint32_t sequence = 0;    ///< of the call
  std::uint32_t block = 0;       ///< of its plan
  std::uint32_t number = 0;      ///< of the message between these two ranks in that block
  std::uint64_t bytes = 0;       ///< of the message
  std::uint64_t allocation = 0;  ///< the sender's number of the memory that has it
  std::uint64_t offset = 0;      ///< of the message there
  gpu::MemoryHandle memory{};    ///< of that memory
};

/// A place for a mail, with the event that goes with it.
struct MailSlot {
  /// Of the sender, who fills it in before the first mail; the receiver imports the event once.
  gpu::EventHandle event{};
  ControlMessage mail{};
  std::uint64_t told = 0;  ///< Api::tell() of the sender, where no events are shared
};

/// Mails of one rank to another one, in memory that both map: a ring with a writer and a reader.
///
/// A slot belongs to the writer while sent − taken < slots says that it is free, and to the reader
/// from the increment of `sent` to that of `taken`. The writer records the slot's event before it
/// sends. The reader lets a stream wait for the event before it takes, which fixes what is waited
/// for, so that the writer may record it anew. Where ranks may not share events, the writer sends
/// when an event of its own is complete.
struct Mailbox {
  static constexpr std::uint32_t slots = 8;  ///< mails under way; more wait at their writer

  /// Mails written. The writer's release makes the slot visible to the reader's acquire.
  alignas(cache_line) std::atomic<std::uint32_t> sent{0};
  /// Mails read. The reader's release says that it has done with the slot; the writer's acquire
  /// orders its next writes after that.
  alignas(cache_line) std::atomic<std::uint32_t> taken{0};
  alignas(cache_line) std::array<MailSlot, slots> each{};
};
static_assert(std::is_trivially_destructible_v<Mailbox>);
static_assert(sizeof(Mailbox) == device_mailbox_bytes);

/// The two mailboxes of a pair of ranks; null for the rank itself, and where there are none.
struct MailboxPair {
  Mailbox* out = nullptr;
  Mailbox* in = nullptr;
  int on_node = 0;  ///< the peer's number among the ranks of the node
};

}  // namespace papcoll::inline PAPCOLL_ABI
