#pragma once

#include <papcoll/error.hpp>
#include <papcoll/node/buffer_pages.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/peer_memory.hpp>
#include <papcoll/options.hpp>
#include <papcoll/runtime/copy_trials.hpp>
#include <papcoll/runtime/hierarchy.hpp>
#include <papcoll/topology/last_level_cache.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/nodes.hpp>
#include <papcoll/transport/mpi/polled.hpp>
#include <papcoll/transport/mpi/probe_copies.hpp>
#include <papcoll/transport/shm/segment.hpp>
#include <papcoll/waiting/doorbells.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// The memory that this rank shares with those of its node for one communicator, as one segment:
///
///     bells, words         of the whole communicator's board, if it has no other nodes
///     heads                bells and words of the boards of the teams within it
///     late pages           of the whole communicator, the same: see LatePages
///     arenas               of the ranks, also for the teams within it
///     late pages           of the teams within it
///
/// Bells and words have pages at once, so that no rank, however it ends, meets one that cannot be
/// had; the rest gets them when it is used.
class NodeMemory {
 public:
  NodeMemory() = default;
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;
  ~NodeMemory() = default;

  /// Makes it. Returns why it could not, the same on all ranks, or nothing. Collective.
  /// `why_no_cma`: see probe_copies().
  std::string make(const PolledCollectives& all_ranks, const NodeRanks& here,
                   const Options& options, const HierarchyPlans& hierarchy,
                   std::string& why_no_cma) {
    const bool whole = here.nodes == 1;
    const int ranks = static_cast<int>(here.ranks.size());
    const std::size_t bells = whole ? page_aligned(Doorbells::bytes(ranks)) : 0;
    const std::size_t board = whole ? board_words_bytes(ranks) : 0;
    const std::size_t channels = whole ? LatePages::bytes(ranks, options.chunk_bytes) : 0;
    const std::size_t heads = bells + board + hierarchy.heads_bytes();
    ShmSegment::Request request;
    request.ranks = here.ranks;
    const std::size_t arenas = static_cast<std::size_t>(ranks) * options.arena_bytes;
    request.bytes = heads + channels + arenas + hierarchy.channels_bytes() + cache_line;
    request.reserved = heads;
    request.wanted =
        hierarchy.buffers_bytes() + (whole ? board_buffers_bytes(ranks, options.chunk_bytes) : 0);
    bool arena = arenas != 0;
    try {
      segment_ = std::make_shared<ShmSegment>(ShmSegment::create(all_ranks, request));
    } catch (const transport_unavailable&) {  // perhaps for want of address space
      request.bytes -= arenas;
      arena = false;
      try {
        segment_ = std::make_shared<ShmSegment>(ShmSegment::create(all_ranks, request));
      } catch (const transport_unavailable& why) {
        return why.what();
      }
    }
    const int rank = all_ranks.rank("sharing memory");
    std::byte* const memory = segment_->data();
    const auto number = std::lower_bound(here.ranks.begin(), here.ranks.end(), rank);
    node_.rank = static_cast<int>(number - here.ranks.begin());
    node_.size = ranks;
    if (whole) {
      node_.bells = memory;
      node_.board = memory + bells;
    }
    LatePages::lay_out(node_, memory + heads);
    node_.reserve = &NodeMemory::reserve;
    node_.map_again = &NodeMemory::map_again;
    node_.context = segment_.get();
    node_.keep = segment_;
    if (arena) node_.set_arena(node_.channels + channels, options.arena_bytes);
    const bool maps = arena && options.peer_access != PeerAccess::staged;
    node_.peers = {memory, maps ? segment_->bytes() : 0,
                   probe_copies(all_ranks, here, options.peer_access, why_no_cma),
                   options.peer_access == PeerAccess::copied};
    node_.copies = std::make_shared<CopyChoice>(
        options.copy_method, last_level_cache_bytes() / static_cast<std::size_t>(ranks));
    hierarchy_.copies = node_.copies;
    hierarchy_.heads = memory + bells + board;
    hierarchy_.channels = memory + heads + channels + (arena ? arenas : 0);
    hierarchy_.reserve = &NodeMemory::reserve;
    hierarchy_.context = segment_.get();
    hierarchy_.peers = node_.peers;
    hierarchy_.ranks_here = here.ranks;
    if (arena && !hierarchy.plans().empty() && !hierarchy.by_caches()) {
      // The whole team and a group within it both lend what they have in a pool.
      if (whole) node_.pool_bytes /= 2;
      hierarchy_.pool = node_.pool + (whole ? node_.pool_bytes : 0);
      hierarchy_.pool_bytes = node_.pool_bytes;
    }
    if (whole && rank == 0) {
      board_of(node_, options.chunk_bytes).initialise(options.first_epoch);
    }
    all_ranks.barrier("sharing memory");
    return {};
  }

  /// What the ranks share: bells, board and channels only if the communicator has no other nodes.
  const Node& node() const noexcept { return node_; }

  /// Before the first call: which ranks of the node are near each other.
  void set_groups(std::shared_ptr<const Groups> groups) noexcept {
    node_.groups = std::move(groups);
  }

  /// Where the teams within it have theirs.
  const HierarchyMemory& hierarchy() const noexcept { return hierarchy_; }

  /// One of the node's other ranks that has died, by its place in NodeRanks::ranks; −1: none, or no
  /// memory to tell by.
  int find_dead() const { return segment_ == nullptr ? -1 : segment_->watch().find_dead(); }

  /// Has that rank's process ended?
  bool is_gone(int r) const noexcept { return segment_ != nullptr && segment_->watch().is_gone(r); }

  void release() noexcept {
    segment_ = nullptr;
    node_.keep = nullptr;
  }

 private:
  static void reserve(void* p, const std::byte* at, std::size_t bytes) {
    static_cast<const ShmSegment*>(p)->reserve(at, bytes);
  }
  static std::byte* map_again(void* p, const std::byte* at, std::size_t bytes) {
    return static_cast<const ShmSegment*>(p)->map_again(at, bytes);
  }

  std::shared_ptr<ShmSegment> segment_;
  Node node_{};
  HierarchyMemory hierarchy_;
};

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
