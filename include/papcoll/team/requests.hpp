#pragma once

#include <papcoll/call.hpp>
#include <papcoll/collective.hpp>
#include <papcoll/plan/endpoint.hpp>
#include <papcoll/plan/engine.hpp>
#include <papcoll/plan/schedule.hpp>
#include <papcoll/team/refusals.hpp>
#include <papcoll/transport/transport.hpp>
#include <papcoll/waiting/waiter.hpp>

#include <cstdint>

#include <pthread.h>

namespace papcoll::inline PAPCOLL_ABI {

/// The non-blocking calls of a team: any call of the team moves them all.
class TeamRequests : public TeamRefusals {
 public:
  /// Null: there is nothing to wait for. Local, but for the first request that needs MPI messages,
  /// and for one that comes thousands of requests after one that is still under way.
  Execution* start(const AnySchedule& schedule, const TransportTable& transport, const Call& call,
                   const AnyPredictor& predictor = {}) {
    require_usable();
    require_own_thread();
    ++requests_;
    if (is_empty(call)) return nullptr;
    Endpoint& e = endpoint_for_request(transport);
    const std::uint32_t sequence = 2 * requests_ + 1;
    or_fail_everywhere([&] { waiter_.until([&] { return has_room(e, sequence); }, Naps::none); });
    Execution& execution = executions_.idle();
    execution.claimed = true;
    if (outstanding_++ == 0) {
      thread_ = pthread_self();
      if (hooks.outstanding) hooks.outstanding(hooks.context, true);
    }
    const Predictions* const expected =
        predictor ? &agreements_.predictions_by(predictor) : nullptr;
    or_fail_everywhere(
        [&] { executions_.begin(execution, e, schedule, call, sequence, expected); });
    return &execution;
  }

  /// Waits for a request.
  void wait(const Execution& execution) {
    require_usable();
    require_own_thread();
    or_fail_everywhere([&] {
      waiter_.until(
          [&] {
            progress();
            if (!execution.done()) look_for_refused_requests();
            return execution.done();
          },
          Naps::none);
    });
  }

  /// Does once what a wait does again and again; is the request complete?
  bool test(const Execution& execution) {
    require_usable();
    require_own_thread();
    progress();
    if (execution.done()) return true;
    or_fail_everywhere([&] {
      look_for_refused_requests();
      check();
      if (hooks.progress) hooks.progress(hooks.context);
      if (const auto now = Waiter::Clock::now(); hooks.watch && now >= next_watch_) {
        next_watch_ = now + waiter_.times.watch_every;
        hooks.watch(hooks.context);
      }
    });
    return execution.done();
  }

  /// The request is done with.
  void finish(Execution& execution) noexcept {
    execution.claimed = false;
    if (outstanding_ == 0) return;
    if (--outstanding_ == 0 && hooks.outstanding) hooks.outstanding(hooks.context, false);
  }

 protected:
  using TeamRefusals::TeamRefusals;
  ~TeamRequests() = default;

  static bool is_empty(const Call& c) noexcept {
    return c.count == 0 && c.counts == nullptr && c.collective != Collective::barrier;
  }

 private:
  Endpoint& endpoint_for_request(const TransportTable& t) {
    if (connections_.connecting_blocks(t)) {
      pass_gate(t, [this] { look_for_refused_requests(); });  // who refused does not come
    }
    return connections_.endpoint(t);
  }

  Waiter::Clock::time_point next_watch_{};
};

}  // namespace papcoll::inline PAPCOLL_ABI
