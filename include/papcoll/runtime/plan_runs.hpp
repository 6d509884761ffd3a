#pragma once

#include <papcoll/arrival/predictions.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/plan/cache.hpp>
#include <papcoll/plan/endpoint.hpp>
#include <papcoll/plan/layout.hpp>
#include <papcoll/plan/run.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// A rank's runs of plans, used again and again, and the plans they run.
class PlanRuns {
 public:
  PlanRuns(int rank, int size, std::size_t window) : rank_(rank), size_(size), window_(window) {}

  PlanCache& plans() noexcept { return plans_; }

  /// One that is done, and that no request looks at.
  PlanRun& idle() {
    for (auto& e : plan_runs_) {
      if (e->done() && !e->claimed) return *e;
    }
    plan_runs_.push_back(std::make_unique<PlanRun>());
    return *plan_runs_.back();
  }

  /// Begins a call, in the order that is predicted, if it is. `held`: see PlanRun::start().
  void begin(PlanRun& plan_run, Endpoint& e, const AnySchedule& schedule, const Call& call,
             std::uint32_t sequence, const Predictions* predictions, bool held = false) {
    if (call.collective == Collective::barrier && call.count != 1) {
      // To a schedule, a barrier is an allreduce of one element, the token `out` points to.
      Call of_token = call;
      of_token.count = 1;
      return begin(plan_run, e, schedule, of_token, sequence, predictions, held);
    }
    const Shape shape = shape_of(call, rank_, call.root);
    const bool predicted = predictions != nullptr && !is_prefix_reduction(call.collective) &&
                           !(call.rank_order && is_reduction(call.collective));
    const Order order = predicted ? predictions->forecast().order(shape) : static_order(shape);
    plan_run.start(e, plans_.get(schedule, shape, order), order, call, sequence, window_, held);
  }

  /// Begins a call whose positions are not ranks: of the others it is not known yet which they are.
  void begin_at(PlanRun& plan_run, Endpoint& e, const AnySchedule& schedule, const Call& call,
                std::uint32_t sequence, int position, int root) {
    const Shape shape = shape_of(call, position, root);
    plan_run.start_before_known(e, plans_.get(schedule, shape, Order::identity(size_)), size_, call,
                                sequence, window_);
  }

  /// Is a request under way that is too old to be in flight beside a call of this number?
  bool blocks(const Endpoint& e, std::uint32_t sequence) const noexcept {
    return std::any_of(plan_runs_.begin(), plan_runs_.end(), [&](const auto& x) {
      return x->claimed && !x->done() && sequence - x->sequence() >= e.sequences_at_once();
    });
  }

  /// Does a request look at one?
  [[gnu::cold]] bool any_claimed() const noexcept {
    return std::any_of(plan_runs_.begin(), plan_runs_.end(),
                       [](const auto& x) { return x->claimed; });
  }

  /// After the team broke. `leak`: something may still use their memory.
  [[gnu::cold]] void abandon(bool leak) noexcept {
    for (auto& e : plan_runs_) e->abandon(leak);
  }

 private:
  Shape shape_of(const Call& call, int rank, int root) const {
    Shape s;
    s.collective = call.collective;
    s.size = size_;
    s.rank = rank;
    s.root = root;
    s.count = call.count;
    if (call.counts != nullptr) {
      const bool of_pairs = traits_of(call.collective).vector == VectorOf::block_per_pair;
      const auto ranks = static_cast<std::size_t>(size_);
      s.counts.assign(call.counts, call.counts + (of_pairs ? 2 * ranks : ranks));
    }
    s.element_size = call.reducer.size;
    s.in_place = call.in_place();
    s.commutative = call.reducer.commutative;
    s.in_direct = call.in_view == nullptr;
    s.out_direct = call.out_view == nullptr;
    return s;
  }

  int rank_;
  int size_;
  std::size_t window_;  ///< blocks in flight at once
  PlanCache plans_;
  std::vector<std::unique_ptr<PlanRun>> plan_runs_;
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
