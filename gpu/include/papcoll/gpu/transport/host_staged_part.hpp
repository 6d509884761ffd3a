// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/transport/device_steps.hpp>
#include <papcoll/gpu/transport/mailbox.hpp>
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
/// host's side of another one uses their link all the same. Where devices share no memory, such a
/// part is a whole message (StagedMessages).
///
///     sender                                     receiver
///                                      ←──────── control {part, ticket, offset, bytes}
///     its stream copies a piece to a cell
///     control {piece, ticket, cell} ───────────→ its stream waits for its event, and copies
///                                                the piece from the cell
///     its stream waits for its         ←──────── control {emptied, cell}
///     event: the cell is free
///
/// Hosts wait for control messages, never for devices. Each pair of ranks has cells of its own, in
/// its staging ring, so that a receiver that makes no call stops nobody else. A sender's parts for
/// one receiver go one after the other.
class HostStagedPart {
 public:
  /// What a staging ring is used for.
  enum class Use : unsigned char {
    parts,  ///< three large cells, since most of a message takes other paths meanwhile
    whole,  ///< eight cells in half of the ring, or in as much of that as can be pinned
  };

  /// What a sender copies to the host.
  struct Part {
    std::uint32_t ticket = 0;         ///< of the message, or, of a whole one, of its receive
    const std::byte* from = nullptr;  ///< the first byte
    std::size_t bytes = 0;
    std::size_t piece_bytes = 0;              ///< of each piece but the last, if cells have room
    std::size_t most_cell = ~std::size_t{0};  ///< bytes of a cell that the receiver has room for
    gpu::OwnedEvent ready{};                  ///< the bytes are there
    TransportOp work{};                       ///< the send that the last piece completes, if any
  };

  /// What a receiver gets through the host.
  struct Arrival {
    int peer = -1;             ///< the sender
    std::uint32_t ticket = 0;  ///< as the part has it
    std::byte* to = nullptr;   ///< of the first byte
    std::size_t bytes = 0;     ///< that are not there yet
    TransportOp work{};        ///< the receive
    std::size_t lane = 0;      ///< its lane
    gpu::OwnedEvent ready{};   ///< its place may be written
  };

  /// With a peer for each rank. `steps` and the node's memory stay longer.
  HostStagedPart(DeviceSteps& steps, const Node& node, const std::vector<MailboxPair>& boxes,
                 Use use)
      : steps_(&steps), node_(node), use_(use), cells_(cells_of(use)) {
    for (const MailboxPair& pair : boxes) peers_.emplace_back().on_node = pair.on_node;
  }

  /// The most bytes of a piece of a part, among so many ranks.
  static std::size_t most_piece_bytes(int ranks) noexcept {
    return cell_bytes(detail::device_staging_ring_bytes(ranks), cells_of(Use::parts));
  }

  /// The stream of the pieces that this rank receives from a peer.
  gpu::Stream receiving(int peer) { return inlet(peer).stream.get(); }
  /// Bytes of a cell that this rank has room for, of those from a peer.
  std::size_t room(int peer) { return cell_bytes(inlet(peer).bytes, cells_); }

  /// Sends the part to a peer behind those before it; the endpoint is the peer's.
  void send(Part part, int peer, MailboxEndpoint& endpoint) {
    at(peer).sending.push_back({std::move(part), &endpoint, 0});
    progress(peer);
  }

  /// A peer's device has emptied a cell when the event is complete. Sends the next piece at once:
  /// it need not wait for other cells.
  void emptied(const MailboxEndpoint::Received& received, int peer) {
    if (received.event != nullptr) api().wait(outlet(peer).stream.get(), received.event);
    at(peer).published.at(received.control.ticket) = received.published;
    at(peer).filled.at(received.control.ticket) = false;
    progress(peer);
  }

  /// The peer was asked for a part.
  void expect(Arrival arrival) { arrivals_.push_back(std::move(arrival)); }
  /// Returns what has been expected under that ticket.
  Arrival& expected(int peer, std::uint32_t ticket) {
    return *std::find_if(arrivals_.begin(), arrivals_.end(),
                         [&](const Arrival& a) { return a.peer == peer && a.ticket == ticket; });
  }

