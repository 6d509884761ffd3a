// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/order_source.hpp>
#include <papcoll/arrival/predictions.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/node/call_fingerprint.hpp>
#include <papcoll/runtime/setup/machine_orders.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/make_plan.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/plan_run.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/schedule/vector_layout.hpp>
#include <papcoll/topology/machine_on_demand.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

struct Comparison;

/// A run of a request, and its neighbours among those under way.
class RequestRun final : public PlanRun {
 public:
  Comparison* comparison = nullptr;  ///< that it waits or has waited for, see there; or null

  std::uint32_t timed = 0;  ///< as RemoteArrivalMonitor::begin() said; 0: its cost is not noted
  std::chrono::nanoseconds started{};  ///< when it was, if it is timed

 private:
  friend class RequestRuns;
  RequestRun* older_ = nullptr;
  RequestRun* newer_ = nullptr;
  bool under_way_ = false;
};

/// The runs of a rank's requests, used again and again. Whatever their number, each function but
/// abandon() takes the same time; oldest() drops those that are done, each of them once.
///
/// Invariant: the list of those under way has every run that was begun and is not done, in the
/// order in which they were begun, which is that of their sequence numbers; and some that are done.
class RequestRuns {
 public:
  /// One that no other request has. give_back() must follow.
  RequestRun& take() {
    if (idle_.empty()) make_one();
    ++taken_;
    RequestRun* const run = idle_.back();
    idle_.pop_back();
    return *run;
  }

  /// It has begun, with a higher sequence number than all before.
  void begun(RequestRun& run) noexcept {
    run.under_way_ = true;
    run.older_ = newest_;
    run.newer_ = nullptr;
    (newest_ == nullptr ? oldest_ : newest_->newer_) = &run;
    newest_ = &run;
  }

  /// It is done, and the request does not look at it any more.
  void give_back(RequestRun& run) noexcept {
    if (run.under_way_) unlink(run);
    --taken_;
    idle_.push_back(&run);  // make_one() has reserved the room
  }

  /// Returns the run with the lowest sequence number of those that are not done; null if all are.
  const RequestRun* oldest() noexcept {
    while (oldest_ != nullptr && oldest_->done()) unlink(*oldest_);
    return oldest_;
  }

  /// Returns true if a request holds one.
  bool any_taken() const noexcept { return taken_ != 0; }

  /// After the team broke. `is_in_use`: something may still use their memory.
  [[gnu::cold]] void abandon(bool is_in_use) noexcept {
    for (auto& run : all_) run->abandon(is_in_use);
  }

 private:
  [[gnu::cold]] void make_one() {
    if (idle_.capacity() <= all_.size()) idle_.reserve(std::max<std::size_t>(8, 2 * all_.size()));
    all_.push_back(detail::make_owned<RequestRun>());
    idle_.push_back(all_.back().get());
  }

  void unlink(RequestRun& run) noexcept {
    (run.older_ == nullptr ? oldest_ : run.older_->newer_) = run.newer_;
    (run.newer_ == nullptr ? newest_ : run.newer_->older_) = run.older_;
    run.under_way_ = false;
  }

  detail::Vector<detail::Owned<RequestRun>> all_;
  detail::Vector<RequestRun*>
      idle_;  ///< the last one given back, whose memory is in the caches, last
  RequestRun* oldest_ = nullptr;
  RequestRun* newest_ = nullptr;
  std::size_t taken_ = 0;
};

/// A rank's runs of plans, used again and again, and the plans they run. Of blocking calls one runs
/// at a time.
class PlanRuns {
 public:
  PlanRuns(int rank, int size, std::size_t pipeline_depth,
           detail::Shared<const MachineOnDemand> machine)
      : rank_(rank), size_(size), pipeline_depth_(pipeline_depth), orders_(std::move(machine)) {}

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

  /// Begins a call. `launch`: see PlanRun::start().
  void begin(PlanRun& plan_run, Endpoint& e, const AnySchedule& schedule, const Call& call,
             std::uint32_t sequence, PlayedOrder played = {}, Launch launch = Launch::at_once) {
    if (call.collective == Collective::barrier && call.count != 1) {
      // For a schedule, a barrier is an allreduce of one element, the token `out` points to.
      Call of_token = call;
      of_token.count = 1;
      return begin(plan_run, e, schedule, of_token, sequence, played, launch);
    }
    if (is_rooted(call.collective)) orders_.begins(call.collective, call.root);
    const Shape shape = shape_of(call, rank_, call.root);
    const bool any_order = !is_prefix_reduction(call.collective);
    const bool reduces = is_reduction(call.collective);
    if (played.along.map != nullptr && any_order && !(reduces && !shape.commutative)) {
      return begin_along_machine(plan_run, e, schedule, shape, call, sequence, played.along,
                                 launch);
    }
    const bool predicted =
        played.predictions != nullptr && any_order && !(reduces && call.rank_order);
    const Order order =
        predicted ? played.predictions->forecast().order(shape) : static_order(shape);
    const bool has_one = call.plan != nullptr && call.plan->is_of(schedule, shape, order);
    const PlanOf& plan = has_one ? *call.plan : plans_.get(schedule, shape, order);
    plan_run.start(e, plan.plan, order, call, sequence, pipeline_depth_, launch);
  }

