#pragma once

#include <papcoll/base/copying.hpp>
#include <papcoll/config.hpp>
#include <papcoll/options.hpp>
#include <papcoll/runtime/machine_of_ranks.hpp>
#include <papcoll/runtime/tuning_text.hpp>
#include <papcoll/runtime/watched_buffers.hpp>
#include <papcoll/transport/mpi/nodes.hpp>
#include <papcoll/transport/shm/node_share.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// What ranks that have made a communicator, with these Options, know of each other, and what they
/// share on their node: enough to make another one of the same ranks in the same order.
struct KnownRanks {
  Options options;
  NodeRanks here;
  MachineOfRanks where;
  TuningText tuning;
  std::shared_ptr<NodeShare> share;
  NodeShare::AreaRequest area;         ///< what a communicator has there
  std::vector<pid_t> copies_from;      ///< see probe_copies()
  std::string why_no_cma;              ///< the same
  std::shared_ptr<CopyChoice> copies;  /// how this rank copies for others
  /// A buffer may be from any of their arenas, which are one.
  std::shared_ptr<BufferWatch> watch = std::make_shared<BufferWatch>();

  /// The same on all ranks, and another where they share something else or sit elsewhere.
  std::uint64_t id() const noexcept { return share->segment().id() ^ where.id; }
};

/// Those that a process has. Threads may use it at once.
class KnownRanksList {
 public:
  /// `world_ranks`: the communicator's, in its order. Null: none.
  std::shared_ptr<KnownRanks> find(const std::vector<int>& world_ranks, const Options& options) {
    const std::lock_guard lock{mutex_};
    for (const Entry& e : entries_) {
      if (e.world_ranks != world_ranks) continue;
      auto known = e.known.lock();
      if (known == nullptr || !(known->options == options)) continue;
      stay(known);
      return known;
    }
    return nullptr;
  }

  /// Instead of what was kept for the same ranks and Options, if anything.
  void keep(const std::vector<int>& world_ranks, const std::shared_ptr<KnownRanks>& known) {
    const std::lock_guard lock{mutex_};
    std::erase_if(entries_, [&](const Entry& e) {
      const auto other = e.known.lock();
      return other == nullptr || (e.world_ranks == world_ranks && other->options == known->options);
    });
    entries_.push_back({world_ranks, known});
    stay(known);
  }

  /// Those that no communicator has.
  void forget() noexcept {
    std::vector<std::shared_ptr<KnownRanks>> recent;
    const std::lock_guard lock{mutex_};
    recent_.swap(recent);
  }

  /// MPI ends.
  void clear() noexcept {
    const std::lock_guard lock{mutex_};
    recent_.clear();
    entries_.clear();
  }

 private:
  struct Entry {
    std::vector<int> world_ranks;
    std::weak_ptr<KnownRanks> known;
  };

  /// So many stay without a communicator, each with a descriptor: programs make and free
  /// communicators of the same ranks again and again.
  static constexpr std::size_t most = 4;

  void stay(const std::shared_ptr<KnownRanks>& known) {
    const auto at = std::find(recent_.begin(), recent_.end(), known);
    if (at != recent_.end()) {
      std::rotate(at, at + 1, recent_.end());
      return;
    }
    if (recent_.size() == most) recent_.erase(recent_.begin());
    recent_.push_back(known);
  }

  std::mutex mutex_;
  std::vector<Entry> entries_;
  std::vector<std::shared_ptr<KnownRanks>> recent_;  ///< the latest is the last
};

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
