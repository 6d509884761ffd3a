// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <concepts>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI {

class TeamCore;

/// The TeamCore of whatever a collective accepts as its first argument: a Communicator, a
/// ThreadTeam::Rank, or (if communicator.hpp is included) a bare MPI_Comm.
template <class C> struct TeamOf {
  static TeamCore& core(C& team) requires requires {
    { team.core() } -> std::same_as<TeamCore&>;
  }
  { return team.core(); }
  /// Makes further transports of such a team available by name.
  static void offer_transports(TeamCore& core) requires requires { C::offer_transports(core); }
  { C::offer_transports(core); }
  /// Makes messages between devices through the host available.
  static void offer_notifying_messages(TeamCore& core) requires requires {
    C::offer_notifying_messages(core);
  }
  { C::offer_notifying_messages(core); }
};

/// What a collective accepts as its first argument.
template <class C> concept Team = requires(std::remove_cvref_t<C>& c) {
  { TeamOf<std::remove_cvref_t<C>>::core(c) } -> std::same_as<TeamCore&>;
};

namespace detail {

template <class C> TeamCore& core_of(C&& team) {
  return TeamOf<std::remove_cvref_t<C>>::core(const_cast<std::remove_cvref_t<C>&>(team));
}

/// For a call that is given an Algorithm, which may name any transport of a team of type C.
template <class C> void offer_transports(TeamCore& core) {
  using Of = TeamOf<std::remove_cvref_t<C>>;
  if constexpr (requires { Of::offer_transports(core); }) Of::offer_transports(core);
}

/// The team of a call on device memory.
template <class C> TeamCore& core_for_devices(C&& team) {
  TeamCore& core = core_of(team);
  using Of = TeamOf<std::remove_cvref_t<C>>;
  if constexpr (requires { Of::offer_notifying_messages(core); })
    Of::offer_notifying_messages(core);
  return core;
}

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI
