#pragma once

#include <papcoll/node/buffer_pages.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/runtime/copy_trials.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/topology/groups.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/near_groups.hpp>
#include <papcoll/transport/shm/channels.hpp>
#include <papcoll/waiting/doorbells.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

// A team may be divided in groups, as those of the nodes of a communicator: each rank then has a
// team with the others of its group, and each group's representative one with all representatives,
// which may be divided again. A team whose ranks are on one node has memory of its own there;
// messages go by the outermost team's endpoints, so no further MPI communicator is made.

/// A team within a team: which ranks, and where their memory is.
struct InnerTeam {
  std::vector<int> ranks;    ///< as ranks of the outermost team, ascending
  bool shares = false;       ///< they have memory in common
  bool here = false;         ///< and that of this process
  std::size_t heads = 0;     ///< offsets in that memory: bells and words of the board,
  std::size_t channels = 0;  ///< and LatePages

  int size() const noexcept { return static_cast<int>(ranks.size()); }
};

/// One hierarchy of a team, as all ranks see it.
struct HierarchyPlan {
  Groups groups;
  std::vector<InnerTeam> intra;  ///< of each group
  InnerTeam inter;
  bool all_share = true;  ///< every group of more than one rank has memory
};

/// The hierarchy of a team, the inmost first, and the memory that this process's node needs for
/// them.
class HierarchyPlans {
 public:
  static constexpr std::size_t chunk_bytes_by_caches = 4096;

  HierarchyPlans() = default;

  /// `node_of`: the node of each rank, −1 where ranks cannot share memory; `here` is this
  /// process's.
  /// `by_caches`: see Hierarchy. Such teams serve short calls only, so they have chunk buffers of a
  /// page at most: all of those of all groups count as room that shared memory must have.
  HierarchyPlans(const GroupColours& levels, const std::vector<int>& node_of, int here,
                 std::size_t chunk_bytes, bool by_caches = false)
      : by_caches_(by_caches),
        chunk_bytes_(by_caches ? std::min(chunk_bytes, chunk_bytes_by_caches) : chunk_bytes) {
    std::vector<int> ranks;
    for (std::size_t r = 0; r < node_of.size(); ++r) ranks.push_back(static_cast<int>(r));
    for (const std::vector<int>& colours : levels) {
      HierarchyPlan plan;
      plan.groups = Groups::by_colour(colours);
      std::vector<int> representatives;
      for (const std::vector<int>& members : plan.groups.members) {
        std::vector<int> group;
        group.reserve(members.size());
        for (const int m : members) group.push_back(ranks[static_cast<std::size_t>(m)]);
        representatives.push_back(group.front());
        plan.intra.push_back(inner_team(std::move(group), node_of, here));
        plan.all_share = plan.all_share && plan.intra.back().shares;
      }
      plan.inter = inner_team(representatives, node_of, here);
      ranks = std::move(representatives);
      plans_.push_back(std::move(plan));
    }
  }

  const std::vector<HierarchyPlan>& plans() const noexcept { return plans_; }
  bool by_caches() const noexcept { return by_caches_; }
  std::size_t chunk_bytes() const noexcept { return chunk_bytes_; }
  std::size_t heads_bytes() const noexcept { return heads_; }
  std::size_t channels_bytes() const noexcept { return channels_; }
  /// Of these, those of chunk buffers.
  std::size_t buffers_bytes() const noexcept { return buffers_; }

 private:
  InnerTeam inner_team(std::vector<int> ranks, const std::vector<int>& node_of, int here) {
    InnerTeam t;
    t.ranks = std::move(ranks);
    const auto node = [&](int r) { return node_of[static_cast<std::size_t>(r)]; };
    const int first = node(t.ranks.front());
    t.shares =
        t.size() == 1 || (first >= 0 && std::all_of(t.ranks.begin(), t.ranks.end(),
                                                    [&](int r) { return node(r) == first; }));
    t.here = t.size() > 1 && t.shares && first == here;
    if (!t.here) return t;
    t.heads = heads_;
    t.channels = channels_;
    heads_ += bells_bytes(t.size()) + detail::board_words_bytes(t.size());
    channels_ += detail::LatePages::bytes(t.size(), chunk_bytes_);
    buffers_ += detail::board_buffers_bytes(t.size(), chunk_bytes_);
    return t;
  }

 public:
  static std::size_t bells_bytes(int ranks) noexcept {
    return detail::page_aligned(Doorbells::bytes(ranks));
  }

 private:
  bool by_caches_ = false;
  std::size_t chunk_bytes_ = cache_line;
  std::size_t heads_ = 0;
  std::size_t channels_ = 0;
  std::size_t buffers_ = 0;
  std::vector<HierarchyPlan> plans_;
};

/// Memory that a call keeps for the next one.
class CallMemory {
 public:
  CallMemory() = default;
  CallMemory(const CallMemory&) = delete;
  CallMemory& operator=(const CallMemory&) = delete;
  ~CallMemory() { release(); }

  std::byte* get(std::size_t bytes) {
    if (bytes > bytes_) {
      release();
      data_ = static_cast<std::byte*>(::operator new (bytes, std::align_val_t{cache_line}));
      bytes_ = bytes;
    }
    return data_;
  }

  /// Something below may still use it.
  void leak() noexcept { data_ = nullptr; }

 private:
  void release() noexcept {
    ::operator delete (data_, std::align_val_t{cache_line});
    data_ = nullptr;
    bytes_ = 0;
  }

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A team's hierarchy as one rank of it sees it.
struct Hierarchy {
  Hierarchy() = default;
  Hierarchy(const Hierarchy&) = delete;
  Hierarchy& operator=(const Hierarchy&) = delete;
  ~Hierarchy() {
    const auto holds_on = [](const auto& team) { return team && team->holds_on(); };
    if (!holds_on(intra) && !holds_on(inter)) return;
    for (CallMemory& m : memory) m.leak();
  }

