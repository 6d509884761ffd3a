#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/handles.hpp>
#include <papcoll/gpu/transport/device_steps.hpp>
#include <papcoll/gpu/transport/mailbox.hpp>
#include <papcoll/gpu/transport/mailbox_endpoint.hpp>
#include <papcoll/gpu/transport/staging_ring.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/schedule/endpoint.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Parts of messages that go through memory of the host while the rest is pulled: the sender's
/// device copies them there, and the receiver's from there, since a device that pulls from the
/// host's side of another one uses their link all the same.
///
///     sender                                     receiver
///                                      ←──────── mail {part, ticket, offset, bytes}
///     its stream copies a piece to a cell
///     mail {piece, ticket, cell} ──────────────→ its stream waits for the mail's event, and copies
///                                                the piece from the cell
///     its stream waits for the mail's  ←──────── mail {emptied, cell}
///     event: the cell is free
///
/// Hosts wait for mails, never for devices. Each pair of ranks has cells of its own, so that a
/// receiver that makes no call stops nobody else. They are where the pair's window is, which nobody
/// needs while memory of devices is shared. A sender's parts for one receiver go one after the
/// other.
class HostStagedPart {
 public:
  static constexpr std::uint32_t cells = 3;  ///< pieces of a pair that are under way

  /// What a sender copies to the host.
  struct Part {
    std::uint32_t ticket = 0;         ///< the sender's, of the message
    const std::byte* from = nullptr;  ///< the first byte
    std::size_t bytes = 0;            ///< more than 0
    std::size_t piece_bytes = 0;      ///< of each piece but the last, if cells have room
    gpu::Event ready = nullptr;       ///< the bytes are there; stays until the message is answered
  };

  /// What a receiver gets through the host.
  struct Arrival {
    int peer = -1;             ///< the sender
    std::uint32_t ticket = 0;  ///< the sender's, of the message
    std::byte* to = nullptr;   ///< of the first byte
    std::size_t bytes = 0;     ///< that are not there yet
    TransportOp work{};        ///< the receive
    std::size_t lane = 0;      ///< its lane
  };

  /// `on_node` has the number on the node of each rank that is there. `steps` and the node's memory
  /// stay longer.
  HostStagedPart(DeviceSteps& steps, const Node& node, std::vector<int> on_node)
      : steps_(&steps),
        windows_(node),
        on_node_(std::move(on_node)),
        rank_(node.rank),
        peers_(on_node_.size()) {}

  /// The most bytes of a piece among so many ranks.
  static std::size_t most_piece_bytes(int ranks) noexcept {
    return cell_bytes(detail::device_window_bytes(ranks));
  }

  /// The stream of the pieces that this rank receives from a peer.
  gpu::Stream receiving(int peer) { return inlet(peer).stream.get(); }

  /// Sends the part to a peer behind those before it; the office is the peer's.
  void send(const Part& part, int peer, MailboxEndpoint& office) {
    at(peer).sending.push_back({part, &office, 0});
    progress(peer);
  }

  /// A peer's device has emptied a cell when the event is complete. Sends the next piece at once:
  /// it need not wait for other cells.
  void emptied(const ControlMessage& mail, int peer, gpu::Event event) {
    api().wait(outlet(peer).stream.get(), event);
    at(peer).filled.at(mail.ticket) = false;
    progress(peer);
  }

  /// The peer was asked for a part. Its place may be written when `ready` is complete.
  void expect(const Arrival& arrival, gpu::Event ready) {
    api().wait(receiving(arrival.peer), ready);
    arrivals_.push_back(arrival);
  }

  /// A piece came from `peer`, for whose event receiving() waits already. Tells the peer when its
  /// cell is free; what is there as a whole behind this, if anything.
  std::optional<Arrival> receive(const ControlMessage& piece, int peer, MailboxEndpoint& office) {
    const auto whole = std::find_if(arrivals_.begin(), arrivals_.end(), [&](const Arrival& a) {
      return a.peer == peer && a.ticket == piece.ticket;
    });
    const Way& from = inlet(peer);
    api().copy(whole->to + piece.offset, cell(from, piece.allocation), piece.bytes,
               from.stream.get());
    ControlMessage emptied;
    emptied.kind = MailKind::emptied;
    emptied.ticket = static_cast<std::uint32_t>(piece.allocation);
    office.send(emptied, from.stream.get());
    whole->bytes -= piece.bytes;
    if (whole->bytes != 0) return std::nullopt;
    const Arrival done = *whole;
    arrivals_.erase(whole);
    return done;
  }

