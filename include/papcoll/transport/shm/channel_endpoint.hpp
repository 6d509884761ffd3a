// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/copying.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/plan_run.hpp>
#include <papcoll/transport/shm/channels.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace papcoll::inline PAPCOLL_ABI {

/// The endpoint of static schedules over channels in memory that the ranks of a node share,
/// processes and threads alike. A message is copied in by its sender and out by its receiver,
/// cell by cell.
///
/// A message that was not asked for yet stays in its channel. Only when a later message of the same
/// channel is asked for is it moved to private memory, so a wait for one collective can never be
/// blocked by the messages of another. What one message costs does not depend on how many are under
/// way.
class ChannelEndpoint final : public Endpoint {
 public:
  [[gnu::cold]] ChannelEndpoint(const Node& node, Doorbells bells)
      : node_(node),
        bells_(bells),
        channels_(node.channels, node.size),
        peers_(static_cast<std::size_t>(node.size)) {}
  ChannelEndpoint(const ChannelEndpoint&) = delete;
  ChannelEndpoint& operator=(const ChannelEndpoint&) = delete;
  ~ChannelEndpoint() override { abandon(); }

  bool start(const TransportOp& work) override {
    switch (work.kind) {
      case OpKind::send: return start_send(work);
      case OpKind::receive: return start_receive(work);
      default: perform_locally(work); return true;
    }
  }

  bool progress() override {
    for (int p = 0; p < node_.size; ++p) {
      Peer& peer = peers_[static_cast<std::size_t>(p)];
      if (!peer.sends.empty()) push_all(p, peer);
      if (peer.awaits_any()) pull(p, peer);
    }
    if (completed_.empty()) return false;
    // complete() starts further steps, which may complete others: take the list away first.
    reporting_.clear();
    reporting_.swap(completed_);
    for (const Step& c : reporting_) c.owner->complete(c.slot, c.step);
    return true;
  }

  [[gnu::cold]] void abandon() noexcept override {
    for (Peer& p : peers_) {
      p.sends.clear();
      p.receives.clear([](const Message&) {});
      p.unexpected.clear([](const Message& m) { delete[] m.to; });
      p.arriving = {};
    }
    completed_.clear();
  }

 private:
  struct Sending {
    TransportOp work;
    std::size_t sent = 0;  ///< bytes
  };
  /// A step of a plan that runs.
  struct Step {
    PlanRun* owner = nullptr;
    std::uint32_t slot = 0;
    std::uint32_t step = 0;
  };
  /// A message that was asked for; or one that came before, in memory of its own, for no step.
  struct Message {
    std::byte* to = nullptr;
    std::size_t bytes = 0;
    Step receives{};
  };
  /// The message of which the next cell is a part, if its first was read.
  struct Arriving {
    bool any = false;
    MessageKey key{};
    std::size_t total = 0;
    std::size_t received = 0;           ///< bytes
    std::byte* to = nullptr;            ///< its first byte
    Message awaited{};                  ///< it, unless `kept` has it
    detail::Owned<std::byte[]> kept{};  ///< its memory if it was not asked for yet
  };
  struct Peer {
    bool outbound_reserved = false;
    bool inbound_reserved = false;
    std::uint32_t written = 0;  ///< cells of the channel to the peer
    std::uint32_t known_consumed = 0;
    std::uint32_t read = 0;          ///< cells of the channel from the peer
    Queue<Sending> sends;            ///< the first is under way
    MessageTable<Message> receives;  ///< of which nothing was read
    Arriving arriving;
    MessageTable<Message> unexpected;

    /// Returns true if anything was asked for that has not arrived.
    bool awaits_any() const noexcept {
      return !receives.empty() || (arriving.any && arriving.kept == nullptr);
    }
  };

  static MessageKey key_of(const TransportOp& w) noexcept {
    return {w.sequence, w.block, w.number};
  }

  /// Both ends reserve: reading what has no page yet takes one, too.
  void reserve(const Channel& c, bool& done) {
    if (done) return;
    node_.reserve(reinterpret_cast<const std::byte*>(&c), sizeof(Channel));
    done = true;
  }

  bool start_send(const TransportOp& work) {
    Peer& peer = peers_[static_cast<std::size_t>(work.peer)];
    reserve(channels_.between(node_.rank, work.peer), peer.outbound_reserved);
    Sending s{work};
    if (peer.sends.empty() && push(work.peer, peer, s)) return true;
    peer.sends.push(s);
    return false;
  }

  void push_all(int p, Peer& peer) {
    while (!peer.sends.empty() && push(p, peer, peer.sends.front())) {
      const TransportOp& work = peer.sends.front().work;
      completed_.push_back({work.owner, work.slot, work.step});
      peer.sends.pop();
    }
  }

