#pragma once

#include <papcoll/algorithms/static/recursive_doubling.hpp>
#include <papcoll/arrival/predictions.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/config.hpp>
#include <papcoll/error.hpp>
#include <papcoll/node/call_words.hpp>
#include <papcoll/plan/endpoint.hpp>
#include <papcoll/plan/run.hpp>
#include <papcoll/runtime/call_numbers.hpp>
#include <papcoll/runtime/comparisons.hpp>
#include <papcoll/runtime/invalid_calls.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/transport/transport.hpp>
#include <papcoll/waiting/waiter.hpp>

#include <cstdint>
#include <string>

#include <pthread.h>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// The non-blocking calls of a team: any call of the team moves them all.
class TeamRequests : public TeamInvalidCalls {
 public:
  /// Null: there is nothing to wait for. Local, but for the first request that needs MPI messages,
  /// and for one that comes thousands of requests after one that is still under way.
  PlanRun* start(const AnySchedule& schedule, const TransportTable& transport, const Call& call,
                 const AnyPredictor& predictor = {}) {
    require_usable();
    require_own_thread();
    const Predictions* const expected =
        predictor ? &agreements_.predictions_by(predictor) : nullptr;
    if constexpr (assertion_level >= 2) {
      if (size() > 1) return start_compared(schedule, transport, call, expected);
    }
    ++requests_;
    if (is_empty(call)) return nullptr;
    Endpoint& e = endpoint_for_request(transport);
    wait_for_room(e, requests_);
    count_request();
    return &begin(e, schedule, call, expected, false);
  }

  /// Waits for a request.
  void wait(const PlanRun& plan_run) {
    require_usable();
    require_own_thread();
    struct Awaited {
      const PlanRun*& now;
      Awaited(const PlanRun*& a, const PlanRun& e) : now(a) { now = &e; }
      Awaited(const Awaited&) = delete;
      Awaited& operator=(const Awaited&) = delete;
      ~Awaited() { now = nullptr; }
    } const awaited{awaited_, plan_run};
    or_fail_everywhere([&] {
      if constexpr (assertion_level < 2) {
        if (waited_in_endpoint(plan_run)) return;
      }
      waiter_.until(
          [&] {
            progress();
            if (!plan_run.done()) look_for_refused_requests();
            return plan_run.done();
          },
          Naps::none);
    });
  }

  /// Does once what a wait does again and again; is the request complete?
  bool test(const PlanRun& plan_run) {
    require_usable();
    require_own_thread();
    progress();
    if (plan_run.done()) return true;
    or_fail_everywhere([&] {
      look_for_refused_requests();
      check();
      if (hooks.progress) hooks.progress(hooks.context);
      if (const auto now = Waiter::Clock::now(); hooks.watch && now >= next_watch_) {
        next_watch_ = now + waiter_.times.watch_every;
        hooks.watch(hooks.context);
      }
    });
    return plan_run.done();
  }

  /// The request is done with. Throws peer_error if the ranks' calls were compared and differ.
  void finish(PlanRun& plan_run) {
    plan_run.claimed = false;
    if (outstanding_ == 0) return;
    if (--outstanding_ == 0 && hooks.outstanding) hooks.outstanding(hooks.context, false);
    if constexpr (assertion_level >= 2) {
      const std::string difference = comparisons_.end(plan_run);
      if (!difference.empty()) mismatch(difference);
    }
  }

 protected:
  using TeamInvalidCalls::TeamInvalidCalls;
  ~TeamRequests() = default;

  static bool is_empty(const Call& c) noexcept {
    return c.count == 0 && c.counts == nullptr && c.collective != Collective::barrier;
  }

  /// What a call by a schedule is compared by.
  CallWords words_of_plan(const Call& call, const AnySchedule& schedule,
                          const TransportTable& transport, const Predictions* expected,
                          bool by_ticket = false) {
    return words_of_long(
        call, plan_ids_.of(schedule, transport) + order_id(expected) + (by_ticket ? 1 : 0));
  }

 private:
  /// Tells orders that were agreed on apart, from each other and from those that need no agreement.
  static std::uint32_t order_id(const Predictions* p) noexcept {
    return p == nullptr ? 0 : 0x9e3779b9U * (p->generation() + 1);
  }

  static std::uint32_t sequence(std::uint32_t request) noexcept { return 2 * request + 1; }

  void wait_for_room(Endpoint& e, std::uint32_t request) {
    or_fail_everywhere(
        [&] { waiter_.until([&] { return has_room(e, sequence(request)); }, Naps::none); });
  }

  void count_request() {
    if (outstanding_++ != 0) return;
    thread_ = pthread_self();
    if (hooks.outstanding) hooks.outstanding(hooks.context, true);
  }

  PlanRun& begin(Endpoint& e, const AnySchedule& schedule, const Call& call,
                 const Predictions* expected, bool held) {
    PlanRun& plan_run = plan_runs_.idle();
    plan_run.claimed = true;
    or_fail_everywhere([&] {
      plan_runs_.begin(plan_run, e, schedule, call, sequence(requests_), expected, held);
    });
    return plan_run;
  }

  /// Starts what compares the ranks' calls, and the call itself behind it.
  PlanRun* start_compared(const AnySchedule& schedule, const TransportTable& transport,
                          const Call& call, const Predictions* expected) {
    const CallWords words = words_of_plan(call, schedule, transport, expected);
    const std::uint32_t number = requests_ + 1;
    requests_ += 2;  // whatever becomes of it: peers count both
    Endpoint& nearest = endpoint_for_request(connections_.default_transport());
    wait_for_room(nearest, number);
    count_request();
    PlanRun& run = plan_runs_.idle();
    run.claimed = true;
    Comparisons::Comparison& c = comparisons_.begin(words, rank(), run);
    or_fail_everywhere([&] {
      plan_runs_.begin(run, nearest, AnySchedule::of<RecursiveDoubling>(), c.calls.call(),
                       sequence(number), nullptr);
    });
    if (is_empty(call)) {
      c.held = &run;
      return &run;
    }
    // Where connecting blocks in MPI, nobody is to be left alone.
    if (connections_.connecting_blocks(transport)) await(c);
    Endpoint* e = nullptr;
    try {
      e = &endpoint_for_request(transport);
    } catch (const transport_unavailable&) {
      if (broken()) throw;
      await(c);
      finish_comparison(c);
      throw;
    } catch (const std::exception& problem) {
      fail_everywhere(problem);
      throw;
    }
    wait_for_room(*e, requests_);
    c.held = &begin(*e, schedule, call, expected, true);
    return c.held;
  }

  /// Throws peer_error if the calls differ.
  void await(Comparisons::Comparison& c) {
    or_fail_everywhere([&] {
      waiter_.until(
          [&] {
            progress();
            if (!c.run->done()) look_for_refused_requests();
            return c.run->done();
          },
          Naps::none);
    });
    if (c.calls.differ) finish_comparison(c);
  }

  void finish_comparison(Comparisons::Comparison& c) {
    c.held = c.run;
    finish(*c.run);
  }
  Endpoint& endpoint_for_request(const TransportTable& t) {
    if (connections_.connecting_blocks(t)) {
      meet_on_node(t, [this] { look_for_refused_requests(); });  // who refused does not come
    }
    return connections_.endpoint(t);
  }

  PlanIds plan_ids_;
  Waiter::Clock::time_point next_watch_{};
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
