// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/waiting/doorbells.hpp>
#include <papcoll/runtime/setup/division.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/topology/groups.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/transport/shm/channels.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

// A team may be divided in groups, as those of the nodes of a communicator: each rank then has a
// team with the others of its group, and each group's representative one with all representatives,
// which may be divided again. A team whose ranks are on one node has memory of its own there;
// messages go by the outermost team's endpoints, so no further MPI communicator is made.

/// A team within a team: which ranks, and where their memory is.
struct InnerTeam {
  std::vector<int> ranks;    ///< as ranks of the outermost team, ascending
  bool shares = false;       ///< they have memory in common
  bool here = false;         ///< and that of this process
  detail::NodeBytes before;  ///< of that memory for other teams

  int size() const noexcept { return static_cast<int>(ranks.size()); }
};

/// One hierarchy of a team, as all ranks see it.
struct HierarchyPlan {
  Groups groups;
  detail::Vector<InnerTeam> intra;  ///< of each group
  InnerTeam inter;
  bool all_share = true;  ///< every group of more than one rank has memory
};

/// The hierarchy of a team, the inmost first, and the memory that this process's node needs for
/// them.
class HierarchyPlans {
 public:
  HierarchyPlans() = default;

  /// `node_of`: the node of each rank, −1 where ranks cannot share memory; `here` is this
  /// process's.
  /// `by_caches`: see Hierarchy.
  [[gnu::cold]] HierarchyPlans(const GroupColours& levels, const std::vector<int>& node_of,
                               int here, std::size_t chunk_bytes, bool by_caches = false)
      : by_caches_(by_caches),
        chunk_bytes_(by_caches ? std::min(chunk_bytes, detail::Division::chunk_bytes_by_caches)
                               : chunk_bytes) {
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

  const detail::Vector<HierarchyPlan>& plans() const noexcept { return plans_; }
  bool by_caches() const noexcept { return by_caches_; }
  std::size_t chunk_bytes() const noexcept { return chunk_bytes_; }
  const detail::NodeBytes& bytes() const noexcept { return bytes_; }

 private:
  [[gnu::cold]] InnerTeam inner_team(std::vector<int> ranks, const std::vector<int>& node_of,
                                     int here) {
    InnerTeam t;
    t.ranks = std::move(ranks);
    const auto node = [&](int r) { return node_of[static_cast<std::size_t>(r)]; };
    const int first = node(t.ranks.front());
    t.shares =
        t.size() == 1 || (first >= 0 && std::all_of(t.ranks.begin(), t.ranks.end(),
                                                    [&](int r) { return node(r) == first; }));
    t.here = t.size() > 1 && t.shares && first == here;
    if (!t.here) return t;
    t.before = bytes_;
    bytes_ += detail::inner_bytes(t.size(), chunk_bytes_);
    return t;
  }

  bool by_caches_ = false;
  std::size_t chunk_bytes_ = cache_line;
  detail::NodeBytes bytes_;
  detail::Vector<HierarchyPlan> plans_;
};

/// A team's hierarchy as one rank of it sees it.
struct Hierarchy : Pinned {
  ~Hierarchy() {
    const auto may_still_access_buffers = [](const auto& team) {
      return team && team->may_still_access_buffers();
    };
    if (!may_still_access_buffers(intra) && !may_still_access_buffers(inter)) return;
    for (detail::KeptMemory& m : memory) m.leak();
  }

