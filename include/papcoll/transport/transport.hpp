// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/node/call_context.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/node_context.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/topology/machine_on_demand.hpp>
#include <papcoll/transport/rma/remote_atomics.hpp>
#include <papcoll/transport/transport_policy.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

class MpiLink;

namespace detail {
/// peer_lost, and who.
struct lost_rank : peer_lost {
  lost_rank(const std::string& text, int rank_) : peer_lost(text), rank(rank_) {}
  int rank;
};

// Why a team is lost, in a number as NodeControlBlock::Abort::reason.

inline bool somebody_gave_up(std::uint32_t reason) noexcept {
  return (reason & NodeControlBlock::Abort::revoked) == NodeControlBlock::Abort::gave_up;
}
inline bool is_revoked(std::uint32_t reason) noexcept {
  return reason != NodeControlBlock::Abort::deadline &&
         (reason & NodeControlBlock::Abort::revoked) == NodeControlBlock::Abort::revoked;
}
[[noreturn, gnu::cold]] inline void throw_lost(std::uint32_t reason, const std::string& why) {
  if (reason == NodeControlBlock::Abort::deadline) throw deadline_exceeded(why);
  if (somebody_gave_up(reason)) throw peer_error(why);
  if (is_revoked(reason)) throw peer_lost(why);
  throw lost_rank(why, static_cast<int>(reason) - 1);
}
}  // namespace detail

/// Makes a rank's endpoint for messages between buffers of the host that calls a function for each
/// send or receive that is complete, instead of its owner; the function is called by progress().
using MakeNotifyingEndpoint =
    std::function<std::unique_ptr<Endpoint>(std::function<void(const TransportOp&)>)>;

struct TransportTable;

/// What a team offers to transports: where its ranks are and what they share.
struct TeamEnvironment {
  /// The transports by which calls may run; the memory that the processes of a node share is not
  /// among them. The first serves every call, and carries what ranks agree on if they share no
  /// control block.
  std::span<const TransportTable* const> transports{};
  int rank = 0;                ///< this one
  int size = 1;                ///< ranks of the team
  int nodes = 1;               ///< nodes the team's ranks are on
  const Node* node = nullptr;  ///< memory shared by all ranks of the team, or null
  const Node* partial_node =
      nullptr;  ///< and by those on this one's node, if they are not all; or null
  /// The ranks on this one's node, ascending: rank i of the node is the team's rank ranks_here[i].
  /// Empty: all, or unknown.
  std::vector<int> ranks_here{};
  bool processes = true;             ///< the ranks are processes, not threads of one
  MpiLink* mpi = nullptr;            ///< the team's private communicator, or null
  MakeNotifyingEndpoint messages{};  ///< over that one, or empty
  /// Where the ranks sit; null if nothing is known.
  detail::Shared<const MachineOnDemand> machine{};
  std::string why_no_shared_memory;  ///< if node is null: why
  std::string why_no_cma;            ///< why processes of a node cannot copy from each other, if so
};

/// How bytes and signals move between the ranks of a team.
///
/// Required: `policy_kind = TransportPolicyKind`; `name`; `offers`, capability bits;
/// `wakes_receivers`, true if a message wakes a sleeping receiver; `unavailable(environment)`, why
/// it cannot serve this team, empty if it can; `connect(environment)`, this rank's endpoint for
/// plans. connect is called by all ranks of the team at once and may communicate. If it offers
/// node_memory: `Context`, the type that arrival-driven algorithms run on over it, see
/// ProvidesCallContext. If it offers remote_tickets: `open_atomics(environment, n, tickets)`, this
/// rank's view of n words on each rank, n being RemoteTicketCounter::words(size); called like
/// connect. Throws transport_unavailable, on all ranks; what one rank alone throws breaks the team.
template <class T>
concept TransportPolicy = PolicyOfKind<T, TransportPolicyKind> &&
    requires(const TeamEnvironment& environment) {
  { T::name } -> std::convertible_to<std::string_view>;
  { T::offers } -> std::convertible_to<unsigned>;
  { T::wakes_receivers } -> std::convertible_to<bool>;
  { T::unavailable(environment) } -> std::same_as<std::string>;
  { T::connect(environment) } -> std::same_as<std::unique_ptr<Endpoint>>;
};

