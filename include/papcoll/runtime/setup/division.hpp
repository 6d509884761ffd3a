#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/copying.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/node/board.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/waiting/doorbells.hpp>
#include <papcoll/runtime/memory/late_pages.hpp>
#include <papcoll/topology/groups.hpp>
#include <papcoll/topology/options.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Bytes of a node's memory for the teams within a team.
struct InnerBytes {
  std::size_t heads = 0;     ///< which get pages at once
  std::size_t channels = 0;  ///< LatePages
  std::size_t buffers = 0;   ///< of these, those of chunk buffers

  InnerBytes& operator+=(const InnerBytes& other) noexcept {
    heads += other.heads;
    channels += other.channels;
    buffers += other.buffers;
    return *this;
  }
};

inline std::size_t bells_bytes(int ranks) noexcept { return page_aligned(Doorbells::bytes(ranks)); }

/// Of one team of so many ranks: its bells, the words of its board and a line that says that these
/// are initialised.
[[gnu::cold]] inline InnerBytes inner_bytes(int ranks, std::size_t chunk_bytes) noexcept {
  if (ranks < 2) return {};
  return {bells_bytes(ranks) + board_words_bytes(ranks) + cache_line,
          LatePages::bytes(ranks, chunk_bytes), board_buffers_bytes(ranks, chunk_bytes)};
}

/// Where the teams within a team have their memory.
struct HierarchyMemory {
  std::byte* heads = nullptr;
  std::byte* channels = nullptr;
  NodePages* pages = nullptr;           ///< null: it needs nothing
  detail::Shared<CopyChoice> copies{};  ///< see Node
  PeerMemory peers{};                   ///< how processes of the node reach each other's buffers
  std::vector<int> ranks_here;          ///< of the node, as ranks of the outermost team, ascending
  std::byte* pool = nullptr;            ///< this rank's, see Node; for the inmost group
  std::size_t pool_bytes = 0;
  TakenPools* pools = nullptr;
};

/// How a team may be divided into groups, as its ranks know when it is made: by Options::groups,
/// else by its nodes, if there are several, else by the caches that its ranks share. The teams of
/// the groups are made in the first call that has a use for them.
struct Division {
  /// Teams of ranks that share caches serve short calls only, so they have chunk buffers of a page
  /// at most: all of those of all groups count as room that shared memory must have.
  static constexpr std::size_t chunk_bytes_by_caches = 4096;

  std::vector<int> nodes;               ///< of each rank, the lowest rank of its node
  int here = 0;                         ///< this rank's
  bool shares_memory = false;           ///< the ranks of a node have memory in common
  detail::Shared<const Groups> caches;  ///< on one node, see cache_groups()
  HierarchyMemory memory;
  bool is_planned = false;  ///< hierarchy_of() has planned one, if there is one

  /// At least what the teams take on a node of so many ranks.
  [[gnu::cold]] static InnerBytes bytes(int ranks_here, bool one_node, const Groups* caches,
                                        const Options& options) {
    InnerBytes sum;
    if (!options.groups.empty()) {
      // On each level the groups divide the ranks, and representatives are some of them. What a
      // team takes grows at least with its ranks, but for a part that each has, whatever its size.
      const InnerBytes all = inner_bytes(ranks_here, options.chunk_bytes);
      for (std::size_t level = 0; level < options.groups.size(); ++level) {
        sum += all;
        sum += all;
        for (int pair = 0; pair < ranks_here / 2; ++pair)
          sum += inner_bytes(2, options.chunk_bytes);
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
