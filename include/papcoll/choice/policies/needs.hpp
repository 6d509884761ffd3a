#pragma once

#include <papcoll/arrival/arrival_driven.hpp>
#include <papcoll/arrival/ticketed_algorithm.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/choice/policies/requirements.hpp>
#include <papcoll/schedule/schedule.hpp>

namespace papcoll::inline PAPCOLL_ABI {

// What algorithms require, and what calls are, without their types: the arguments of why_not().

/// Of an arrival-driven algorithm, whatever it serves.
constexpr AlgorithmNeeds needs_of_algorithm(const ArrivalTraits& a) noexcept {
  AlgorithmNeeds needs;
  needs.bits = requirement::blocking_call | requirement::common_memory | requirement::node_memory |
               requirement::compiled_site | requirement::small_elements;
  needs.bits |= a.takes_counts ? requirement::room_for_ranks : requirement::equal_blocks;
  needs.most_ranks = a.most_ranks;
  if (a.contract != NumericalContract::reproducible && !a.keeps_order_on_request) {
    needs.bits |= requirement::commutative_operator;
    needs.strongest = a.contract;
  }
  return needs;
}

/// Of a schedule in the order of tickets, whatever it serves.
constexpr AlgorithmNeeds needs_of_algorithm(const TicketedAlgorithm& a) noexcept {
  AlgorithmNeeds needs;
  needs.bits = requirement::blocking_call;
  if (a.commutative_only) {
    needs.bits |= requirement::commutative_operator;
    needs.strongest = a.contract;
  }
  return needs;
}

/// Of a static schedule that runs a call. It is asked only for what matters to that call.
inline AlgorithmNeeds needs_in_call(const AnySchedule& s, const Call& call) {
  AlgorithmNeeds needs;
  needs.serves = s.serves(call.collective);
  if (!call.reducer.commutative && s.commutative_only()) {
    needs.bits = requirement::commutative_operator;
  }
  if (call.own_counts && !call.knows_all_counts && !s.own_parts_only())
    needs.bits |= requirement::own_parts;
  return needs;
}

/// Of an arrival-driven algorithm that runs a call.
inline AlgorithmNeeds needs_in_call(const ArrivalTraits& a, const Call& call) noexcept {
  AlgorithmNeeds needs = needs_of_algorithm(a);
  needs.serves = a.serves(call.collective);
  return needs;
}

/// Of a schedule in the order of tickets that runs a call.
inline AlgorithmNeeds needs_in_call(const TicketedAlgorithm& a, const Call& call) noexcept {
  AlgorithmNeeds needs = needs_of_algorithm(a);
  needs.serves = a.serves(call.collective);
  return needs;
}

/// What a call is whose contract is known. Where nothing is combined, bits cannot differ.
inline CallFacts facts_of(const Call& call, bool non_blocking) noexcept {
  CallFacts facts;
  facts.non_blocking = non_blocking;
  facts.uneven = call.is_uneven();
  facts.own_counts = call.own_counts && !call.knows_all_counts;
  facts.element_size = call.reducer.size;
  if (is_reduction(call.collective)) {
    facts.commutes = call.reducer.commutative;
    if (call.reproducible) facts.contract = NumericalContract::reproducible;
  }
  return facts;
}

}  // namespace papcoll::inline PAPCOLL_ABI