  /// A piece came from `peer`, for whose event receiving() waits already. Notifies the peer when
  /// its cell is free; what is there as a whole behind this, if anything.
  std::optional<Arrival> receive(const ControlMessage& piece, int peer, MailboxEndpoint& endpoint) {
    Arrival& whole = expected(peer, piece.ticket);
    const Way& from = inlet(peer);
    const gpu::Stream stream = from.stream.get();
    if (whole.ready) {
      api().wait(stream, whole.ready.get());
      steps_->streams().events().give_back(std::move(whole.ready));
    }
    const std::byte* const cell = from.pinned.get() + piece.allocation;
    if (piece.bytes != 0) api().copy(whole.to + piece.offset, cell, piece.bytes, stream);
    endpoint.send({.kind = ControlKind::emptied, .ticket = piece.number}, stream);
    whole.bytes -= piece.bytes;
    if (whole.bytes != 0) return std::nullopt;
    const auto at = arrivals_.begin() + (&whole - arrivals_.data());
    Arrival done = std::move(whole);
    arrivals_.erase(at);
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
    MailboxEndpoint* endpoint;
    std::size_t sent;  ///< bytes
  };
  /// The cells of one direction, pinned for this rank's device, which copies in this stream.
  struct Way {
    gpu::PinnedMemory pinned{};
    std::size_t bytes = 0;  ///< that are pinned
    gpu::OwnedStream stream{};
  };
  struct Peer {
    int on_node = 0;  ///< its number there
    Way out{};
    Way in{};
    std::deque<Sending> sending{};             ///< parts, in the order in which they were asked for
    std::array<bool, 8> filled{};              ///< cells that are not emptied yet
    std::array<std::uint64_t, 8> published{};  ///< when they were emptied
    std::uint32_t next = 0;                    ///< the cell of the next piece
  };

  gpu::Api& api() const noexcept { return steps_->api(); }
  Peer& at(int peer) { return peers_.at(static_cast<std::size_t>(peer)); }

  const Way& outlet(int peer) { return opened(at(peer).out, node_.rank, at(peer).on_node); }
  const Way& inlet(int peer) { return opened(at(peer).in, at(peer).on_node, node_.rank); }

  const Way& opened(Way& way, int from, int to) {
    if (way.pinned) return way;
    const std::size_t ring = detail::device_staging_ring_bytes(node_.size);
    const auto pair = static_cast<std::size_t>(from) * static_cast<std::size_t>(node_.size) +
                      static_cast<std::size_t>(to);
    std::byte* const memory = node_.device_staging_rings + pair * ring;
    way.stream = {api(), api().make_stream(steps_->device())};
    way.bytes = use_ == Use::parts ? ring : (ring - detail::page_bytes()) / 2;
    node_.reserve(memory, way.bytes);
    for (;; way.bytes /= 2) {
      try {
        api().pin(memory, way.bytes);
        break;
      } catch (const gpu::device_error& problem) {
        const bool may_be_less = use_ == Use::whole && way.bytes > detail::page_bytes();
        if (problem.fault != gpu::Fault::out_of_memory || !may_be_less) throw;
      }
    }
    way.pinned = {api(), memory};
    return way;
  }

  static constexpr std::uint32_t cells_of(Use use) noexcept { return use == Use::parts ? 3 : 8; }
  static std::size_t cell_bytes(std::size_t ring_bytes, std::uint32_t cells) noexcept {
    return ring_bytes / cells / cache_line * cache_line;
  }

  /// Sends pieces for which there are cells.
  void progress(int peer) {
    Peer& p = at(peer);
    while (!p.sending.empty() && !p.filled[p.next]) send_piece(p, outlet(peer));
  }

  void send_piece(Peer& p, const Way& way) {
    Sending& s = p.sending.front();
    const gpu::Stream stream = way.stream.get();
    const std::size_t cell = std::min(cell_bytes(way.bytes, cells_), s.part.most_cell);
    const std::size_t most = std::min(cell, std::max(s.part.piece_bytes, cache_line));
    const std::size_t bytes = std::min(most, s.part.bytes - s.sent);
    const std::size_t place = p.next * cell;
    if (s.part.ready) {
      api().wait(stream, s.part.ready.get());
      steps_->streams().events().give_back(std::move(s.part.ready));
    }
    api().on_published(p.published[p.next]);
    if (bytes != 0) api().copy(way.pinned.get() + place, s.part.from + s.sent, bytes, stream);
    const ControlMessage piece{.kind = ControlKind::piece,
                               .ticket = s.part.ticket,
                               .number = p.next,
                               .bytes = bytes,
                               .allocation = place,
                               .offset = s.sent};
    s.sent += bytes;
    const bool is_last = s.sent == s.part.bytes;
    s.endpoint->send(piece, stream, is_last ? s.part.work : TransportOp{});
    p.filled[p.next] = true;
    p.next = (p.next + 1) % cells_;
    if (is_last) p.sending.pop_front();
  }

  DeviceSteps* steps_;
  Node node_;  ///< keeps the memory mapped
  Use use_;
  std::uint32_t cells_;      ///< pieces of a pair that are under way
  std::vector<Peer> peers_;  ///< by rank of the team
  std::vector<Arrival> arrivals_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
