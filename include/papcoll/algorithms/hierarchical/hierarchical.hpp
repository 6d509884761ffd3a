// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/buffer_view.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/schedule/schedule_traits.hpp>
#include <papcoll/topology/groups.hpp>

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI {

/// One algorithm within the nodes and another among their representatives.
///
/// `Intra` and `Inter` are whole algorithms: Policies<DynamicLeader, ShmTransport>, or one policy
/// alone; `Inter` may be another Hierarchical, for nodes that are grouped themselves. It fills the
/// slots of arrival policy, schedule and transport. A phase that a part does not serve
/// (ReduceScatterGather serves no bcast) runs by what is chosen for it on the part's transport.
///
///     Hierarchical<Policies<DynamicLeader, ShmTransport>, Policies<Rabenseifner, MpiTransport>>
///     "Hierarchical:DynamicLeader+ShmTransport,Rabenseifner+MpiTransport"
///
/// Hierarchical reduce-scatter-allgather, Alizadeh's algorithm (see Source), is
///     "Hierarchical:ReduceScatterGather+ShmTransport,Rabenseifner+MpiTransport".
///
/// Parts may be in predicted order: "Hierarchical:SplitTail,StragglAR" learns which node is late.
///
/// The nodes are those of the machine, or what Options::groups says. The representative of a node
/// is its lowest rank, always: ranks of other nodes cannot address one that comes to be known late.
/// Only within the node is a leader found by arrival, and a node's part is complete only when all
/// its ranks have arrived.
///
/// Phases:
///   allreduce       reduce in each node; allreduce of the representatives; bcast in each node
///   reduce          reduce in each node; reduce of the representatives to that of the root's node,
///                   which hands the result to the root
///   bcast           bcast in the root's node; bcast of the representatives; bcast in the others
///   allgather       gather in each node; allgather of the representatives; bcast in each node
///   reduce_scatter  reduce in each node; reduce_scatter of the representatives; scatter in each
///   gather          gather in each node; gather of the representatives; the last hop, as in reduce
///   scatter         the way of gather backwards
///   barrier         barrier in each node; barrier of the representatives; barrier in each node
///   alltoall        gather in each node; alltoall of the representatives, each block of which is
///                   all that one node has for another; scatter in each node
///   scan, exscan    reduce in each node; exscan of the representatives, who put what they get
///                   before their own contributions; scan, or exscan, in each node
/// Cost: that of the phases, one after the other, of which the first and the last run in all nodes
///   at once. An allreduce of m bytes by Rabenseifner or Ring takes 2(N−1)/N·m each way over the
///   link of each of N nodes, among the representatives as among all ranks, if these are in order
///   of nodes; but messages between nodes are those of N ranks, not of all. After the last node has
///   come, no less than m must pass its link each way, and StragglAR takes little more, if it is
///   the node that was expected last.
/// Cost of an alltoall among N nodes of k ranks, P = kN, with blocks of b bytes: N−1 messages of
///   k²b bytes from each node, where a flat schedule that sends each block by itself has k²(N−1) of
///   b bytes. As many bytes pass a node's link, k²(N−1)b each way: no less is possible. Within the
///   node each of kPb bytes is copied four times on its way out and in, by the members or by the
///   representative: gathered, put in order of nodes, put in order of receivers, scattered. So it
///   pays for short blocks among many ranks of a node. Where blocks differ, members first tell the
///   representative 2P lengths each, and the messages between nodes begin with k² of them.
/// Cost of a scan: a reduce and a scan within the node, and of m bytes one exscan among N ranks,
///   where flat schedules have k messages of a node under way in each of their rounds.
/// Prefer it across nodes for small calls, where a message between nodes costs many of those
///   within, and where ranks of one node come at different times: nodes do their part when they are
///   complete, and only representatives wait for each other. Flat Rabenseifner or Ring lead for
///   large balanced calls, in which all ranks drive the network.
/// Limits: blocking calls only. If the ranks of a node are not neighbours in rank order, and the
///   call is a scan or exscan or the operator does not commute, Inter runs among all ranks instead.
///   On one node, not divided, only Intra runs. In gatherv and scatterv all ranks must know all
///   lengths.
///
///     two nodes, ranks 0 1 2 and 3 4; [02] is combined of ranks 0 to 2
///                        0      1      2          3      4
///     contributions      0      1      2          3      4
///     reduce             [02]   1      2          [34]   4
///     allreduce          [04]   1      2          [04]   4
///     bcast              [04]   [04]   [04]       [04]   [04]
///
/// Source: P. Alizadeh, MASc thesis, Queen's University, 2021, ch. 6: reduce-scatter-gather in each
///   node, Rabenseifner among leaders, bcast. Leaders by arrival: B. S. Parsons
///   and V. S. Pai, "Exploiting Process Imbalance to Improve MPI Collective Operations in
///   Hierarchical Systems", ICS 2015.
template <class Intra, class Inter> struct Hierarchical {
  using policy_kind = SchedulePolicyKind;
  using intra = Intra;  ///< the algorithm within groups
  using inter = Inter;  ///< the algorithm among representatives
  static constexpr std::string_view name = "Hierarchical";
};

/// The name in listings, and in names of algorithms.
inline constexpr std::string_view hierarchical_name = "Hierarchical";

/// Returns true if there are phases for the collective: for every one.
constexpr bool hierarchical_serves(Collective) noexcept { return true; }
/// One sentence about it, for listings.
inline constexpr std::string_view hierarchical_sentence =
    "One algorithm within each node, another among one representative of each.";
/// Its parameters, for listings.
inline constexpr std::array hierarchical_parameters{
    Parameter{"within nodes", "auto", 0, "an algorithm"},
    Parameter{"among nodes", "auto", 0, "an algorithm, or several, from the inside out"}};

/// What a hierarchical collective may ask of its team. Roots are numbers within the group, or of
/// groups. Calls with counts are also allgathers, gathers, scatters and alltoalls; with
/// local_counts, each rank knows those of its own blocks only.
class HierarchyTeam : Pinned {
 public:
  virtual ~HierarchyTeam() = default;

  virtual const Groups& groups() const = 0;
  virtual int rank() const = 0;
  /// A rank as messages call it.
  virtual int user_rank(int rank) const = 0;
  /// Returns true if the algorithm that is named for groups serves the collective.
  virtual bool serves_intra(Collective c) const = 0;
  /// Runs a call among this rank's group.
  virtual void intra(const Call& call) = 0;
  /// Runs a call among the representatives, of which this rank is one.
  virtual void inter(const Call& call) = 0;
  /// Moves the elements of `call.in` on rank `from` of this group to `call.out` on rank `to`; all
  /// of the group call.
  virtual void hop(int from, int to, const Call& call) = 0;
  /// Memory of this rank until the end of the call; four pieces, `which` is 0, 1, 2 or 3.
  virtual std::byte* memory(int which, std::size_t bytes) = 0;
  /// Copies between any of these buffers of this rank.
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (records_copies_) [[unlikely]]
      return record_copy(to, from, bytes);
    if (bytes == 0) return;
    detail::with_known_bytes(bytes, [&](std::size_t n) { std::memcpy(to, from, n); });
  }

 protected:
  /// `records_copies`: nothing is moved, but told to record_copy().
  explicit HierarchyTeam(bool records_copies = false) noexcept : records_copies_(records_copies) {}

 private:
  virtual void record_copy(std::byte* /*to*/, const std::byte* /*from*/, std::size_t /*bytes*/) {}

  bool records_copies_;
};

namespace detail {

template <Collective... Cs> using PhaseList = std::type_identity<CollectiveList<Cs...>>;

/// The collectives that the phases of a hierarchical collective are.
template <Collective C> struct PhasesOf : PhaseList<C> {};
template <>
struct PhasesOf<Collective::allreduce>
    : PhaseList<Collective::reduce, Collective::allreduce, Collective::bcast> {};
template <>
struct PhasesOf<Collective::allgather>
    : PhaseList<Collective::gather, Collective::allgather, Collective::bcast> {};
template <>
struct PhasesOf<Collective::reduce_scatter>
    : PhaseList<Collective::reduce, Collective::reduce_scatter, Collective::scatter> {};
template <>
struct PhasesOf<Collective::alltoall>
    : PhaseList<Collective::gather, Collective::alltoall, Collective::scatter> {};
template <>
struct PhasesOf<Collective::scan>
    : PhaseList<Collective::reduce, Collective::exscan, Collective::scan> {};
template <>
struct PhasesOf<Collective::exscan> : PhaseList<Collective::reduce, Collective::exscan> {};

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI
