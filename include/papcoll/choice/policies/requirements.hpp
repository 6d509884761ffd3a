// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/arrival_driven.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <cstddef>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

// Why policies, or an algorithm, cannot run a call: one table for the compiler's messages, refusals
// at run time, names and listings. The first row that does not hold is what is said. A row:
//
//   X(name, capability, asks, what, why, remedy)
//
// `capability` is the bit of what an arrival policy or a transport must offer; `own`: the next one.
// `asks` is what listings say of it, or null. The sentence is `what` followed by `why`, a colon and
// `remedy`; listings of what cannot run a call show `why` alone. At run time names take the places
// of "this schedule", "this transport" and so on, and numbers those of {found} and {limit}: see
// RefusalDetails. (C++20 cannot compute the text of a static_assert, hence the macro.)
//
// clang-format off
#define PAPCOLL_REQUIREMENTS(X)                                                                   \
  X(one_arrival_policy, own, nullptr, "",                                                         \
    "two arrival policies for one collective", "keep one")                                        \
  X(one_schedule, own, nullptr, "",                                                               \
    "two schedules for one collective",                                                           \
    "keep one, or join a reduce and a bcast as ReduceThenBcast")                                  \
  X(one_transport, own, nullptr, "",                                                              \
    "two transports for one collective", "keep one")                                              \
  X(one_contract, own, nullptr, "",                                                               \
    "two numerical contracts for one collective", "keep one")                                     \
  X(hierarchical_stands_alone, own, nullptr, "",                                                  \
    "Hierarchical is made of whole algorithms, so only a contract stands beside it",              \
    "give other policies to its parts, as in Hierarchical<Policies<DynamicLeader, ShmTransport>, "\
    "Policies<Rabenseifner, MpiTransport>>, or by name "                                          \
    "Hierarchical:DynamicLeader+ShmTransport,Rabenseifner+MpiTransport")                          \
  X(hierarchical_levels_in_order, own, nullptr, "",                                               \
    "these are levels within a level of Hierarchical, which are written from the inside out",     \
    "write Hierarchical<A, Hierarchical<B, C>>, or by name Hierarchical:A,B,C")                   \
  X(hierarchical_part_has_no_contract, own, nullptr, "",                                          \
    "a numerical contract is that of the whole call",                                             \
    "name it beside Hierarchical, not in one of its parts")                                       \
  X(hierarchical_part_draws_no_tickets, own, nullptr, "",                                         \
    "ArrivalOrder over messages is for whole communicators",                                      \
    "inside a node take ShmTransport, and among nodes a static schedule such as Rabenseifner")    \
  X(blocking_call, own, "a blocking call: nobody would drive it while its rank computes",         \
    "this algorithm moves only while its rank waits in the call, and ",                           \
    "the call is non-blocking",                                                                   \
    "take a static schedule such as Rabenseifner, or the blocking call")                          \
  X(positions, capability::positions, nullptr,                                                    \
    "this schedule must know every rank's position before the call starts, and ",                 \
    "this arrival policy does not tell it", "take StaticOrder, or leave the schedule out")        \
  X(leader, capability::leader, nullptr,                                                          \
    "this schedule needs a leader, and ",                                                         \
    "this arrival policy names none", "take DynamicLeader or StaticLeader")                       \
  X(tickets, capability::tickets, nullptr,                                                        \
    "this schedule goes by the order in which ranks arrive, and ",                                \
    "this arrival policy does not tell it", "take ArrivalOrder, or leave the arrival policy out") \
  X(forecast, capability::forecast, nullptr,                                                      \
    "this schedule needs to know how late each rank will be, and ",                               \
    "this arrival policy does not predict it",                                                    \
    "take PredictedOrder, or leave the arrival policy out")                                       \
  X(device_memory, capability::device_memory, nullptr,                                            \
    "this schedule combines in the memory of devices, and ",                                      \
    "this call does not reach that",                                                              \
    "take papcoll::gpu::allreduce with a transport such as CudaIpcTransport, or, for buffers of " \
    "the host, PeerSlices")                                                                       \
  X(fitting_arrival_policy, own, nullptr, "",                                                     \
    "this schedule does not run under this arrival policy",                                       \
    "leave the policy out, or take a static schedule such as Chain")                              \
  X(served_collective, own, nullptr, "",                                                          \
    "this schedule does not serve this collective",                                               \
    "take Rabenseifner for allreduce, Binomial for reduce, bcast, gather and scatter, Bruck for " \
    "allgather, RecursiveHalving for reduce_scatter, Dissemination for barrier, Pairwise for "    \
    "alltoall, RecursiveDoubling for scan and exscan; the table in docs/policies.md shows all")   \
  X(commutative_operator, own,                                                                    \
    "an operator that commutes; wrap one as papcoll::commutative(op) if it does",                 \
    "this schedule combines contributions out of rank order, and ",                               \
    "this operator is not known to commute",                                                      \
    "if it does, wrap it as papcoll::commutative(op), else take a schedule that keeps the order, "\
    "such as Rabenseifner or Exchange")                                                           \
  X(weaker_contract, own, nullptr,                                                                \
    "this schedule keeps only weaker contracts, and ",                                            \
    "the call asks for this contract",                                                            \
    "for Reproducible take CombiningTree, DynamicLeader or MultiLeader")                          \
  X(equal_blocks, own, nullptr,                                                                   \
    "this schedule takes of each rank as many elements as of the others, and ",                   \
    "the call has counts",                                                                        \
    "take BlockCopies on one node, or a static schedule: Ring for allgatherv, Linear for gatherv "\
    "and scatterv, Pairwise for alltoallv")                                                       \
  X(own_parts, own, nullptr,                                                                      \
    "this schedule passes blocks on for other ranks, and ",                                       \
    "the call has counts, of which ranks know their own only",                                    \
    "take Pairwise for alltoallv, or Linear")                                                     \
  X(common_memory, own, nullptr,                                                                  \
    "this schedule reads its peers' memory, and ",                                                \
    "the ranks that run it have no memory in common",                                             \
    "take a static schedule such as Ring, or, in Hierarchical, groups that lie within a node")    \
  X(node_memory, capability::node_memory,                                                         \
    "all ranks on one node, and a transport by which they read each other's memory",              \
    "this schedule reads its peers' memory, and ",                                                \
    "this transport only passes messages",                                                        \
    "take ShmTransport (ThreadTransport in a ThreadTeam), or a schedule such as Ring")            \
  X(remote_tickets, capability::remote_tickets, nullptr,                                          \
    "here this schedule goes by the order in which ranks arrive that share no memory, and ",      \
    "this transport has no tickets for them",                                                     \
    "take RmaTransport, or, on one node, ShmTransport")                                           \
  X(compiled_context, own, nullptr, "",                                                           \
    "this schedule was not compiled for the call context of this transport",                      \
    "name both as policies, <this schedule, this transport>")                                     \
  X(few_ranks, own, nullptr,                                                                      \
    "this schedule serves a limited number of ranks that share memory, and ",                     \
    "here are {found} ranks, more than {limit}", "take DynamicLeader")                            \
  X(small_elements, own, nullptr,                                                                 \
    "this schedule takes elements of at most one chunk, and ",                                    \
    "elements are larger than chunk_bytes, {limit}",                                              \
    "take a static schedule, or larger Options::chunk_bytes")                                     \
  X(room_for_ranks, own, nullptr,                                                                 \
    "this schedule has a place for each rank in each chunk, and ",                                \
    "chunk_bytes, {limit}, is less than 8 bytes for each of {found} ranks",                       \
    "take a static schedule, or larger Options::chunk_bytes")
