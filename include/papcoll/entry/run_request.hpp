#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/entry/run_call.hpp>
#include <papcoll/error.hpp>
#include <papcoll/plan/run.hpp>
#include <papcoll/request.hpp>
#include <papcoll/runtime/team.hpp>

#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace papcoll {
inline namespace PAPCOLL_ABI {

namespace detail {

template <class>
Request start(const Caller& caller, const AlgorithmSpec& spec, Call& call, Choose* choose,
              std::shared_ptr<const void> owned) {
  if (spec.hierarchical != nullptr) {
    caller.refuse(
        "Hierarchical cannot be non-blocking: take a static schedule or the blocking call");
  }
  const Resolved r{caller, spec, call, choose};
  PlanRun* const plan_run = caller.core.start(*r.schedule, *r.transport, call, spec.predictor);
  if (plan_run == nullptr) return {};
  return {caller.core, *plan_run, std::move(owned)};
}
PAPCOLL_COMPILE_ONCE(Request start<>(const Caller&, const AlgorithmSpec&, Call&, Choose*,
                                     std::shared_ptr<const void>))

}  // namespace detail

template <class>
void Request::release() {
  TeamCore& core = *std::exchange(core_, nullptr);
  owned_.reset();
  core.finish(*plan_run_);
}

template <class>
bool Request::look() {
  if (!core_->test(*plan_run_)) return false;
  release<>();
  return true;
}

template <class>
void Request::await() {
  core_->wait(*plan_run_);
  release<>();
}

template <class>
void Request::end() noexcept {
  if (std::uncaught_exceptions() > exceptions_) {
    core_->fail_everywhere("papcoll: an exception on rank " + std::to_string(core_->rank()) +
                           " destroyed a request before it was complete");
  }
  TeamCore& core = *core_;
  try {
    await<>();
  } catch (const error& problem) {
    // The communicator remembers it. What a transport may still read is leaked on purpose.
    if (core_ == nullptr) core.fail_everywhere(problem);
    if (core.holds_on()) {
      static_cast<void>(new (std::nothrow) std::shared_ptr<const void>(std::move(owned_)));
    }
  }
}

PAPCOLL_COMPILE_ONCE(bool Request::look<>())
PAPCOLL_COMPILE_ONCE(void Request::await<>())
PAPCOLL_COMPILE_ONCE(void Request::end<>() noexcept)

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
