#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/copying.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/runtime/memory/freed_buffer_watch.hpp>
#include <papcoll/runtime/setup/machine_of_ranks.hpp>
#include <papcoll/runtime/setup/selection_texts.hpp>
#include <papcoll/topology/options.hpp>
#include <papcoll/transport/mpi/nodes.hpp>
#include <papcoll/transport/shm/node_segments.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// What ranks that have made a communicator, with these Options, know of each other, and what they
/// share on their node: enough to make another one of the same ranks in the same order.
struct RankSetInfo {
  std::vector<int> world_ranks;  ///< the communicator's, in its order, in MPI_COMM_WORLD
  Options options;
  NodeRanks here;
  MachineOfRanks where;
  std::string files;  ///< see selection_texts.hpp
  detail::Shared<NodeSegmentPool> share;
  NodeSegmentPool::AreaRequest area;  ///< what a communicator has there
  detail::Vector<pid_t> copies_from;  ///< see probe_copies()
  std::string why_no_cma;             ///< the same
  detail::Shared<CopyChoice> copies;  /// how this rank copies for others
  /// A buffer may be from any of their arenas, which are one.
  detail::Shared<BufferWatch> watch = detail::make_shared<BufferWatch>();

  bool are(const std::vector<int>& ranks, const Options& wanted) const {
    return world_ranks == ranks && options == wanted;
  }

  /// The same on all ranks, and another where they share something else or sit elsewhere.
  std::uint64_t id() const noexcept { return share->segment().id() ^ where.id; }
};

/// Those that a process has. Threads may use it at once.
class RankSetCache {
 public:
  /// `world_ranks`: the communicator's, in its order. Null: none.
  [[gnu::cold]] detail::Shared<RankSetInfo> find(const std::vector<int>& world_ranks,
                                                 const Options& options) {
    const std::lock_guard lock{mutex_};
    for (const detail::Weak<RankSetInfo>& entry : entries_) {
      auto known = entry.lock();
      if (known == nullptr || !known->are(world_ranks, options)) continue;
      stay(known);
      return known;
    }
    return nullptr;
  }

  /// Instead of what was kept for the same ranks and Options, if anything.
  [[gnu::cold]] void keep(const detail::Shared<RankSetInfo>& known) {
    const std::lock_guard lock{mutex_};
    entries_.erase_if([&known](const detail::Weak<RankSetInfo>& entry) {
      const auto other = entry.lock();
      return other == nullptr || other->are(known->world_ranks, known->options);
    });
    entries_.push_back(known);
    stay(known);
  }

  /// Those that no communicator has.
  [[gnu::cold]] void forget() noexcept {
    Recent recent;
    const std::lock_guard lock{mutex_};
    recent_.swap(recent);
  }

  /// MPI ends.
  [[gnu::cold]] void clear() noexcept {
    forget();
    const std::lock_guard lock{mutex_};
    entries_.clear();
  }

 private:
  /// So many stay without a communicator, each with a descriptor: programs make and free
  /// communicators of the same ranks again and again. The latest is the last.
  using Recent = std::array<detail::Shared<RankSetInfo>, 4>;

  [[gnu::cold]] void stay(const detail::Shared<RankSetInfo>& known) noexcept {
    std::size_t at = 0;  // the oldest, if it is not there
    while (at < recent_.size() && recent_[at] != known) ++at;
    if (at == recent_.size()) at = 0;
    for (; at + 1 < recent_.size(); ++at) recent_[at] = std::move(recent_[at + 1]);
    recent_.back() = known;
  }

  std::mutex mutex_;
  detail::Vector<detail::Weak<RankSetInfo>> entries_;
  Recent recent_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