// clang-format on

/// What must hold for an algorithm to run a call: a row of the table.
struct Requirement {
  unsigned bit;
  const char* name;  ///< for programs
  const char* asks;  ///< for listings; null: not shown there
  const char* what;  ///< the beginning of the sentence, or ""
  const char* why;   ///< what it is in the call, the team or the policies that does not fit
  const char* remedy;
};

namespace detail::requirement_row {
#define PAPCOLL_ROW(id, ...) id,
enum Number : unsigned { PAPCOLL_REQUIREMENTS(PAPCOLL_ROW) count };
#undef PAPCOLL_ROW

inline constexpr unsigned own = 0;
#define PAPCOLL_CAPABILITY(id, capability, ...) capability,
inline constexpr unsigned capabilities[] = {PAPCOLL_REQUIREMENTS(PAPCOLL_CAPABILITY)};
#undef PAPCOLL_CAPABILITY

/// The bit of a row.
consteval unsigned bit_of(Number row) {
  if (capabilities[row] != own) return capabilities[row];
  unsigned bit = capability::device_memory << 1U;  // that of the first row of its own
  for (unsigned i = 0; i < row; ++i) bit <<= capabilities[i] == own ? 1U : 0U;
  return bit;
}
static_assert(count < 32, "a word has a bit for each requirement");
}  // namespace detail::requirement_row

