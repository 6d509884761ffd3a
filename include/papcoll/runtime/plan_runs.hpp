#pragma once

#include <papcoll/arrival/order_source.hpp>
#include <papcoll/arrival/predictions.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/runtime/request_runs.hpp>
#include <papcoll/runtime/setup/machine_orders.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/plan_cache.hpp>
#include <papcoll/schedule/plan_run.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/schedule/vector_layout.hpp>
#include <papcoll/topology/machine_on_demand.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

/// A rank's runs of plans, used again and again, and the plans they run. Of blocking calls one runs
/// at a time.
class PlanRuns {
 public:
  PlanRuns(int rank, int size, std::size_t window, detail::Shared<const MachineOnDemand> machine)
      : rank_(rank), size_(size), window_(window), orders_(std::move(machine)) {}

  PlanCache& plans() noexcept { return plans_; }
  MachineOrders& machine_orders() noexcept { return orders_; }

  PlanRun& of_blocking_call() noexcept { return blocking_; }
  RequestRuns& of_requests() noexcept { return requests_; }
  const RequestRuns& of_requests() const noexcept { return requests_; }

  /// The plan of a call in the order of the ranks.
  PlanOf plan_of(const AnySchedule& schedule, const Call& call) {
    const Shape shape = shape_of(call, rank_, call.root);
    return plans_.get(schedule, shape, static_order(shape));
  }

  /// Begins a call. `held`: see PlanRun::start().
  void begin(PlanRun& plan_run, Endpoint& e, const AnySchedule& schedule, const Call& call,
             std::uint32_t sequence, PlayedOrder played = {}, bool held = false) {
    if (call.collective == Collective::barrier && call.count != 1) {
      // To a schedule, a barrier is an allreduce of one element, the token `out` points to.
      Call of_token = call;
      of_token.count = 1;
      return begin(plan_run, e, schedule, of_token, sequence, played, held);
    }
    if (is_rooted(call.collective)) orders_.begins(call.collective, call.root);
    const Shape shape = shape_of(call, rank_, call.root);
    const bool any_order = !is_prefix_reduction(call.collective);
    const bool reduces = is_reduction(call.collective);
    if (played.along.map != nullptr && any_order && !(reduces && !shape.commutative)) {
      return begin_along_machine(plan_run, e, schedule, shape, call, sequence, played.along, held);
    }
    const bool predicted =
        played.predictions != nullptr && any_order && !(reduces && call.rank_order);
    const Order order =
        predicted ? played.predictions->forecast().order(shape) : static_order(shape);
    const bool has_one = call.plan != nullptr && call.plan->is_of(schedule, shape, order);
    const PlanOf& plan = has_one ? *call.plan : plans_.get(schedule, shape, order);
    plan_run.start(e, plan.plan, order, call, sequence, window_, held);
  }

  /// Begins a call whose positions are not ranks: of the others it is not known yet which they are.
  void begin_at(PlanRun& plan_run, Endpoint& e, const AnySchedule& schedule, const Call& call,
                std::uint32_t sequence, int position, int root) {
    const Shape shape = shape_of(call, position, root);
    plan_run.start_before_known(e, plans_.get(schedule, shape, Order::identity(size_)).plan, size_,
                                call, sequence, window_);
  }

  /// Is a request under way that is too old to be in flight beside a call of this number? If one
  /// is, the oldest is.
  bool blocks(const Endpoint& e, std::uint32_t sequence) noexcept {
    const PlanRun* const oldest = requests_.oldest();
    return oldest != nullptr && sequence - oldest->sequence() >= e.sequences_at_once();
  }

  /// After the team broke. `leak`: something may still use their memory.
  [[gnu::cold]] void abandon(bool leak) noexcept {
    blocking_.abandon(leak);
    requests_.abandon(leak);
  }

 private:
  [[gnu::noinline]] void begin_along_machine(PlanRun& plan_run, Endpoint& e,
                                             const AnySchedule& named, const Shape& shape,
                                             const Call& call, std::uint32_t sequence,
                                             const AlongMachine& along, bool held) {
    // What a schedule stands for may depend on the bytes, and so may its order.
    const AnySchedule schedule =
        named.resolved(shape.size, shape.vector_size() * shape.element_size);
    const int root = is_rooted(call.collective) ? call.root : 0;
    const Order order = orders_.machine() == nullptr
                            ? static_order(shape)
                            : orders_.of(schedule, call.collective, root, along, plans_).order;
    plan_run.start(e, plans_.get(schedule, shape, order).plan, order, call, sequence, window_,
                   held);
  }

  Shape shape_of(const Call& call, int rank, int root) const {
    Shape s;
    s.collective = call.collective;
    s.size = size_;
    s.rank = rank;
    s.root = root;
    s.count = call.count;
    if (call.counts != nullptr) {
      s.counts.assign(call.counts, call.counts + detail::counts_of(call, size_));
    }
    s.element_size = call.reducer.size;
    s.in_place = call.in_place();
    s.commutative = call.reducer.commutative;
    s.in_direct = call.in_view == nullptr;
    s.out_direct = call.out_view == nullptr;
    s.sends_empty = assertion_level >= 1 && call.is_uneven();
    return s;
  }

  int rank_;
  int size_;
  std::size_t window_;  ///< blocks in flight at once
  PlanCache plans_;
  MachineOrders orders_;
  PlanRun blocking_;
  RequestRuns requests_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