/// A transport over which arrival-driven algorithms run. Its `Context` is NodeContext, which every
/// team on one node has, or a type of its own with `make_context(environment, node)`, this rank's
/// call context in the team whose NodeContext is `node`. It ends before its arguments and before
/// MPI. make_context is called once for a team, by all ranks at once, within the first call
/// that needs it, after their calls were compared. It may communicate by means of its own. It
/// throws transport_unavailable on all ranks, and the call fails; what one rank alone throws breaks
/// the team. examples/10_write_your_own_context.cpp is such a transport.
template <class T>
concept ProvidesCallContext = CallContext<typename T::Context> &&
    (std::same_as<typename T::Context, NodeContext> ||
     requires(const TeamEnvironment& environment, NodeContext& node) {
       { T::make_context(environment, node) } -> std::same_as<std::unique_ptr<typename T::Context>>;
     });

/// A transport policy without its type.
struct TransportTable {
  std::string_view name;
  unsigned offers;
  bool wakes_receivers;
  std::string (*unavailable)(const TeamEnvironment&);
  std::unique_ptr<Endpoint> (*connect)(const TeamEnvironment&);
  std::unique_ptr<RemoteAtomics> (*open_atomics)(const TeamEnvironment&, std::size_t,
                                                 RemoteTickets) = nullptr;
  /// What arrival-driven algorithms run on; of no type if it only has messages.
  ContextType context{};
  /// Makes a rank's call context of that type; null: it is NodeContext, and the team has one.
  detail::Shared<void> (*make_context)(const TeamEnvironment&, NodeContext&) = nullptr;

  /// Returns true if it serves what is compiled for NodeContext, as are all algorithms that papcoll
  /// chooses.
  bool takes_node_context() const noexcept { return context == ContextType::of<NodeContext>(); }
};

namespace detail {

template <class T>
constexpr auto open_words_of() noexcept -> decltype(TransportTable::open_atomics) {
  if constexpr ((T::offers & capability::remote_tickets) != 0) {
    return &T::open_atomics;
  } else {
    return nullptr;
  }
}

/// Refuses a transport's call context if anything is wrong with it, with one sentence for each
/// fault.
template <class T> void check_context() noexcept {
  if constexpr (offers_node_memory<T>) {
    constexpr bool names_it = requires { typename T::Context; };
    static_assert(
        names_it,
        "papcoll: this transport offers node memory and does not name the call context of "
        "arrival-driven algorithms over it: add `using Context = papcoll::NodeContext`, or a "
        "type of its own, or do not offer capability::node_memory");
    if constexpr (names_it) {
      constexpr bool is_complete = CallContext<typename T::Context>;
      static_assert(
          is_complete,
          "papcoll: the Context of this transport lacks something that arrival-driven "
          "algorithms ask: derive it from papcoll::ForwardingContext, or declare all that "
          "the concept papcoll::CallContext lists");
      static_assert(
          !is_complete || ProvidesCallContext<T>,
          "papcoll: this transport has a Context of its own and nothing that makes it: add "
          "static std::unique_ptr<Context> make_context(const papcoll::TeamEnvironment&, "
          "papcoll::NodeContext&)");
    }
  }
}

template <class T>
Shared<void> make_context_of(const TeamEnvironment& environment, NodeContext& node) {
  auto made =
      detail::make_shared<std::unique_ptr<typename T::Context>>(T::make_context(environment, node));
  auto* const context = made->get();
  return {std::move(made), context};
}

template <TransportPolicy T> constexpr TransportTable transport_table_of() noexcept {
  TransportTable table{T::name,         T::offers,   T::wakes_receivers,
                       &T::unavailable, &T::connect, open_words_of<T>()};
  if constexpr (offers_node_memory<T> && ProvidesCallContext<T>) {
    using OwnContext = typename T::Context;
    table.context = ContextType::of<OwnContext>();
    if constexpr (!std::same_as<OwnContext, NodeContext>) table.make_context = &make_context_of<T>;
  }
  return table;
}

}  // namespace detail

/// A transport policy without its type, for the library.
template <TransportPolicy T>
inline constexpr TransportTable transport_table = detail::transport_table_of<T>();

namespace detail {

template <class T> const TransportTable& table_of_transport() noexcept {
  check_context<T>();
  return transport_table<T>;
}

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
