// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/waiting/doorbells.hpp>
#include <papcoll/runtime/mpi_process.hpp>
#include <papcoll/runtime/setup/division.hpp>
#include <papcoll/topology/linux.hpp>
#include <papcoll/topology/options.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>
#include <papcoll/transport/mpi/nodes.hpp>
#include <papcoll/transport/mpi/polled_collectives.hpp>
#include <papcoll/transport/shm/node_segments.hpp>
#include <papcoll/transport/shm/shm_segment.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// The memory that this rank shares with those of its node for one communicator: the arenas of the
/// ranks, which other communicators may use, too, and an area:
///
///     bells, words         of the whole communicator's control block, if it has no other nodes
///     heads                bells and words of the control blocks of the teams within it
///     late pages           of the ranks: see lay_out()
///     late pages           of the teams within it
///
/// Bells and words have pages at once, so that no rank, however it ends, meets one that cannot be
/// had; the rest gets them when it is used.
class NodeMemory : Pinned {
 public:
  /// Returns what the ranks of a node want for a communicator.
  [[gnu::cold]] static NodeSegmentPool::AreaRequest area_of(const NodeRanks& here,
                                                            const Options& options,
                                                            const Groups* caches) {
    const Layout layout{here, options, caches};
    NodeSegmentPool::AreaRequest area;
    area.bytes = layout.late_at() + layout.own.late + layout.inner.late + cache_line;
    area.reserved = layout.late_at();
    area.wanted = layout.inner.buffers + layout.own.buffers;
    return area;
  }

  /// Makes the area, as the node's first rank. Throws system_error.
  [[gnu::cold]] static Shared<CommunicatorSegment> make_area(const RankSetInfo& known) {
    auto area = CommunicatorSegment::make(known.share);
    if (known.here.nodes == 1) {
      Node node;
      node.size = static_cast<int>(known.here.ranks.size());
      detail::lay_out(node, area->data(), nullptr, known.options.chunk_bytes);
      control_block_of(node, known.options.chunk_bytes).initialise(known.options.first_epoch);
    }
    return area;
  }

  /// Makes what the ranks share, `known.share` and the area, for ranks that do not know each other
  /// yet: `known` has the rest. Returns why it could not, the same on all ranks, or nothing; where
  /// it could not, `known.share` is null.
  /// Collective.
  [[gnu::cold]] std::string make(const PolledCollectives& all_ranks, RankSetInfo& known,
                                 const Groups* caches) {
    constexpr const char* where = "sharing memory";
    const int rank = all_ranks.rank(where);
    ShmSegment::Request request;
    request.ranks = known.here.ranks;
    std::size_t arena_bytes = known.options.arena_bytes;
    request.bytes = NodeSegmentPool::bytes(request.ranks.size(), arena_bytes);
    Owned<ShmSegment> segment;
    try {
      segment = ShmSegment::create(all_ranks, request);
    } catch (const transport_unavailable& why) {  // perhaps for want of address space
      if (arena_bytes == 0) return why.what();
      arena_bytes = 0;
      request.bytes = NodeSegmentPool::bytes(request.ranks.size(), 0);
      try {
        segment = ShmSegment::create(all_ranks, request);
      } catch (const transport_unavailable& still) {
        return still.what();
      }
    }
    const auto place = std::lower_bound(known.here.ranks.begin(), known.here.ranks.end(), rank);
    known.share = detail::make_shared<NodeSegmentPool>(
        std::move(segment), static_cast<int>(place - known.here.ranks.begin()),
        static_cast<int>(known.here.ranks.size()), arena_bytes, known.area);
    known.copies = detail::make_shared<CopyChoice>(
        known.options.copy_method, last_level_cache_bytes() / known.here.ranks.size());

    std::string problem;
    Shared<CommunicatorSegment> area;
    std::uint64_t number = 0;  // of the area, from 1; 0: none
    if (known.here.ranks.front() == rank) {
      problem = caught([&] {
        area = make_area(known);
        number = area->number() + 1;
      });
    }
    std::vector<std::uint64_t> numbers(static_cast<std::size_t>(all_ranks.size(where)));
    all_ranks.allgather(&number, sizeof number, numbers.data(), where);
    number = numbers[static_cast<std::size_t>(known.here.ranks.front())];
    if (area == nullptr && number != 0) {
      problem = caught([&] { area = CommunicatorSegment::join(known.share, number - 1); });
    }
    problem = first_problem(all_ranks, problem, where);
    if (!problem.empty()) {
      known.share = nullptr;
      return joined({"papcoll: the ranks of a node cannot share memory: ", problem});
    }
    known.copies_from =
        probe_copies(all_ranks, known.here, known.options.peer_access, known.why_no_cma);
    lay_out(known, caches, std::move(area));
    return {};
  }

  /// Takes an area that all ranks of the node have.
  [[gnu::cold]] void lay_out(const RankSetInfo& known, const Groups* caches,
                             Shared<CommunicatorSegment> area) {
    const Layout layout{known.here, known.options, caches};
    area_ = std::move(area);
    NodeSegmentPool& share = area_->share();
    std::byte* const memory = area_->data();
    node_.rank = share.rank();
    node_.size = static_cast<int>(known.here.ranks.size());
    detail::lay_out(node_, layout.whole ? memory : nullptr, memory + layout.late_at(),
                    known.options.chunk_bytes);
    node_.pages = area_;
    if (share.arena() != nullptr) {
      node_.pool = share.pools()->memory();
      node_.pool_bytes = share.pools()->bytes();
      node_.taken_pools = &area_->taken_pools();
      node_.arena = share.arena();
    }
    const bool maps = share.arena() != nullptr && known.options.peer_access != PeerAccess::staged;
    const ShmSegment& segment = share.segment();
    node_.peers = {segment.data(), maps ? segment.bytes() : 0, known.copies_from,
                   known.options.peer_access == PeerAccess::copied};
    node_.copies = known.copies;
    hierarchy_.outer = node_;
    // Without a share in the area, which the teams within must not keep: see release().
    hierarchy_.outer.pages = {nullptr, area_.get()};
    hierarchy_.outer.arena = nullptr;
    hierarchy_.outer.set_pool(nullptr, 0);
    hierarchy_.heads = memory + layout.own.heads;
    hierarchy_.late = memory + layout.late_at() + layout.own.late;
    hierarchy_.ranks_here = known.here.ranks;
    const bool by_caches = known.options.groups.empty() && layout.whole;
    if (share.arena() != nullptr && layout.inner.heads != 0 && !by_caches) {
      // The whole team and a group within it both expose memory of a pool.
      if (layout.whole) node_.pool_bytes /= 2;
      hierarchy_.outer.pool = node_.pool;
      hierarchy_.outer.pool_bytes = node_.pool_bytes;
    }
  }

  /// Returns what the ranks share: bells, control block and channels only if the communicator has
  /// no other nodes.
  const Node& node() const noexcept { return node_; }

  /// Sets which ranks of the node share a cache; called before the first call.
  void set_groups(Shared<const Groups> groups) noexcept { node_.groups = std::move(groups); }

  /// `broken`: the word of the communicator's control block that is not 0 once it is broken.
  void watch(const std::atomic<std::uint32_t>& broken) {
    if (area_ != nullptr) area_->watch(broken);
  }

  /// Returns the memory of the teams within the communicator.
  HierarchyMemory take_hierarchy() noexcept { return std::move(hierarchy_); }

  /// Returns one of the node's other ranks that has died, by its place in NodeRanks::ranks; −1 if
  /// there is none, or no shared memory to find out by.
  int find_dead() const { return area_ == nullptr ? -1 : area_->find_dead(); }

  /// Returns true if that rank's process has ended, or left the communicator.
  bool is_gone(int r) const noexcept { return area_ != nullptr && area_->is_gone(r); }

  /// This rank leaves the communicator.
  [[gnu::cold]] void release() noexcept {
    if (area_ != nullptr) area_->depart();
    area_ = nullptr;
    node_.pages = nullptr;
  }

 private:
  /// Bytes of an area's parts.
  struct Layout {
    [[gnu::cold]] Layout(const NodeRanks& here, const Options& options, const Groups* caches)
        : whole(here.nodes == 1),
          own(node_bytes(static_cast<int>(here.ranks.size()), options.chunk_bytes)),
          inner(Division::bytes(static_cast<int>(here.ranks.size()), whole, caches, options)) {
      if (!whole) own.heads = own.buffers = 0;  // mailboxes of devices there are in any case
    }
    std::size_t late_at() const noexcept { return page_aligned(own.heads + inner.heads); }

    bool whole;
    NodeBytes own;
    NodeBytes inner;
  };

  Shared<CommunicatorSegment> area_;
  Node node_{};
  HierarchyMemory hierarchy_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
