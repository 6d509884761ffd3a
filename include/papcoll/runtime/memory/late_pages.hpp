#pragma once

#include <papcoll/arrival/remote_tickets.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/node/layout.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/peer_probe.hpp>
#include <papcoll/transport/rma/remote_atomics.hpp>
#include <papcoll/transport/shm/channels.hpp>

#include <array>
#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// What a team has in its node's memory that gets pages when it is used:
///
///     channels        of static schedules
///     copy probe      what PeerProbe writes
///     ticket words    of RmaTransport, see SharedWords
///     mailboxes       of messages between devices
///     windows         of messages between devices that cannot reach each other
///     chunk buffers   of the board
class LatePages {
 public:
  [[gnu::cold, gnu::noinline]] LatePages(int ranks, std::size_t chunk_bytes) noexcept {
    const std::size_t pairs = static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks);
    add(Channels::bytes(ranks));
    add(PeerProbe::bytes(ranks));
    add(SharedWords::bytes(ranks, RemoteTicketCounter::words(ranks)));
    add(pairs * device_mailbox_bytes);
    add(pairs * device_window_bytes(ranks));
    bytes_ += board_buffers_bytes(ranks, chunk_bytes);
  }

  static std::size_t bytes(int ranks, std::size_t chunk_bytes) noexcept {
    return LatePages{ranks, chunk_bytes}.bytes_;
  }

  /// Where a node's parts begin.
  [[gnu::cold, gnu::noinline]] static void lay_out(Node& node, std::byte* at) noexcept {
    const LatePages pages{node.size, cache_line};
    const std::array parts{&node.channels,         &node.peer_probe,     &node.ticket_words,
                           &node.device_mailboxes, &node.device_windows, &node.buffers};
    for (std::size_t i = 0; i < parts.size(); ++i) *parts[i] = at + pages.begins_[i];
  }

 private:
  /// A part of so many bytes, in whole pages.
  void add(std::size_t bytes) noexcept {
    bytes_ += page_aligned(bytes);
    begins_[++parts_] = bytes_;
  }

  std::array<std::size_t, 6> begins_{};
  std::size_t parts_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
