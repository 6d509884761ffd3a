// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/arrival/arrival_driven.hpp>
#include <papcoll/arrival/order_source.hpp>
#include <papcoll/arrival/predictor.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/choice/policies/requirements.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/schedule/schedule_traits.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// A transport as names and listings know it, without its header.
struct TransportName {
  std::string_view name;
  unsigned offers;  ///< capability bits
};

inline constexpr std::array transport_names{
    TransportName{"MpiTransport", 0},
    TransportName{"ShmTransport", capability::node_memory},
    TransportName{"ThreadTransport", capability::node_memory},
    TransportName{"RmaTransport", capability::remote_tickets},
    TransportName{"CudaIpcTransport", capability::device_memory},
};

/// True if the list has this transport as its type describes it. Asserted where types are known.
template <class Transport>
inline constexpr bool is_listed = std::any_of(transport_names.begin(), transport_names.end(),
                                              [](const TransportName& t) {
                                                return t.name == Transport::name &&
                                                       t.offers == Transport::offers;
                                              });

struct CatalogueRow;
using Catalogue = std::span<const CatalogueRow>;

/// An algorithm of the catalogue: a schedule under an arrival policy. A row is made by static_row()
/// or arrival_row(); a catalogue is any array of rows.
struct CatalogueRow {
  std::string_view name;      ///< in algorithm names: "Ring", "DynamicLeader"
  std::string_view arrival;   ///< its arrival policy
  std::string_view schedule;  ///< and its schedule, without parameters
  std::string_view sentence;
  unsigned needs = 0;  ///< bits of what it requires, see choice/policies/requirements.hpp
  /// Of reductions: what it keeps by itself, and what it keeps if the call asks for it.
  NumericalContract contract = NumericalContract::reproducible;
  NumericalContract strongest = NumericalContract::reproducible;
  bool (*serves)(Collective) noexcept = nullptr;

  const ArrivalAlgorithm* algorithm = nullptr;  ///< an arrival-driven algorithm, or
  /// What such an algorithm is over transports that have tickets for ranks without common memory,
  /// if it can do without that.
  const TicketedAlgorithm* tickets = nullptr;
  AnySchedule (*plan)() = nullptr;  ///< a static schedule, with default parameters
  /// If the schedule cannot read its parameters by itself: does it, with the schedules of a
  /// catalogue. Throws as AnySchedule::with_arguments().
  AnySchedule (*parse)(std::string_view arguments, Catalogue catalogue) = nullptr;
  std::span<const Parameter> parameters{};  ///< of the schedule, in the order of their text
  std::string_view in_source{};  ///< how it is written in a program, if not as Name{parameters}
  /// Further parameters that `papcoll verify` proves it with, separated by blanks.
  std::string_view proven_with;
  bool is_hierarchical = false;  ///< neither: an algorithm made of others
};

namespace detail {
template <class S> bool schedule_serves(Collective c) noexcept {
  return schedule_table<S>().serves(c);
}

template <class S> [[gnu::cold]] AnySchedule make_schedule() { return S{}; }
}  // namespace detail

/// The row of a static schedule, made of its type alone.
template <StaticSchedule S> constexpr CatalogueRow static_row(std::string_view proven_with = {}) {
  CatalogueRow row;
  row.name = row.schedule = S::name;
  row.arrival = "StaticOrder";
  row.sentence = S::sentence;
  if constexpr (requires { requires bool{S::commutative_only}; }) {
    row.needs = requirement::commutative_operator;
  }
  row.serves = detail::schedule_serves<S>;
  if constexpr (requires { typename std::bool_constant<(static_cast<void>(S{}), true)>; }) {
    row.plan = AnySchedule::of<S>;
  } else {
    row.plan = detail::make_schedule<S>;
  }
  if constexpr (requires { std::span<const Parameter>{S::parameters}; }) {
    row.parameters = S::parameters;
  }
  row.proven_with = proven_with;
  return row;
}

/// None: the compiler says which member is missing.
template <class S>
requires detail::lacks_a_member<S>
constexpr CatalogueRow static_row() {
  static_cast<void>(detail::schedule_is_complete<S>::ok);
  return {};
}

/// The row of a static schedule that needs predicted arrivals. They change from run to run, and the
/// order of combination with them, unless the call asks for rank order.
template <StaticSchedule S>
constexpr CatalogueRow predicted_row(std::string_view proven_with = {}) {
  CatalogueRow row = static_row<S>(proven_with);
  row.arrival = PredictedOrder<>::name;
  row.contract = NumericalContract::rank_consistent;
  return row;
}

/// The row of an arrival-driven algorithm, with the names of its policies.
constexpr CatalogueRow arrival_row(const ArrivalAlgorithm& algorithm, std::string_view arrival,
                                   std::string_view schedule) {
  CatalogueRow row;
  row.name = algorithm.name;
  row.arrival = arrival;
  row.schedule = schedule;
  row.sentence = algorithm.sentence;
  const AlgorithmNeeds needs = needs_of_algorithm(algorithm);
  row.needs = needs.bits;
  row.contract = algorithm.contract;
  row.strongest = needs.strongest;
  row.serves = algorithm.serves;
  row.algorithm = &algorithm;
  return row;
}

