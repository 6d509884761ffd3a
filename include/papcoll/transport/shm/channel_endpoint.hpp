#pragma once

#include <papcoll/base/copying.hpp>
#include <papcoll/base/joined.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/plan/endpoint.hpp>
#include <papcoll/plan/run.hpp>
#include <papcoll/transport/shm/channels.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// The endpoint of static schedules over channels in memory that the ranks of a node share,
/// processes and threads alike. A message is copied in by its sender and out by its receiver,
/// cell by cell.
///
/// A message that nobody has asked for yet stays in its channel. Only when a later message of the
/// same channel is asked for is it moved to private memory, so a wait for one collective can never
/// be blocked by the messages of another.
class ChannelEndpoint final : public Endpoint {
 public:
  ChannelEndpoint(const Node& node, Doorbells bells)
      : node_(node),
        bells_(bells),
        channels_(node.channels, node.size),
        peers_(static_cast<std::size_t>(node.size)) {}

  bool start(const TransportOp& work) override {
    switch (work.kind) {
      case OpKind::send:
        return start_send(work);
      case OpKind::receive:
        return start_receive(work);
      default:
        perform_locally(work);
        return true;
    }
  }

  bool progress() override {
    for (int p = 0; p < node_.size; ++p) {
      Peer& peer = peers_[static_cast<std::size_t>(p)];
      if (!peer.sends.empty()) push_all(p, peer);
      if (!peer.receives.empty()) pull(p, peer);
    }
    if (completed_.empty()) return false;
    // complete() starts further steps, which may complete others: take the list away first.
    reporting_.clear();
    reporting_.swap(completed_);
    for (const TransportOp& w : reporting_) w.owner->complete(w.slot, w.step);
    return true;
  }

  void abandon() noexcept override {
    for (Peer& p : peers_) {
      p.sends.clear();
      p.receives.clear();
      p.unexpected.clear();
    }
    completed_.clear();
  }

 private:
  struct Sending {
    TransportOp work;
    std::size_t sent = 0;  ///< bytes
  };
  struct Key {
    std::uint32_t sequence, block, number;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Unexpected {
    Key key;
    std::size_t total;
    std::size_t received = 0;
    std::unique_ptr<std::byte[]> data;
  };
  struct Peer {
    bool outbound_reserved = false;
    bool inbound_reserved = false;
    std::uint32_t written = 0;  ///< cells of the channel to the peer
    std::uint32_t known_consumed = 0;
    std::uint32_t read = 0;             ///< cells of the channel from the peer
    std::vector<Sending> sends;         ///< in order; the first is under way
    std::vector<TransportOp> receives;  ///< asked for, in no order
    std::size_t inbound = 0;            ///< bytes of the message under way that are here already
    bool inbound_unexpected = false;    ///< it goes to unexpected.back()
    std::vector<Unexpected> unexpected;
  };

  static Key key_of(const TransportOp& w) noexcept { return {w.sequence, w.block, w.number}; }

  /// Both ends do it: reading what has no page yet takes one, too.
  void reserve(const Channel& c, bool& done) {
    if (done) return;
    if (node_.reserve) {
      node_.reserve(node_.context, reinterpret_cast<const std::byte*>(&c), sizeof(Channel));
    }
    done = true;
  }

  bool start_send(const TransportOp& work) {
    Peer& peer = peers_[static_cast<std::size_t>(work.peer)];
    reserve(channels_.between(node_.rank, work.peer), peer.outbound_reserved);
    Sending s{work};
    if (peer.sends.empty() && push(work.peer, peer, s)) return true;
    peer.sends.push_back(s);
    return false;
  }

  void push_all(int p, Peer& peer) {
    std::size_t complete = 0;
    while (complete < peer.sends.size() && push(p, peer, peer.sends[complete])) {
      completed_.push_back(peer.sends[complete++].work);
    }
    peer.sends.erase(peer.sends.begin(),
                     peer.sends.begin() + static_cast<std::ptrdiff_t>(complete));
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
      cell.header.stamp.store(++peer.written, std::memory_order_seq_cst);
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
    for (auto u = peer.unexpected.begin(); u != peer.unexpected.end(); ++u) {
      if (u->key != key_of(work)) continue;
      require_size(work, u->total);
      const bool under_way = peer.inbound_unexpected && u + 1 == peer.unexpected.end();
      if (under_way && u->received < u->total) {
        std::memcpy(work.to, u->data.get(), u->received);
        peer.inbound = u->received;
        peer.inbound_unexpected = false;
        peer.unexpected.erase(u);
        peer.receives.insert(peer.receives.begin(), work);
        return false;
      }
      if (u->total != 0) std::memcpy(work.to, u->data.get(), u->total);
      peer.unexpected.erase(u);
      return true;
    }
    peer.receives.push_back(work);
    return false;
  }

  /// Reads cells that are there, for the receives asked for.
  void pull(int p, Peer& peer) {
    Channel& channel = channels_.between(p, node_.rank);
    bool any = false;
    while (!peer.receives.empty()) {
      Channel::Cell& cell = channel.cell(peer.read);
      if (cell.header.stamp.load(std::memory_order_seq_cst) != peer.read + 1) break;
      std::byte* const to = destination(peer, cell.header);
      if (cell.header.bytes != 0) {
        std::memcpy(to + peer.inbound, cell.payload, cell.header.bytes);
      }
      peer.inbound += cell.header.bytes;
      const bool whole = peer.inbound == cell.header.total;
      channel.consumed.store(++peer.read, std::memory_order_seq_cst);
      any = true;
      if (peer.inbound_unexpected) peer.unexpected.back().received = peer.inbound;
      if (!whole) continue;
      if (!peer.inbound_unexpected) {
        completed_.push_back(peer.receives.front());
        peer.receives.erase(peer.receives.begin());
      }
      peer.inbound = 0;
      peer.inbound_unexpected = false;
    }
    if (any) bells_.ring(p);
  }

  /// Where the message under way goes. A receive that it answers is moved to the front.
  std::byte* destination(Peer& peer, const Channel::Header& h) {
    if (peer.inbound != 0) {
      return peer.inbound_unexpected ? peer.unexpected.back().data.get() : peer.receives.front().to;
    }
    const Key key{h.sequence, h.block, h.number};
    for (auto r = peer.receives.begin(); r != peer.receives.end(); ++r) {
      if (key_of(*r) != key) continue;
      require_size(*r, h.total);
      std::swap(*r, peer.receives.front());
      return peer.receives.front().to;
    }
    peer.unexpected.push_back({key, h.total, 0, std::make_unique<std::byte[]>(h.total)});
    peer.inbound_unexpected = true;
    return peer.unexpected.back().data.get();
  }

  static void require_size(const TransportOp& w, std::size_t total) {
    if (w.bytes() == total) return;
    throw peer_error(w.owner->refuse(w, detail::joined({total, " bytes"})));
  }

  Node node_;
  Doorbells bells_;
  Channels channels_;
  std::vector<Peer> peers_;
  std::vector<TransportOp> completed_;
  std::vector<TransportOp> reporting_;
};

namespace detail {

template <class = void>
std::unique_ptr<Endpoint> connect_channels(const Node& node) {
  return std::make_unique<ChannelEndpoint>(node, Doorbells{node.bells, node.size});
}
PAPCOLL_COMPILE_ONCE(std::unique_ptr<Endpoint> connect_channels<>(const Node&))

}  // namespace detail

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