  /// Begins a call whose positions are not ranks: of the others it is not known yet which they are.
  void begin_at(PlanRun& plan_run, Endpoint& e, const AnySchedule& schedule, const Call& call,
                std::uint32_t sequence, int position, int root) {
    const Shape shape = shape_of(call, position, root);
    plan_run.start_before_known(e, plans_.get(schedule, shape, Order::identity(size_)).plan, size_,
                                call, sequence, pipeline_depth_);
  }

  /// Returns true if a request is in flight that is too old to be so beside a call of this number.
  /// If there is one, the oldest is.
  bool blocks(const Endpoint& e, std::uint32_t sequence) noexcept {
    const PlanRun* const oldest = requests_.oldest();
    return oldest != nullptr && sequence - oldest->sequence() >= e.sequences_at_once();
  }

  /// After the team broke. `is_in_use`: something may still use their memory.
  [[gnu::cold]] void abandon(bool is_in_use) noexcept {
    blocking_.abandon(is_in_use);
    requests_.abandon(is_in_use);
  }

 private:
  [[gnu::noinline]] void begin_along_machine(PlanRun& plan_run, Endpoint& e,
                                             const AnySchedule& named, const Shape& shape,
                                             const Call& call, std::uint32_t sequence,
                                             const AlongMachine& along, Launch launch) {
    // The schedule that runs may depend on the bytes, and so may its order.
    const AnySchedule schedule =
        named.resolved(shape.size, shape.vector_size() * shape.element_size);
    const int root = is_rooted(call.collective) ? call.root : 0;
    const Order order = orders_.machine() == nullptr
                            ? static_order(shape)
                            : orders_.of(schedule, call.collective, root, along, plans_).order;
    plan_run.start(e, plans_.get(schedule, shape, order).plan, order, call, sequence,
                   pipeline_depth_, launch);
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
    s.sends_empty = assertion_level >= 1 && call.is_irregular();
    return s;
  }

  int rank_;
  int size_;
  std::size_t pipeline_depth_;  ///< blocks in flight at once
  PlanCache plans_;
  MachineOrders orders_;
  PlanRun blocking_;
  RequestRuns requests_;
};

/// What one call begins with: an allreduce, of one element.
struct Comparison {
  /// The call waits for it; `run` itself is the call's if that has nothing to do.
  void hold(RequestRun& call) noexcept {
    held = &call;
    call.comparison = this;
  }

  ComparedCalls calls;
  RequestRun* run;             ///< of the allreduce
  std::size_t at;              ///< in the list of all
  RequestRun* held = nullptr;  ///< of the call
  bool is_over = false;
};

/// What a rank's non-blocking calls begin with where calls are compared: a small allreduce each.
/// Only when that is done, and all ranks have called the same, is the call itself let go.
class NonblockingCallChecks {
 public:
  Comparison& begin(const CallFingerprint& fingerprint, int rank, RequestRun& run) {
    open_.push_back(
        detail::make_owned<Comparison>(Comparison{{fingerprint, rank, {}}, &run, open_.size()}));
    return *open_.back();
  }

  /// Releases the calls that match, and ends the others. Examines a few each time, and continues
  /// with the next.
  void progress(RequestRuns& runs) {
    constexpr std::size_t looks = 64;
    for (std::size_t i = std::min(looks, open_.size()); i != 0; --i) {
      next_ = next_ + 1 < open_.size() ? next_ + 1 : 0;
      Comparison& c = *open_[next_];
      if (c.is_over || c.held == nullptr || !c.run->done()) continue;
      c.is_over = true;
      if (c.held == c.run) continue;
      runs.give_back(*c.run);
      if (c.calls.differ) {
        c.held->abandon(false);
      } else {
        c.held->go();
      }
    }
  }

  /// Forgets that of a call which is done. How the ranks' calls differ, or nothing.
  std::string end(RequestRun& call) {
    Comparison* const c = std::exchange(call.comparison, nullptr);
    if (c == nullptr) return {};
    std::string text;
    if (c->calls.differ) text = c->calls.describe();
    open_.back()->at = c->at;
    std::swap(open_[c->at], open_.back());
    open_.pop_back();
    return text;
  }

  /// Called before the runs are destroyed. `is_in_use`: something may still use their memory.
  void abandon(bool is_in_use) noexcept {
    for (auto& c : open_) {
      if (is_in_use && !c->run->done()) static_cast<void>(c.release());
    }
    open_.clear();
  }

 private:
  detail::Vector<detail::Owned<Comparison>> open_;
  std::size_t next_ = 0;  ///< of those, the last one looked at
};

}  // namespace papcoll::inline PAPCOLL_ABI
