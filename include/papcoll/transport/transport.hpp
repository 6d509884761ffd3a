#pragma once

#include <papcoll/base/capability.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/error.hpp>
#include <papcoll/plan/endpoint.hpp>
#include <papcoll/transport/node.hpp>
#include <papcoll/transport/rma/remote_words.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace papcoll {
inline namespace PAPCOLL_ABI {

class MpiLink;

/// What a rank tells its peers where no shared memory can.
enum class PeerNotice : int {
  invalid_call = -2,  ///< its call was invalid; the team goes on if all made such a call
  gave_up = -1,       ///< it cannot go on
  lost = 0,           ///< 0 and above: this rank of the outermost team died
};

namespace detail {
/// peer_lost, and who.
struct lost_rank : peer_lost {
  lost_rank(const std::string& text, int rank_) : peer_lost(text), rank(rank_) {}
  int rank;
};
}  // namespace detail

/// What a team offers to transports: where its ranks are and what they share.
struct Surroundings {
  int rank = 0;                ///< this one
  int size = 1;                ///< ranks of the team
  int nodes = 1;               ///< nodes the team's ranks are on
  const Node* node = nullptr;  ///< memory shared by all ranks of the team, or null
  const Node* partial_node =
      nullptr;             ///< and by those on this one's node, if they are not all; or null
  bool processes = true;   ///< the ranks are processes, not threads of one
  MpiLink* mpi = nullptr;  ///< the team's private communicator, or null
  std::string why_no_shared_memory;  ///< if node is null: why
  std::string why_no_cma;            ///< why processes of a node cannot copy from each other, if so
};

/// How bytes and signals move between the ranks of a team.
///
/// Required: `policy_kind = TransportPolicyKind`; `name`; `offers`, capability bits; `rings`,
/// whether a message wakes a sleeping receiver; `unavailable(surroundings)`, why it cannot serve
/// this team, or nothing if it can; `connect(surroundings)`, this rank's endpoint for plans.
/// connect is called by all ranks of the team at once and may communicate.
/// If it offers remote_tickets: `open_words(surroundings, n, tickets)`, this rank's view of n words
/// on each rank; called like connect. Throws transport_unavailable, on all ranks.
template <class T>
concept TransportPolicy = PolicyOfKind<T, TransportPolicyKind> && requires(const Surroundings& s) {
  { T::name } -> std::convertible_to<std::string_view>;
  { T::offers } -> std::convertible_to<unsigned>;
  { T::rings } -> std::convertible_to<bool>;
  { T::unavailable(s) } -> std::same_as<std::string>;
  { T::connect(s) } -> std::same_as<std::unique_ptr<Endpoint>>;
};

/// A transport policy without its type.
struct TransportTable {
  std::string_view name;
  unsigned offers;
  bool rings;
  std::string (*unavailable)(const Surroundings&);
  std::unique_ptr<Endpoint> (*connect)(const Surroundings&);
  std::unique_ptr<RemoteWords> (*open_words)(const Surroundings&, std::size_t,
                                             RemoteTickets) = nullptr;
};

namespace detail {

template <class T>
constexpr auto open_words_of() noexcept -> decltype(TransportTable::open_words) {
  if constexpr ((T::offers & capability::remote_tickets) != 0) {
    return &T::open_words;
  } else {
    return nullptr;
  }
}

}  // namespace detail

/// A transport policy without its type, for the library.
template <TransportPolicy T>
inline constexpr TransportTable transport_table{
    T::name, T::offers, T::rings, &T::unavailable, &T::connect, detail::open_words_of<T>()};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