  /// Unpins the host's memory. Nothing is in flight.
  void close() noexcept {
    for (Peer& p : peers_) {
      p.out.pinned = {};
      p.in.pinned = {};
    }
  }

  /// Forgets all, and never unpins it.
  void abandon() noexcept {
    arrivals_.clear();
    for (Peer& p : peers_) {
      p.sending.clear();
      static_cast<void>(p.out.pinned.release());
      static_cast<void>(p.in.pinned.release());
    }
  }

 private:
  struct Sending {
    Part part;
    MailboxEndpoint* office;
    std::size_t sent;  ///< bytes
  };
  /// The cells of one direction, pinned for this rank's device, which copies in this stream.
  struct Way {
    WindowMemory memory{};
    gpu::PinnedMemory pinned{};
    gpu::OwnedStream stream{};
  };
  struct Peer {
    Way out{};
    Way in{};
    std::deque<Sending> sending{};     ///< parts, in the order in which they were asked for
    std::array<bool, cells> filled{};  ///< and not emptied yet
    std::uint32_t next = 0;            ///< the cell of the next piece
  };

  gpu::Api& api() const noexcept { return steps_->api(); }
  Peer& at(int peer) { return peers_.at(static_cast<std::size_t>(peer)); }
  int on_node(int peer) const { return on_node_.at(static_cast<std::size_t>(peer)); }

  const Way& outlet(int peer) { return opened(at(peer).out, rank_, on_node(peer)); }
  const Way& inlet(int peer) { return opened(at(peer).in, on_node(peer), rank_); }

  const Way& opened(Way& way, int from, int to) {
    if (!way.pinned) {
      way.stream = {api(), api().make_stream(steps_->device())};
      way.memory = windows_.all_of(from, to);
      api().pin(way.memory.data, way.memory.bytes);
      way.pinned = {api(), way.memory.data};
    }
    return way;
  }

  static std::size_t cell_bytes(std::size_t window_bytes) noexcept {
    return window_bytes / cells / cache_line * cache_line;
  }
  static std::byte* cell(const Way& way, std::uint64_t number) noexcept {
    return way.memory.data + number % cells * cell_bytes(way.memory.bytes);
  }

  /// Sends pieces for which there are cells.
  void progress(int peer) {
    Peer& p = at(peer);
    while (!p.sending.empty() && !p.filled[p.next]) send_piece(p, outlet(peer));
  }

  void send_piece(Peer& p, const Way& way) {
    Sending& s = p.sending.front();
    const gpu::Stream stream = way.stream.get();
    const std::size_t room = cell_bytes(way.memory.bytes);
    const std::size_t most = std::min(room, std::max(s.part.piece_bytes, cache_line));
    const std::size_t bytes = std::min(most, s.part.bytes - s.sent);
    if (s.sent == 0) api().wait(stream, s.part.ready);
    api().copy(cell(way, p.next), s.part.from + s.sent, bytes, stream);
    ControlMessage piece;
    piece.kind = MailKind::piece;
    piece.ticket = s.part.ticket;
    piece.allocation = p.next;
    piece.offset = s.sent;
    piece.bytes = bytes;
    s.office->send(piece, stream);
    p.filled[p.next] = true;
    p.next = (p.next + 1) % cells;
    s.sent += bytes;
    if (s.sent == s.part.bytes) p.sending.pop_front();
  }

  DeviceSteps* steps_;
  HostWindows windows_;
  std::vector<int> on_node_;
  int rank_;                 ///< on the node
  std::vector<Peer> peers_;  ///< by rank of the team
  std::vector<Arrival> arrivals_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
