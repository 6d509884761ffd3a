// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/remote_tickets.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/peer_probe.hpp>
#include <papcoll/node/waiting/doorbells.hpp>
#include <papcoll/topology/groups.hpp>
#include <papcoll/topology/options.hpp>
#include <papcoll/transport/rma/remote_atomics.hpp>
#include <papcoll/transport/shm/channels.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Bytes of a node's memory for a team, or for several.
struct NodeBytes {
  std::size_t heads = 0;    ///< which get pages at once
  std::size_t late = 0;     ///< which get pages when they are used
  std::size_t buffers = 0;  ///< of these, those of chunk buffers

  NodeBytes& operator+=(const NodeBytes& other) noexcept {
    heads += other.heads;
    late += other.late;
    buffers += other.buffers;
    return *this;
  }
};

/// Sets where the parts of the memory of `n.size` ranks are, and returns their bytes:
///
///     heads           bells, the words of the control block, and whether these are initialised
///     channels        of static schedules
///     peer probe      what PeerProbe writes
///     ticket words    of RmaTransport, see SharedWords
///     mailboxes       of messages between devices
///     staging rings   of messages between devices that cannot reach each other
///     chunk buffers   of the control block
///
/// Null: the parts behind it are not there.
[[gnu::cold, gnu::noinline]] inline NodeBytes lay_out(Node& n, std::byte* heads, std::byte* late,
                                                      std::size_t chunk_bytes) noexcept {
  NodeBytes bytes;
  const auto take = [](std::byte* from, std::size_t& taken, std::size_t wanted) {
    std::byte* const at = from == nullptr ? nullptr : from + taken;
    taken += page_aligned(wanted);
    return at;
  };
  const std::size_t pairs = static_cast<std::size_t>(n.size) * static_cast<std::size_t>(n.size);
  n.bells = take(heads, bytes.heads, Doorbells::bytes(n.size));
  n.control = take(heads, bytes.heads, NodeControlBlock::words_bytes(n.size));
  bytes.heads += cache_line;
  n.channels = take(late, bytes.late, Channels::bytes(n.size));
  n.peer_probe = take(late, bytes.late, PeerProbe::bytes(n.size));
  n.ticket_words =
      take(late, bytes.late, SharedWords::bytes(n.size, RemoteTicketCounter::words(n.size)));
  n.device_mailboxes = take(late, bytes.late, pairs * device_mailbox_bytes);
  n.device_staging_rings = take(late, bytes.late, pairs * device_staging_ring_bytes(n.size));
  bytes.buffers = chunk_buffers_bytes(n.size, chunk_bytes);
  n.buffers = take(late, bytes.late, bytes.buffers);
  return bytes;
}

/// The bytes of one team of so many ranks.
[[gnu::cold]] inline NodeBytes node_bytes(int ranks, std::size_t chunk_bytes) {
  Node n;
  n.size = ranks;
  return lay_out(n, nullptr, nullptr, chunk_bytes);
}

/// Not 0 once the words of a node's control block are initialised. Stored with release; loaded with
/// acquire before the first use of the control block.
inline std::atomic<std::uint32_t>& is_initialised(const Node& n) noexcept {
  std::byte* const behind = n.control + page_aligned(NodeControlBlock::words_bytes(n.size));
  return *std::launder(reinterpret_cast<std::atomic<std::uint32_t>*>(behind));
}

/// The bytes of one team within a team, of so many ranks.
[[gnu::cold]] inline NodeBytes inner_bytes(int ranks, std::size_t chunk_bytes) {
  return ranks < 2 ? NodeBytes{} : node_bytes(ranks, chunk_bytes);
}

/// Where the teams within a team have their memory.
struct HierarchyMemory {
  Node outer;                  ///< what they have of this node of the outermost team
  std::byte* heads = nullptr;  ///< see NodeBytes
  std::byte* late = nullptr;
  std::vector<int> ranks_here;  ///< of the node, as ranks of the outermost team, ascending
};

/// How a team may be divided into groups, as its ranks know when it is made: by Options::groups,
/// else by its nodes, if there are several, else by the caches that its ranks share. The teams of
/// the groups are made in the first call that has a use for them.
struct Division {
  /// Teams of ranks that share caches serve short calls only, so they have chunk buffers of a page
  /// at most: all of those of all groups count as room that shared memory must have.
  static constexpr std::size_t chunk_bytes_by_caches = 4096;

  std::vector<int> nodes;       ///< of each rank, the lowest rank of its node
  int here = 0;                 ///< this rank's
  bool shares_memory = false;   ///< the ranks of a node have memory in common
  Shared<const Groups> caches;  ///< on one node, see cache_groups()
  HierarchyMemory memory;
  bool is_planned = false;  ///< hierarchy_of() has planned one, if there is one

  /// At least what the teams take on a node of so many ranks.
  [[gnu::cold]] static NodeBytes bytes(int ranks_here, bool one_node, const Groups* caches,
                                       const Options& options) {
    NodeBytes sum;
    if (!options.groups.empty()) {
      // On each level the groups divide the ranks, and representatives are some of them. What a
      // team takes grows at least with its ranks, but for a part that each has, whatever its size.
      const NodeBytes all = inner_bytes(ranks_here, options.chunk_bytes);
      const NodeBytes pair = inner_bytes(2, options.chunk_bytes);
      for (std::size_t level = 0; level < options.groups.size(); ++level) {
        sum += all;
        sum += all;
        for (int pairs = 0; pairs < ranks_here / 2; ++pairs) sum += pair;
      }
    } else if (!one_node) {
      sum = inner_bytes(ranks_here, options.chunk_bytes);
    } else if (caches != nullptr) {
      const std::size_t chunk = std::min(options.chunk_bytes, chunk_bytes_by_caches);
      for (const std::vector<int>& group : caches->members) {
        sum += inner_bytes(static_cast<int>(group.size()), chunk);
      }
      sum += inner_bytes(caches->count(), chunk);
    }
    return sum;
  }
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