/// Bits of what it requires of a call of this collective.
constexpr unsigned needs_of_call(const CatalogueRow& row, Collective c) noexcept {
  return is_reduction(c) ? row.needs : row.needs & ~requirement::commutative_operator;
}

/// The contract it keeps in this collective by itself. Where nothing is combined, bits cannot
/// differ.
constexpr NumericalContract contract_of(const CatalogueRow& row, Collective c) noexcept {
  return is_reduction(c) ? row.contract : strongest_contract;
}

/// Returns true if the algorithm runs there by tickets that ranks draw without shared memory.
constexpr bool runs_by_ticket(const CatalogueRow& row, const TransportName& transport) noexcept {
  return row.tickets != nullptr && (transport.offers & capability::remote_tickets) != 0;
}

/// Why it does not run there; null if it does.
constexpr const Requirement* why_not_on(const CatalogueRow& row,
                                        const TransportName& transport) noexcept {
  if (runs_by_ticket(row, transport)) return nullptr;
  AlgorithmNeeds needs;
  needs.bits = row.needs & requirement::of_transport;
  TeamOffers offers;
  offers.bits = transport.offers;
  return why_not(needs, {}, offers);
}

constexpr bool runs_on(const CatalogueRow& row, const TransportName& transport) noexcept {
  return why_not_on(row, transport) == nullptr;
}

/// A row's schedule with the parameters that the text after the colon gives, all of them defaults
/// if there is none. Throws argument_error if the parameters cannot be read.
[[gnu::cold]] inline AnySchedule plan_of(const CatalogueRow& row, std::string_view arguments,
                                         Catalogue catalogue) {
  if (arguments.empty()) return row.plan();
  if (row.parse != nullptr) return row.parse(arguments, catalogue);
  return row.plan().with_arguments(arguments);
}

/// A static schedule by its name with parameters: "KNomial:8". Throws unknown_algorithm if the
/// catalogue has none of that name, argument_error if the parameters cannot be read.
[[gnu::cold]] inline AnySchedule schedule_named(std::string_view text, Catalogue catalogue) {
  const std::string_view name = text.substr(0, text.find(':'));
  std::vector<std::string_view> names;
  for (const CatalogueRow& row : catalogue) {
    if (row.plan == nullptr) continue;
    names.push_back(row.name);
    if (row.name != name) continue;
    return plan_of(row, name == text ? "" : text.substr(name.size() + 1), catalogue);
  }
  detail::throw_error<unknown_algorithm>({"papcoll: there is no static schedule '", name,
                                          "': ", detail::similar_names(name, std::move(names))});
}

}  // namespace papcoll::inline PAPCOLL_ABI

namespace papcoll::inline PAPCOLL_ABI::detail {

inline constexpr std::string_view predicted_name = PredictedOrder<>::name;
inline constexpr std::string_view machine_name = OnTopology::name;

/// Returns true if the arrival policy gives any static schedule an order of its positions.
inline bool gives_order(std::string_view arrival) noexcept {
  return arrival == predicted_name || arrival == machine_name;
}

/// The name of a schedule that is chosen for each call.
inline constexpr std::string_view left_open = "auto";

[[gnu::cold]] inline bool is_arrival(std::string_view name, Catalogue catalogue) {
  return gives_order(name) ||
         std::any_of(catalogue.begin(), catalogue.end(),
                     [name](const CatalogueRow& row) { return row.arrival == name; });
}

[[gnu::cold]] inline bool is_schedule(std::string_view name, Catalogue catalogue) {
  return std::any_of(catalogue.begin(), catalogue.end(),
                     [name](const CatalogueRow& row) { return row.schedule == name; });
}

/// Programs may bring transports of their own, which only their teams know. What resembles one of
/// the library's is a slip.
[[gnu::cold]] inline bool is_transport_name(std::string_view name) {
  constexpr std::string_view ending = "Transport";
  bool resembles = false;
  for (const TransportName& t : transport_names) {
    if (t.name == name) return true;
    resembles |= edit_distance(t.name, name) <= 2;
  }
  return !resembles && name.size() > ending.size() && name.ends_with(ending);
}

/// Every policy that a name may have.
[[gnu::cold]] inline std::vector<std::string_view> all_policy_names(Catalogue catalogue) {
  std::vector<std::string_view> names{left_open, predicted_name, machine_name};
  for (const CatalogueRow& row : catalogue) {
    if (!row.arrival.empty()) names.push_back(row.arrival);
    names.push_back(row.schedule);
  }
  for (const TransportName& t : transport_names) names.push_back(t.name);
  for (const ContractTraits& c : contracts) names.push_back(c.name);
  return names;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