  Groups groups;
  /// The groups are those of near_groups() on one node, which only calls that name no algorithm go
  /// by: to Hierarchical by name, all ranks of a node are one group.
  bool by_caches = false;
  std::array<CallMemory, 4> memory;
  struct Level {
    bool intra;   ///< all groups have memory of their own
    bool inter;   ///< so have the representatives
    int largest;  ///< ranks of the largest group
    int groups;
  };
  std::vector<Level> levels;  ///< of this hierarchy and of those above it
  Node node_within;
  Node node_between;
  std::unique_ptr<TeamCore> intra;
  std::unique_ptr<TeamCore> inter;
};

namespace detail {

/// Where the teams within a team have their memory.
struct HierarchyMemory {
  std::byte* heads = nullptr;
  std::byte* channels = nullptr;
  void (*reserve)(void* context, const std::byte* at, std::size_t bytes) = nullptr;
  void* context = nullptr;
  std::shared_ptr<CopyChoice> copies{};  ///< see Node
  PeerMemory peers{};                    ///< how processes of the node reach each other's buffers
  std::vector<int> ranks_here;           ///< of the node, as ranks of the outermost team, ascending
  std::byte* pool = nullptr;             ///< this rank's, see Node; for the inmost group
  std::size_t pool_bytes = 0;
  std::byte* (*take_pool)(void* context, std::size_t bytes) = nullptr;
  void (*give_pool_back)(void* context, std::byte* at) noexcept = nullptr;
};

/// This rank's part of a team within `parent`; ranks of it are `members` of the parent.
inline std::unique_ptr<TeamCore> make_inner(TeamCore& parent, const InnerTeam& team,
                                            const std::vector<int>& members, int number, Node& node,
                                            const HierarchyPlans& plans,
                                            const HierarchyMemory& memory) {
  Surroundings s;
  s.rank = number;
  s.size = team.size();
  s.nodes = team.shares ? 1 : team.size();
  s.processes = parent.surroundings().processes;
  s.mpi = parent.surroundings().mpi;
  if (const auto& machine = parent.surroundings().machine) {
    s.machine = std::make_shared<const Machine>(machine->among(members));
    if (team.here) node.groups = near_groups(*s.machine);
  }
  Options options = parent.options();
  options.chunk_bytes = plans.chunk_bytes();
  if (team.here) {
    std::byte* const bells = memory.heads + team.heads;
    std::byte* const board = bells + HierarchyPlans::bells_bytes(team.size());
    node.rank = number;
    node.size = team.size();
    node.bells = bells;
    node.board = board;
    detail::LatePages::lay_out(node, memory.channels + team.channels);
    node.reserve = memory.reserve;
    node.context = memory.context;
    if (memory.copies != nullptr) node.copies = memory.copies;
    if (s.processes) {
      std::vector<std::size_t> numbers;  // on the node
      for (const int r : team.ranks) {
        const auto at = std::lower_bound(memory.ranks_here.begin(), memory.ranks_here.end(), r);
        numbers.push_back(static_cast<std::size_t>(at - memory.ranks_here.begin()));
      }
      node.peers = memory.peers.among(numbers);
    }
    if (!s.processes && parent.surroundings().node != nullptr) {
      node.peers = parent.surroundings().node->peers;
    }
    if (number == 0) {
      Doorbells::initialise(bells, team.size());
      board_of(node, options.chunk_bytes).initialise(options.first_epoch);
    }
    s.node = &node;
  } else {
    s.why_no_shared_memory = "not all ranks of the group share memory: take MpiTransport";
  }
  auto core = std::make_unique<TeamCore>(std::move(s), parent.transports(), options);
  core->set_oversubscribed(parent.waiter().oversubscribed);
  core->belong_to(parent, members);
  return core;
}

}  // namespace detail

/// Divides a team as planned. Local; the first rank of each inner team prepares its memory, which
/// begins as zeros, and the ranks must meet before they use it.
inline void divide(TeamCore& core, const HierarchyPlans& plans,
                   const detail::HierarchyMemory& memory, std::size_t level = 0) {
  if (level == plans.plans().size()) return;
  const HierarchyPlan& plan = plans.plans()[level];
  const int group = plan.groups.group_of(core.rank());
  const std::vector<int>& members = plan.groups.ranks_of(group);
  auto d = std::make_shared<Hierarchy>();
  d->groups = plan.groups;
  d->by_caches = plans.by_caches();
  for (std::size_t l = level; l < plans.plans().size(); ++l) {
    const HierarchyPlan& p = plans.plans()[l];
    d->levels.push_back({p.all_share, p.inter.shares, p.groups.largest(), p.groups.count()});
  }
  if (members.size() > 1) {
    d->intra =
        detail::make_inner(core, plan.intra[static_cast<std::size_t>(group)], members,
                           plan.groups.number_of(core.rank()), d->node_within, plans, memory);
    if (level == 0) {  // of the teams that this rank is in, one may lend the pool
      d->node_within.pool = memory.pool;
      d->node_within.pool_bytes = memory.pool_bytes;
      d->node_within.take_pool = memory.take_pool;
      d->node_within.give_pool_back = memory.give_pool_back;
    }
  }
  if (members.front() == core.rank()) {
    std::vector<int> representatives;
    representatives.reserve(static_cast<std::size_t>(plan.groups.count()));
    for (int g = 0; g < plan.groups.count(); ++g) {
      representatives.push_back(plan.groups.representative(g));
    }
    d->inter = detail::make_inner(core, plan.inter, representatives, group, d->node_between, plans,
                                  memory);
    divide(*d->inter, plans, memory, level + 1);
  }
  TeamCore* const intra = d->intra.get();
  TeamCore* const inter = d->inter.get();
  const bool helps = d->levels.front().intra && d->groups.count() < core.size();
  core.divide(std::move(d), intra, inter, helps);
}

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
