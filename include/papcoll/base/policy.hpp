// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI {

/// What a collective promises about the bits of its result, weakest first.
enum class NumericalContract : unsigned char {
  fast,             ///< ranks may differ in the last bits
  rank_consistent,  ///< all ranks get the same bits
  reproducible,  ///< bits depend only on inputs, operator, type, count and placement of the ranks
};

/// What a contract means for those who run calls. What else a contract takes:
/// docs/extending/writing_a_contract.md.
struct ContractTraits {
  std::string_view name;     ///< as in algorithms' names
  std::string_view promise;  ///< for refusals: the name, and what is promised
  bool same_on_all;          ///< all ranks get the same bits
  bool by_arrivals;          ///< bits, and the algorithm, may depend on who arrives when
  /// True if they may depend on anything else that differs from run to run: what calls cost, where
  /// buffers are, what else runs.
  bool by_conditions;
  bool in_rank_order;  ///< contributions are combined in rank order
};

/// The traits of all contracts, by their values.
inline constexpr std::array contracts{
    ContractTraits{"Fast", "Fast, by which ranks may differ in the last bits", false, true, true,
                   false},
    ContractTraits{"RankConsistent", "RankConsistent, by which all ranks get the same bits", true,
                   true, true, false},
    ContractTraits{"Reproducible", "Reproducible, by which bits must not depend on arrivals", true,
                   false, false, true},
};

/// Returns the traits of a contract.
constexpr const ContractTraits& traits_of(NumericalContract c) noexcept {
  return contracts[static_cast<std::size_t>(c)];
}

/// "Reproducible"
constexpr std::string_view name_of(NumericalContract c) noexcept { return traits_of(c).name; }

/// Of calls that name no contract.
inline constexpr NumericalContract default_contract = NumericalContract::rank_consistent;

/// The contract that promises most: kept where nothing is combined. An algorithm that combines does
/// not keep it unless it says so: a stronger contract may be added.
inline constexpr auto strongest_contract = static_cast<NumericalContract>(contracts.size() - 1);

/// Returns true if an algorithm that keeps one contract serves calls of another.
constexpr bool keeps(NumericalContract kept, NumericalContract asked) noexcept {
  return asked <= kept;
}

/// Returns true if contributions are combined in rank order, whatever the operator.
constexpr bool needs_rank_order(NumericalContract c) noexcept { return traits_of(c).in_rank_order; }

/// The contract of that name, or nothing.
constexpr std::optional<NumericalContract> contract_named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < contracts.size(); ++i) {
    if (contracts[i].name == name) return static_cast<NumericalContract>(i);
  }
  return {};
}

/// "Fast, RankConsistent or Reproducible", for messages.
[[gnu::cold]] inline std::string contract_choices() {
  std::string text;
  for (std::size_t i = 0; i < contracts.size(); ++i) {
    if (i > 0) text += i + 1 < contracts.size() ? ", " : " or ";
    text += contracts[i].name;
  }
  return text;
}

// The four kinds a policy can be. A policy is a type with a member `policy_kind` naming one of
// them.
struct ArrivalPolicyKind {};
struct SchedulePolicyKind {};
struct TransportPolicyKind {};
struct ContractPolicyKind {};

/// A type that opted in as a policy of some kind.
template <class P> concept Policy = requires { typename P::policy_kind; };

template <class P, class Kind>
concept PolicyOfKind = Policy<P> && std::same_as<typename P::policy_kind, Kind>;

/// A policy with parameters is made without arguments, copied and compared: std::regular, which
/// compiles some forty traits for each type.
template <class P> concept RegularPolicy = requires(P p, const P& other) {
  P{};
  P(other);
  P(static_cast<P&&>(p));
  p = other;
  static_cast<bool>(other == other);
};

/// The weakest contract: ranks may get results that differ in the last bits.
struct Fast {
  using policy_kind = ContractPolicyKind;
  static constexpr NumericalContract value = NumericalContract::fast;
};
/// The default contract: all ranks get the same bits; from run to run they may differ.
struct RankConsistent {
  using policy_kind = ContractPolicyKind;
  static constexpr NumericalContract value = NumericalContract::rank_consistent;
};
/// The strongest contract: the bits never depend on who arrived when.
struct Reproducible {
  using policy_kind = ContractPolicyKind;
  static constexpr NumericalContract value = NumericalContract::reproducible;
};

/// Policies that make one algorithm, where several algorithms are named:
/// Hierarchical<Policies<DynamicLeader, ShmTransport>, Policies<Rabenseifner, MpiTransport>>.
template <class... Ps> struct Policies {};

namespace detail {

/// How many of Ps are of the kind.
template <class Kind, class... Ps>
inline constexpr int policies_given = (0 + ... + static_cast<int>(PolicyOfKind<Ps, Kind>));

template <class Kind, class Default, class... Ps>
struct PickPolicy : std::type_identity<Default> {};
template <class Kind, class Default, class P, class... Ps>
struct PickPolicy<Kind, Default, P, Ps...>
    : std::conditional_t<PolicyOfKind<P, Kind>, std::type_identity<P>,
                         PickPolicy<Kind, Default, Ps...>> {};

/// The policy of the kind among Ps, or Default.
template <class Kind, class Default, class... Ps>
using pick_policy = typename PickPolicy<Kind, Default, Ps...>::type;

}  // namespace detail

// What one policy needs of another is a bit. The text for a need that is not met:
// choice/policies/requirements.hpp.

/// What a schedule needs of its arrival and transport policies: capability bits; positions for a
/// schedule that has no `needs`.
template <class S>
inline constexpr unsigned needs_of = [] {
  if constexpr (requires { S::needs; }) {
    return unsigned{S::needs};
  } else {
    return 1U;
  }
}();

/// What an arrival or transport policy gives to schedules.
template <class P>
inline constexpr unsigned offers_of = [] {
  if constexpr (requires { P::offers; }) {
    return unsigned{P::offers};
  } else {
    return 0U;
  }
}();

namespace capability {

inline constexpr unsigned positions = 1;  ///< every rank knows its position before the call starts
inline constexpr unsigned leader = 2;     ///< one rank is the leader
inline constexpr unsigned node_memory = 4;  ///< ranks read each other's memory
inline constexpr unsigned tickets = 8;      ///< ranks learn in which order they arrive
inline constexpr unsigned forecast = 16;    ///< it is predicted how late each rank will be
/// Ranks without common memory learn in which order they arrive.
inline constexpr unsigned remote_tickets = 32;
inline constexpr unsigned device_memory = 64;  ///< ranks read each other's memory of devices

}  // namespace capability
}  // namespace papcoll::inline PAPCOLL_ABI