  /// Writes as many cells as there is room for; true when the whole message is in.
  bool push(int p, Peer& peer, Sending& s) {
    Channel& channel = channels_.between(node_.rank, p);
    const std::size_t total = s.work.bytes();
    bool any = false;
    bool whole = false;
    while (!whole) {  // once for a message of no bytes
      if (peer.written - peer.known_consumed == Channel::cells) {
        peer.known_consumed = channel.consumed.load(std::memory_order_seq_cst);
        if (peer.written - peer.known_consumed == Channel::cells) break;
      }
      Channel::Cell& cell = channel.cell(peer.written);
      const std::size_t n = std::min(total - s.sent, Channel::payload_bytes);
      cell.header.bytes = static_cast<std::uint32_t>(n);
      cell.header.sequence = s.work.sequence;
      cell.header.block = s.work.block;
      cell.header.number = s.work.number;
      cell.header.total = total;
      if (n != 0) {
        detail::copy_for_others(node_.copies->rule(), cell.payload, s.work.a + s.sent, n);
      }
      cell.header.written.store(++peer.written, std::memory_order_release);
      s.sent += n;
      any = true;
      whole = s.sent == total;
    }
    if (any) bells_.ring(p);
    return whole;
  }

  bool start_receive(const TransportOp& work) {
    Peer& peer = peers_[static_cast<std::size_t>(work.peer)];
    reserve(channels_.between(work.peer, node_.rank), peer.inbound_reserved);
    const MessageKey key = key_of(work);
    const Message awaited{work.to, work.bytes(), {work.owner, work.slot, work.step}};
    if (Message here; peer.unexpected.take(key, here)) {
      const detail::Owned<std::byte[]> memory{here.to};
      require_size(work.peer, awaited, here.bytes);
      if (here.bytes != 0) std::memcpy(work.to, here.to, here.bytes);
      return true;
    }
    Arriving& a = peer.arriving;
    if (a.any && a.kept != nullptr && a.key == key) {
      require_size(work.peer, awaited, a.total);
      std::memcpy(work.to, a.kept.get(), a.received);
      a.kept.reset();
      a.to = work.to;
      a.awaited = awaited;
      return false;
    }
    peer.receives.add(key, awaited);
    return false;
  }

  /// Reads cells that are there, for the receives asked for.
  void pull(int p, Peer& peer) {
    Channel& channel = channels_.between(p, node_.rank);
    Arriving& a = peer.arriving;
    bool any = false;
    while (peer.awaits_any()) {
      Channel::Cell& cell = channel.cell(peer.read);
      if (cell.header.written.load(std::memory_order_seq_cst) != peer.read + 1) break;
      if (!a.any) begin(p, peer, cell.header);
      if (cell.header.bytes != 0) std::memcpy(a.to + a.received, cell.payload, cell.header.bytes);
      a.received += cell.header.bytes;
      channel.consumed.store(++peer.read, std::memory_order_release);
      any = true;
      if (a.received != a.total) continue;
      a.any = false;
      if (a.kept != nullptr) {
        peer.unexpected.add(a.key, {a.to, a.total});
        static_cast<void>(a.kept.release());
      } else {
        completed_.push_back(a.awaited.receives);
      }
    }
    if (any) bells_.ring(p);
  }

  /// The first cell of a message is here.
  void begin(int p, Peer& peer, const Channel::Header& h) {
    Arriving& a = peer.arriving;
    a.key = {h.sequence, h.block, h.number};
    a.total = h.total;
    a.received = 0;
    if (peer.receives.take(a.key, a.awaited)) {
      require_size(p, a.awaited, h.total);
      a.to = a.awaited.to;
    } else {
      a.kept = detail::Owned<std::byte[]>{new std::byte[h.total]};  // all of it is written
      a.to = a.kept.get();
    }
    a.any = true;
  }

  static void require_size(int from, const Message& w, std::size_t total) {
    if (w.bytes != total) [[unlikely]]
      refuse_size(from, w, total);
  }
  [[noreturn, gnu::cold, gnu::noinline]] static void refuse_size(int from, const Message& w,
                                                                 std::size_t total) {
    throw peer_error(w.receives.owner->refuse(from, w.bytes, detail::joined({total, " bytes"})));
  }

  Node node_;
  Doorbells bells_;
  Channels channels_;
  detail::Vector<Peer> peers_;
  detail::Vector<Step> completed_;
  detail::Vector<Step> reporting_;
};

namespace detail {

template <class = void> [[gnu::cold]] std::unique_ptr<Endpoint> connect_channels(const Node& node) {
  return std::unique_ptr<Endpoint>(new ChannelEndpoint(node, Doorbells{node.bells, node.size}));
}
PAPCOLL_COMPILE_ONCE(std::unique_ptr<Endpoint> connect_channels<>(const Node&))

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