  Groups groups;
  /// The groups are those of cache_groups() on one node, which only calls that name no algorithm go
  /// by: to Hierarchical by name, all ranks of a node are one group.
  bool by_caches = false;
  std::array<detail::KeptMemory, 4> memory;  ///< of calls
  struct Level {
    bool intra;   ///< all groups have memory of their own
    bool inter;   ///< so have the representatives
    int largest;  ///< ranks of the largest group
    int groups;
  };
  detail::Vector<Level> levels;  ///< of this hierarchy and of those above it
  detail::Shared<const HierarchyPlans> plans;
  std::size_t level = 0;  ///< of them, this one's
  // Made by the first call that runs by them.
  Node node_within;
  Node node_between;
  detail::Owned<TeamCore> intra;  ///< null if this rank is alone in its group
  detail::Owned<TeamCore> inter;  ///< null if this rank does not represent its group
  bool has_teams = false;
};

namespace detail {

/// This rank's part of a team within `parent`; ranks of it are `members` of the parent.
[[gnu::cold]] inline Owned<TeamCore> make_inner(TeamCore& parent, const InnerTeam& team,
                                                const std::vector<int>& members, int number,
                                                Node& node, std::size_t chunk_bytes,
                                                const HierarchyMemory& memory) {
  const TeamEnvironment& outer = parent.environment();
  TeamEnvironment environment;
  environment.transports = outer.transports;
  environment.rank = number;
  environment.size = team.size();
  environment.nodes = team.shares ? 1 : team.size();
  environment.processes = outer.processes;
  environment.mpi = outer.mpi;
  if (outer.machine != nullptr) {
    environment.machine = detail::make_shared<const MachineOnDemand>(outer.machine, members);
    if (team.here) node.groups = cache_groups(environment.machine->places());
  }
  Options options = parent.options();
  options.chunk_bytes = chunk_bytes;
  if (team.here) {
    node.rank = number;
    node.size = team.size();
    lay_out(node, memory.heads + team.before.heads, memory.late + team.before.late,
            options.chunk_bytes);
    if (environment.processes) {
      std::vector<std::size_t> numbers;  // on the node
      for (const int r : team.ranks) {
        const auto at = std::lower_bound(memory.ranks_here.begin(), memory.ranks_here.end(), r);
        numbers.push_back(static_cast<std::size_t>(at - memory.ranks_here.begin()));
      }
      node.peers = node.peers.among(numbers);
    }
    NodeControlBlock control = control_block_of(node, options.chunk_bytes);
    if (number == 0) {
      Doorbells::initialise(node.bells, team.size());
      control.initialise(options.first_epoch);
      is_initialised(node).store(1, std::memory_order_release);
    }
    if (node.pages != nullptr) node.pages->watch(control.abort().reason);
    environment.node = &node;
  } else {
    environment.why_no_shared_memory = "not all ranks of the group share memory: take MpiTransport";
  }
  auto core = make_owned<TeamCore>(std::move(environment), options);
  core->set_oversubscribed(parent.waiter().oversubscribed);
  core->belong_to(parent, members);
  return core;
}

/// Sets the hierarchy that is planned for a team; its teams are made later.
inline Hierarchy& plan_teams(TeamCore& core, Shared<const HierarchyPlans> plans,
                             std::size_t level = 0) {
  auto h = detail::make_shared<Hierarchy>();
  h->groups = plans->plans()[level].groups;
  h->by_caches = plans->by_caches();
  for (std::size_t l = level; l < plans->plans().size(); ++l) {
    const HierarchyPlan& p = plans->plans()[l];
    h->levels.push_back({p.all_share, p.inter.shares, p.groups.largest(), p.groups.count()});
  }
  h->plans = std::move(plans);
  h->level = level;
  const bool helps = h->levels.front().intra && h->groups.count() < core.size();
  Hierarchy& planned = *h;
  core.set_hierarchy(std::move(h), helps);
  return planned;
}

/// Makes the teams of a hierarchy as far as this rank is in them, and theirs, and keeps the control
/// blocks that others initialise in `control_blocks`. Local.
[[gnu::cold]] inline void make_teams(TeamCore& core, Hierarchy& h, const HierarchyMemory& memory,
                                     Vector<std::atomic<std::uint32_t>*>& control_blocks) {
  const HierarchyPlan& plan = h.plans->plans()[h.level];
  const std::size_t chunk_bytes = h.plans->chunk_bytes();
  const int group = plan.groups.group_of(core.rank());
  const std::vector<int>& members = plan.groups.ranks_of(group);
  const auto make = [&](const InnerTeam& team, const std::vector<int>& ranks, int number,
                        Node& node) {
    node = memory.outer;
    // Of the teams that this rank is in, one may expose the pool.
    if (h.level != 0 || &node != &h.node_within) node.set_pool(nullptr, 0);
    auto made = make_inner(core, team, ranks, number, node, chunk_bytes, memory);
    if (team.here) control_blocks.push_back(&is_initialised(node));
    return made;
  };
  if (members.size() > 1) {
    h.intra = make(plan.intra[static_cast<std::size_t>(group)], members,
                   plan.groups.number_of(core.rank()), h.node_within);
  }
  if (members.front() == core.rank()) {
    std::vector<int> representatives;
    representatives.reserve(static_cast<std::size_t>(plan.groups.count()));
    for (int g = 0; g < plan.groups.count(); ++g) {
      representatives.push_back(plan.groups.representative(g));
    }
    h.inter = make(plan.inter, representatives, group, h.node_between);
    if (h.level + 1 < h.plans->plans().size()) {
      make_teams(*h.inter, plan_teams(*h.inter, h.plans, h.level + 1), memory, control_blocks);
    }
  }
  core.set_teams_within(h.intra.get(), h.inter.get());
  h.has_teams = true;
}

/// Creates the teams, and waits until all their control blocks are initialised.
[[gnu::cold]] inline void make_teams(TeamCore& core, Hierarchy& h, const HierarchyMemory& memory) {
  Vector<std::atomic<std::uint32_t>*> control_blocks;
  make_teams(core, h, memory, control_blocks);
  core.waiter().until(
      [&control_blocks] {
        return std::all_of(control_blocks.begin(), control_blocks.end(),
                           [](const auto* initialised) {
                             return initialised->load(std::memory_order_acquire) != 0;
                           });
      },
      Naps::none);
}

}  // namespace detail

/// A team's hierarchy, which all ranks know without a message; null if it is not divided. Its teams
/// are there once make_teams_of() was called.
inline Hierarchy* hierarchy_of(TeamCore& core) {
  detail::Division* const d = core.division;
  if (core.hierarchy() != nullptr || d == nullptr || d->is_planned) return core.hierarchy();
  d->is_planned = true;
  const Options& options = core.options();
  const bool by_caches = options.groups.empty() && d->caches != nullptr;
  GroupColours levels = options.groups;
  if (by_caches) {
    levels = {d->caches->of};
  } else if (levels.empty() && core.environment().nodes > 1) {
    levels = {d->nodes};
  }
  if (levels.empty()) return nullptr;
  if (!d->shares_memory) d->nodes.assign(d->nodes.size(), -1);
  return &detail::plan_teams(core, detail::make_shared<const HierarchyPlans>(
                                       levels, d->nodes, d->here, options.chunk_bytes, by_caches));
}

/// Makes the teams of a hierarchy at the first call that runs by them: called by all ranks of the
/// team, in that call's phases, where a death on the node is seen while they wait.
inline void make_teams_of(TeamCore& core) {
  Hierarchy& h = *core.hierarchy();
  if (!h.has_teams) detail::make_teams(core, h, core.division->memory);
}

}  // namespace papcoll::inline PAPCOLL_ABI
