#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/topology/groups.hpp>

#include <cstddef>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI {

/// What a hierarchical collective may ask of its team. Roots are numbers within the group, or of
/// groups. Calls with counts are also allgathers, gathers, scatters and alltoalls; with own_counts,
/// each rank knows those of its own blocks only.
class HierarchyTeam : Pinned {
 public:
  virtual ~HierarchyTeam() = default;

  virtual const Groups& groups() const = 0;
  virtual int rank() const = 0;
  /// A rank as messages call it.
  virtual int shown(int rank) const = 0;
  /// Can the algorithm named for groups do this by itself?
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
};

namespace detail {

/// The collectives that the phases of a hierarchical collective are.
template <Collective C>
struct PhasesOf : std::type_identity<CollectiveList<C>> {};
template <>
struct PhasesOf<Collective::allreduce>
    : std::type_identity<
          CollectiveList<Collective::reduce, Collective::allreduce, Collective::bcast>> {};
template <>
struct PhasesOf<Collective::allgather>
    : std::type_identity<
          CollectiveList<Collective::gather, Collective::allgather, Collective::bcast>> {};
template <>
struct PhasesOf<Collective::reduce_scatter>
    : std::type_identity<
          CollectiveList<Collective::reduce, Collective::reduce_scatter, Collective::scatter>> {};
template <>
struct PhasesOf<Collective::alltoall>
    : std::type_identity<
          CollectiveList<Collective::gather, Collective::alltoall, Collective::scatter>> {};
template <>
struct PhasesOf<Collective::scan>
    : std::type_identity<CollectiveList<Collective::reduce, Collective::exscan, Collective::scan>> {
};
template <>
struct PhasesOf<Collective::exscan>
    : std::type_identity<CollectiveList<Collective::reduce, Collective::exscan>> {};

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI
