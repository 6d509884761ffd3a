// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/arrival_driven.hpp>
#include <papcoll/arrival/order_source.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/choice/policies/requirements.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/transport/memory_transports.hpp>
#include <papcoll/transport/transport_policy.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

class TeamCore;
struct HierarchicalSpec;

/// Runs a call by a hierarchical algorithm.
using RunHierarchical = void(TeamCore&, const HierarchicalSpec&, const Call&);

/// What a call names of how it is to run; what is left out is chosen for it. Made from policies by
/// select<...>() or from a name by papcoll::algorithm().
struct AlgorithmSpec {
  AlgorithmSpec() noexcept {}  // NOLINT(modernize-use-equals-default): as that of Call

  const ArrivalAlgorithm* arrival = nullptr;       ///< an arrival-driven algorithm, or
  AnySchedule schedule;                            ///< a static schedule, or
  const HierarchicalSpec* hierarchical = nullptr;  ///< several of them, or neither; borrowed,
  RunHierarchical* run_hierarchical = nullptr;     ///< and how it runs
  OrderSource order;                               ///< of a schedule's positions
  /// Rather in the order of arrival, if the transport has tickets: see follow_tickets().
  const TicketedAlgorithm* tickets = nullptr;
  const TransportTable* transport = nullptr;  ///< null: by transport_name, or the default
  std::string_view transport_name;          ///< looked up by this, if `transport` is null; borrowed
  FindTransport* find_transport = nullptr;  ///< null: `transport` is there, or all is chosen
  /// What is promised of the bits.
  NumericalContract contract = default_contract;

  /// Returns true if the algorithm is left open.
  bool is_automatic() const noexcept {
    return arrival == nullptr && !schedule && hierarchical == nullptr;
  }
  /// Returns true if all but the contract is left open. Requires is_automatic().
  bool is_free() const noexcept { return !order && transport == nullptr && transport_name.empty(); }
  /// Names an algorithm whose positions ranks draw. Where there are no tickets, they are predicted.
  void follow_tickets(const TicketedAlgorithm& drawn) {
    schedule = drawn.plan();
    order = PredictedOrder<>::predictor();
    tickets = &drawn;
  }
};

/// A hierarchical algorithm, made of two: of the groups of a team, and of their representatives.
struct HierarchicalSpec {
  AlgorithmSpec intra;
  AlgorithmSpec inter;
  bool by_caches = false;  ///< its groups may be those of the caches of one node, see Hierarchy
  std::uint32_t id = 0;    ///< identifies the algorithm when ranks compare their calls

  // What intra and inter borrow if they were made from names.
  std::string intra_transport;
  std::string inter_transport;
  detail::Shared<const HierarchicalSpec> inner;
};

/// An algorithm chosen at run time: the last argument of any collective. Made by
/// papcoll::algorithm(); cheap to copy; an empty one leaves the choice to papcoll.
///
/// Example:
///
///     const papcoll::Algorithm ring = papcoll::algorithm("Ring+MpiTransport");
///     papcoll::allreduce(comm, data, papcoll::sum, ring);
class Algorithm {
 public:
  Algorithm() noexcept {}  // NOLINT(modernize-use-equals-default): as that of Call
  /// For the library: papcoll::algorithm() makes one.
  [[gnu::cold]] Algorithm(std::string name, AlgorithmSpec spec, std::string transport_name = {},
                          detail::Shared<const HierarchicalSpec> hierarchical = nullptr)
      : texts_(detail::make_shared<const Texts>(
            Texts{std::move(name), std::move(transport_name), std::move(hierarchical)})),
        spec_(std::move(spec)) {
    spec_.transport_name = texts_->transport;
    spec_.find_transport = &papcoll::find_transport;
  }

  /// Returns the canonical name: "KNomial:8+MpiTransport"; empty if each call chooses.
  std::string_view name() const noexcept { return texts_ ? texts_->name : std::string_view{}; }
  /// Returns what it names; for the library.
  const AlgorithmSpec& spec() const noexcept { return spec_; }

 private:
  struct Texts {
    std::string name;
    std::string transport;
    detail::Shared<const HierarchicalSpec> hierarchical;
  };
  detail::Shared<const Texts> texts_;
  AlgorithmSpec spec_;
};

namespace detail {

/// Tells the call what its contract asks of algorithms.
inline void apply_contract(Call& call, const AlgorithmSpec& spec) noexcept {
  call.contract = spec.contract;
  call.rank_order = !call.reducer.commutative || needs_rank_order(spec.contract);
}

}  // namespace detail

/// Returns a static schedule with its parameters as an Algorithm: algorithm(KNomial{8}). With a
/// predictor its positions are in predicted order: algorithm(Chain{}, MovingAverage{16}); along the
/// machine: algorithm(KNomial{8}, OrderSource::machine()). Throws argument_error for a schedule
/// that needs predictions and is given the machine.
inline Algorithm algorithm(AnySchedule schedule, OrderSource order = {}) {
  if (!schedule) return {};
  std::string name = schedule.name();
  const bool predicts = (schedule.needs() & capability::forecast) != 0;
  if (predicts && !order) order = PredictedOrder<>::predictor();
  if (predicts && !order.predictor()) {
    detail::throw_error<argument_error>(
        {"papcoll: ", refusal(*first_requirement(requirement::forecast),
                              {.algorithm = schedule.name(), .arrival = order.name()})});
  }
  if (order && !(predicts && order.predictor() == PredictedOrder<>::predictor())) {
    name = detail::joined({order.name(), "+", name});
  }
  AlgorithmSpec spec;
  spec.schedule = std::move(schedule);
  spec.order = std::move(order);
  return {std::move(name), std::move(spec)};
}

}  // namespace papcoll::inline PAPCOLL_ABI