namespace requirement {
#define PAPCOLL_BIT(id, ...) \
  inline constexpr unsigned id = detail::requirement_row::bit_of(detail::requirement_row::id);
PAPCOLL_REQUIREMENTS(PAPCOLL_BIT)
#undef PAPCOLL_BIT

/// What an arrival policy can offer, and what a transport can.
inline constexpr unsigned of_arrival = positions | leader | tickets | forecast;
inline constexpr unsigned of_transport = node_memory | remote_tickets | device_memory;
}  // namespace requirement

/// The table, in the order in which requirements are asked.
inline constexpr Requirement requirements[] = {
#define PAPCOLL_ROW(id, capability, asks, what, why, remedy) \
  {requirement::id, #id, asks, what, why, remedy},
    PAPCOLL_REQUIREMENTS(PAPCOLL_ROW)
#undef PAPCOLL_ROW
};

/// Bytes of a chunk in which each rank has a place.
constexpr std::size_t chunk_bytes_for_blocks(int ranks) noexcept {
  return std::size_t{8} * static_cast<std::size_t>(ranks);
}

/// What an algorithm requires.
struct AlgorithmNeeds {
  unsigned bits = 0;   ///< of requirements that are the same for all calls
  bool serves = true;  ///< the call's collective
  NumericalContract strongest = NumericalContract::reproducible;  ///< that it can keep
  int most_ranks = std::numeric_limits<int>::max();               ///< that may share memory
};

/// What a call is, as far as algorithms differ in it.
struct CallFacts {
  bool non_blocking = false;
  bool commutes = true;       ///< the operator is known to, or there is none
  bool irregular = false;     ///< see Call::is_irregular()
  bool local_counts = false;  ///< this rank knows its own counts only
  NumericalContract contract = NumericalContract::fast;  ///< of its result, if that is combined
  std::size_t element_size = 0;
};

/// What a team offers, with an arrival policy and a transport.
struct TeamOffers {
  unsigned bits = ~0U;  ///< of requirements that do not depend on the call
  int ranks = 0;
  std::size_t chunk_bytes = std::numeric_limits<std::size_t>::max();
};

/// The first row of the table whose bit is set; null if there is none.
constexpr const Requirement* first_requirement(unsigned bits) noexcept {
  for (const Requirement& r : requirements) {
    if ((bits & r.bit) != 0) return &r;
  }
  return nullptr;
}

/// The first requirement that keeps an algorithm from running a call of a team; null if it can.
constexpr const Requirement* why_not(const AlgorithmNeeds& algorithm, const CallFacts& call,
                                     const TeamOffers& team) noexcept {
  unsigned met = team.bits;
  if (call.non_blocking) met &= ~requirement::blocking_call;
  if (!call.commutes) met &= ~requirement::commutative_operator;
  if (call.irregular) met &= ~requirement::equal_blocks;
  if (call.local_counts) met &= ~requirement::own_parts;
  if (call.element_size > team.chunk_bytes) met &= ~requirement::small_elements;
  if (team.chunk_bytes < chunk_bytes_for_blocks(team.ranks)) met &= ~requirement::room_for_ranks;
  unsigned unmet = algorithm.bits & ~met;
  if (!algorithm.serves) unmet |= requirement::served_collective;
  if (!keeps(algorithm.strongest, call.contract)) unmet |= requirement::weaker_contract;
  if (team.ranks > algorithm.most_ranks) unmet |= requirement::few_ranks;
  return unmet == 0 ? nullptr : first_requirement(unmet);
}

// What algorithms require, and what calls are, without their types: the arguments of why_not().

/// The needs of an arrival-driven algorithm, whatever it serves.
constexpr AlgorithmNeeds needs_of_algorithm(const ArrivalTraits& a) noexcept {
  AlgorithmNeeds needs;
  needs.bits = requirement::blocking_call | requirement::common_memory | requirement::node_memory |
               requirement::compiled_context | requirement::small_elements;
  needs.bits |= a.takes_counts ? requirement::room_for_ranks : requirement::equal_blocks;
  needs.most_ranks = a.most_ranks;
  if (!a.keeps_order_on_request) needs.strongest = a.contract;
  if (!needs_rank_order(needs.strongest)) needs.bits |= requirement::commutative_operator;
  return needs;
}

/// The needs of a schedule in the order of tickets, whatever it serves.
constexpr AlgorithmNeeds needs_of_algorithm(const TicketedAlgorithm& a) noexcept {
  AlgorithmNeeds needs;
  needs.bits = requirement::blocking_call;
  if (a.commutative_only) {
    needs.bits |= requirement::commutative_operator;
    needs.strongest = a.contract;
  }
  return needs;
}

/// The needs of a static schedule in a call, as far as they matter to that call.
inline AlgorithmNeeds needs_in_call(const AnySchedule& s, const Call& call) {
  AlgorithmNeeds needs;
  needs.serves = s.serves(call.collective);
  if (!call.reducer.commutative && s.commutative_only()) {
    needs.bits = requirement::commutative_operator;
  }
  if (call.local_counts && !call.knows_all_counts && !s.own_parts_only())
    needs.bits |= requirement::own_parts;
  return needs;
}

/// The needs in a call of an arrival-driven algorithm, or of a schedule in the order of tickets.
template <class Algorithm>
AlgorithmNeeds needs_in_call(const Algorithm& a, const Call& call) noexcept {
  AlgorithmNeeds needs = needs_of_algorithm(a);
  needs.serves = a.serves(call.collective);
  return needs;
}

/// Returns what a call is whose contract is known. Where nothing is combined, bits cannot differ.
inline CallFacts facts_of(const Call& call, bool non_blocking) noexcept {
  CallFacts facts;
  facts.non_blocking = non_blocking;
  facts.irregular = call.is_irregular();
  facts.local_counts = call.local_counts && !call.knows_all_counts;
  facts.element_size = call.reducer.size;
  if (is_reduction(call.collective)) {
    facts.commutes = call.reducer.commutative;
    facts.contract = call.contract;
  }
  return facts;
}

/// What the sentence of a requirement is about, where that is known; what is empty stays as it is.
struct RefusalDetails {
  std::string algorithm{};      ///< for "this schedule" and "this algorithm"
  std::string collective{};     ///< for "this collective", with those that are served instead
  std::string arrival{};        ///< for "this arrival policy"
  std::string transport{};      ///< for "this transport"
  std::string_view contract{};  ///< for "this contract": ContractTraits::promise
  std::string both{};           ///< for "for one collective": "Ring and Chain"
  std::size_t found = 0;        ///< for "{found}"
  std::size_t limit = 0;        ///< for "{limit}"
  std::string remedy{};         ///< rather than the table's
};

/// The details of a requirement that an algorithm does not meet in a call of a team, without names.
[[gnu::cold]] inline RefusalDetails details_of(const Requirement& why, const AlgorithmNeeds& needs,
                                               const CallFacts& call, const TeamOffers& team) {
  RefusalDetails d;
  d.contract = traits_of(call.contract).promise;
  d.found = static_cast<std::size_t>(team.ranks);
  d.limit = why.bit == requirement::few_ranks ? static_cast<std::size_t>(needs.most_ranks)
                                              : team.chunk_bytes;
  return d;
}

namespace detail {

/// A text of the table with the details in their places.
[[gnu::cold, gnu::noinline]] inline std::string with_details(std::string text,
                                                             const RefusalDetails& d) {
  struct Place {
    std::string_view words;
    std::string_view value;
  };
  const std::string found = std::to_string(d.found);
  const std::string limit = std::to_string(d.limit);
  for (const Place& p :
       {Place{"this schedule", d.algorithm}, Place{"this algorithm", d.algorithm},
        Place{"this collective", d.collective}, Place{"this arrival policy", d.arrival},
        Place{"this transport", d.transport}, Place{"this contract", d.contract},
        Place{" for one collective", d.both}, Place{"{found}", found}, Place{"{limit}", limit}}) {
    if (p.value.empty()) continue;
    for (std::size_t at = text.find(p.words); at != text.npos;
         at = text.find(p.words, at + p.value.size())) {
      text.replace(at, p.words.size(), p.value);
    }
  }
  return text;
}

}  // namespace detail

/// The sentence of a requirement that is not met.
[[gnu::cold]] inline std::string refusal(const Requirement& r, const RefusalDetails& d) {
  return detail::with_details(
      detail::joined({r.what, r.why, ": ", d.remedy.empty() ? r.remedy : d.remedy}), d);
}

/// The text for an algorithm that does not serve a collective: which collectives it serves, and
/// which algorithms serve this one. `serves(c)` returns true if it serves c.
template <class Serves>
[[gnu::cold, gnu::noinline]] void add_served_algorithms(RefusalDetails& d, const Requirement& why,
                                                        Collective wanted, Serves&& serves) {
  if (why.bit != requirement::served_collective) return;
  d.collective = name_of(wanted);
  bool first = true;
  for (std::size_t i = 0; i < collective_count; ++i) {
    const auto c = static_cast<Collective>(i);
    if (!serves(c)) continue;
    d.collective += first ? ", only " : ", ";
    d.collective += name_of(c);
    first = false;
  }
  const auto others = traits_of(wanted).schedules;
  d.remedy = detail::joined({"take ", others[0], " or ", others[1]});
}

namespace detail {
template <class...> inline constexpr bool requirement_is_met = false;
}  // namespace detail

/// What the compiler says where a requirement is not met: a type for each row of the table, whose
/// name and arguments, the collective and the policies, show in the compiler's output.
namespace unmet {
#define PAPCOLL_UNMET(id, capability, asks, what, why, remedy)                                  \
  template <class... CollectiveAndPolicies> struct id {                                         \
    static constexpr bool ok = ::papcoll::detail::requirement_is_met<CollectiveAndPolicies...>; \
    static_assert(ok, "papcoll: " what why ": " remedy);                                        \
  };
PAPCOLL_REQUIREMENTS(PAPCOLL_UNMET)
#undef PAPCOLL_UNMET
}  // namespace unmet

namespace detail {

/// Ends the compilation with the sentence of one requirement.
template <unsigned Bit, class... CollectiveAndPolicies> constexpr void refuse_policies() noexcept {
#define PAPCOLL_REFUSE(id, ...) \
  if constexpr (Bit == requirement::id) static_cast<void>(unmet::id<CollectiveAndPolicies...>::ok);
  PAPCOLL_REQUIREMENTS(PAPCOLL_REFUSE)
#undef PAPCOLL_REFUSE
}

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI
