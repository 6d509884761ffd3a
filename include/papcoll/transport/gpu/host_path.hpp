#pragma once

#include <papcoll/config.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/handles.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/plan/endpoint.hpp>
#include <papcoll/transport/gpu/device_steps.hpp>
#include <papcoll/transport/gpu/host_window.hpp>
#include <papcoll/transport/gpu/mail_office.hpp>
#include <papcoll/transport/gpu/mailbox.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

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
/// Hosts wait for mails, never for devices. A sender's cells are used in turn by its parts, one
/// after the other. They are where the rank's windows are, which nobody needs while memory of
/// devices is shared.
class HostPath {
 public:
  static constexpr std::uint32_t cells = 3;  ///< pieces of a sender that are under way

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
  HostPath(DeviceSteps& steps, const Node& node, std::vector<int> on_node)
      : steps_(&steps),
        windows_(node),
        on_node_(std::move(on_node)),
        rank_(node.rank),
        out_(steps.api(), steps.api().make_stream(steps.device())),
        in_(steps.api(), steps.api().make_stream(steps.device())),
        rows_(static_cast<std::size_t>(node.size)) {}

  /// The most bytes of a piece among so many ranks.
  static std::size_t most_piece_bytes(int ranks) noexcept {
    return cell_bytes(static_cast<std::size_t>(ranks) * detail::device_window_bytes(ranks));
  }

  /// The stream of the pieces that this rank receives.
  gpu::Stream receiving() const noexcept { return in_.get(); }

  /// Sends the part behind those before it; the office is that of its receiver.
  void send(const Part& part, MailOffice& office) {
    sending_.push_back({part, &office, 0});
    progress();
  }

  /// Sends pieces for which there are cells; true if there were any.
  bool progress() {
    bool moved = false;
    while (!sending_.empty() && !filled_[next_]) {
      send_piece();
      moved = true;
    }
    return moved;
  }

  /// A receiver's device has emptied a cell of this rank when the event is complete. Sends the next
  /// piece at once: it need not wait for other cells.
  void emptied(const Mail& mail, gpu::Event event) {
    api().wait(out_.get(), event);
    filled_.at(mail.ticket) = false;
    progress();
  }

  /// The peer was asked for a part. Its place may be written when `ready` is complete.
  void expect(const Arrival& arrival, gpu::Event ready) {
    api().wait(in_.get(), ready);
    arrivals_.push_back(arrival);
  }

  /// A piece came from `peer`, for whose event receiving() waits already. Tells the peer when its
  /// cell is free; what is there as a whole behind this, if anything.
  std::optional<Arrival> receive(const Mail& piece, int peer, MailOffice& office) {
    const auto whole = std::find_if(arrivals_.begin(), arrivals_.end(), [&](const Arrival& a) {
      return a.peer == peer && a.ticket == piece.ticket;
    });
    api().copy(whole->to + piece.offset,
               cell(row(on_node_.at(static_cast<std::size_t>(peer))), piece.allocation),
               piece.bytes, in_.get());
    Mail emptied;
    emptied.kind = MailKind::emptied;
    emptied.ticket = static_cast<std::uint32_t>(piece.allocation);
    office.send(emptied, in_.get());
    whole->bytes -= piece.bytes;
    if (whole->bytes != 0) return std::nullopt;
    const Arrival done = *whole;
    arrivals_.erase(whole);
    return done;
  }

  /// Unpins the host's memory. Nothing is in flight.
  void close() noexcept {
    for (Row& r : rows_) r = {};
  }

  /// Forgets all, and never unpins it.
  void abandon() noexcept {
    sending_.clear();
    arrivals_.clear();
    for (Row& r : rows_) static_cast<void>(r.pinned.release());
  }

 private:
  struct Sending {
    Part part;
    MailOffice* office;
    std::size_t sent;  ///< bytes
  };
  /// The cells of one sender.
  struct Row {
    WindowRow memory{};
    gpu::PinnedMemory pinned{};
  };

  gpu::Api& api() const noexcept { return steps_->api(); }

  /// Those of a rank of the node, pinned for this one's device.
  const Row& row(int rank) {
    Row& r = rows_[static_cast<std::size_t>(rank)];
    if (!r.pinned) {
      r.memory = windows_.all_of(rank);
      api().pin(r.memory.data, r.memory.bytes);
      r.pinned = {api(), r.memory.data};
    }
    return r;
  }

  static std::size_t cell_bytes(std::size_t row_bytes) noexcept {
    return row_bytes / cells / cache_line * cache_line;
  }
  static std::byte* cell(const Row& r, std::uint64_t number) noexcept {
    return r.memory.data + number % cells * cell_bytes(r.memory.bytes);
  }

  void send_piece() {
    Sending& s = sending_.front();
    const Row& own = row(rank_);
    const std::size_t most =
        std::min(cell_bytes(own.memory.bytes), std::max(s.part.piece_bytes, cache_line));
    const std::size_t bytes = std::min(most, s.part.bytes - s.sent);
    if (s.sent == 0) api().wait(out_.get(), s.part.ready);
    api().copy(cell(own, next_), s.part.from + s.sent, bytes, out_.get());
    Mail piece;
    piece.kind = MailKind::piece;
    piece.ticket = s.part.ticket;
    piece.allocation = next_;
    piece.offset = s.sent;
    piece.bytes = bytes;
    s.office->send(piece, out_.get());
    filled_[next_] = true;
    next_ = (next_ + 1) % cells;
    s.sent += bytes;
    if (s.sent == s.part.bytes) sending_.pop_front();
  }

  DeviceSteps* steps_;
  HostWindows windows_;
  std::vector<int> on_node_;
  int rank_;  ///< on the node
  gpu::OwnedStream out_;
  gpu::OwnedStream in_;
  std::vector<Row> rows_;  ///< by sender
  std::vector<Arrival> arrivals_;
  std::deque<Sending> sending_;       ///< parts, in the order in which they were asked for
  std::array<bool, cells> filled_{};  ///< and not emptied yet
  std::uint32_t next_ = 0;            ///< the cell of the next piece
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
