#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/call/request.hpp>
#include <papcoll/call/run.ipp>
#include <papcoll/runtime/plan_runs.hpp>
#include <papcoll/runtime/team.hpp>

#include <exception>
#include <new>
#include <string>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

PAPCOLL_DECL Shared<const void> with_views(Call& call, Shared<const void> owned) {
  struct Views {
    Shared<const void> owned;
    BufferView in;
    BufferView out;
  };
  auto views = make_shared<Views>();
  views->owned = std::move(owned);
  if (call.in_view != nullptr) {
    views->in = *call.in_view;
    call.in_view = &views->in;
  }
  if (call.out_view != nullptr) {
    views->out = *call.out_view;
    call.out_view = &views->out;
  }
  return views;
}

/// Starts a checked call.
PAPCOLL_DECL Request start_checked(const Caller& caller, const AlgorithmSpec& spec,
                                   const TransportTable& transport, const Call& call,
                                   Shared<const void> owned) {
  RequestRun* const plan_run = caller.core.start(spec.schedule, transport, call, spec.order);
  if (plan_run == nullptr) return {};
  return {caller.core, *plan_run, std::move(owned)};
}

PAPCOLL_DECL Request start_spec(const Caller& caller, const AlgorithmSpec& spec, Call& call,
                                Shared<const void> owned) {
  if (spec.hierarchical != nullptr) {
    refuse_call(caller.core, {call.collective, true, call.counts != nullptr},
                *first_requirement(requirement::blocking_call), {.algorithm = "Hierarchical"});
  }
  const TransportTable& transport = transport_for(caller, spec, call.memory);
  state_contract(call, spec);
  if (spec.arrival != nullptr) check_arrival(caller, *spec.arrival, transport, call);
  check_named_schedule(caller, spec, call);
  return start_checked(caller, spec, transport, call, std::move(owned));
}

}  // namespace detail

PAPCOLL_DECL void Request::release() {
  TeamCore& core = *std::exchange(core_, nullptr);
  owned_.reset();
  core.requests.finish(*plan_run_);
}

PAPCOLL_DECL bool Request::look() {
  if (!core_->requests.test(*plan_run_)) return false;
  release();
  return true;
}

PAPCOLL_DECL void Request::await() {
  core_->requests.wait(*plan_run_);
  release();
}

PAPCOLL_DECL void Request::end() noexcept {
  if (std::uncaught_exceptions() > exceptions_) {
    core_->fail_everywhere(detail::joined({"papcoll: an exception on rank ", core_->rank(),
                                           " destroyed a request before it was complete"}));
  }
  TeamCore& core = *core_;
  try {
    await();
  } catch (const std::exception& problem) {
    // The communicator remembers it, also where this thread may not wait, and so does not know when
    // the buffers are free. What a transport may still read is leaked on purpose.
    core.fail_everywhere(problem);
    if (core_ != nullptr) core.requests.forget(*plan_run_);
    if (core.holds_on()) {
      static_cast<void>(new (std::nothrow) detail::Shared<const void>(std::move(owned_)));
    }
  }
}

}  // namespace papcoll::inline PAPCOLL_ABI
