// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/call/route.hpp>

#include <exception>
#include <type_traits>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

class RequestRun;

/// A non-blocking collective in flight.
///
/// Owns the call's operator, counts and displacements. The buffers stay the caller's, must outlive
/// the request and must not be used until it is complete, unless they were moved into the call
/// (OwningRequest).
///
/// Progress is made in papcoll calls of the thread that started it, on any communicator: there is
/// no helper thread. Another thread must not wait for it, nor use its communicator meanwhile. Once
/// its MPI communicator is freed, or MPI_Finalize was called, it throws broken_communicator.
///
/// The destructor waits for completion. If an exception destroys the request, or another thread
/// does, it breaks the communicator on all ranks instead, and does not wait: the buffers may be
/// destroyed next.
///
/// With PAPCOLL_ASSERTIONS=2 a non-blocking call begins with a small allreduce that compares the
/// ranks' calls. If they differ, test() and wait() throw peer_error on all ranks, and no output was
/// written; if neither is called, the destructor breaks the communicator. For the first request
/// over MPI messages on a node, the start itself compares and throws.
///
/// Example:
///
///     papcoll::Request sum = papcoll::iallreduce(comm, data);
///     while (!sum.test()) compute_a_little();
class Request {
 public:
  /// An empty request, which is complete.
  Request() = default;
  /// For the library: non-blocking collectives make one.
  Request(TeamCore& core, RequestRun& plan_run, detail::Shared<const void> owned)
      : core_(&core), plan_run_(&plan_run), owned_(std::move(owned)) {}
  /// Moves. The one moved from is empty.
  Request(Request&& o) noexcept { swap(o); }
  /// Deleted: an OwningRequest would lose the output that its wait() returns. Declare it with auto.
  template <class Owning>
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload,google-explicit-constructor)
  requires(Owning::owns_output) Request(Owning&&)
  = delete;
  /// Ends this request as the destructor does, then moves.
  Request& operator=(Request&& o) noexcept {
    Request moved{std::move(o)};
    swap(moved);
    return *this;
  }
  ~Request() {
    if (core_ != nullptr) end();
  }

  /// Makes progress; returns true if the call is complete. Never waits. Throws what the blocking
  /// call throws.
  bool test() { return core_ == nullptr || look(); }

  /// Returns when the call is complete. Throws what the blocking call throws.
  void wait() {
    if (core_ != nullptr) await();
  }

  /// Returns true if the request is empty, or if test() or wait() has found it complete. Makes no
  /// progress itself.
  bool complete() const noexcept { return core_ == nullptr; }

 private:
  bool look();
  void await();
  void end() noexcept;
  void release();

  void swap(Request& o) noexcept {
    std::swap(core_, o.core_);
    std::swap(plan_run_, o.plan_run_);
    std::swap(owned_, o.owned_);
  }

  TeamCore* core_ = nullptr;  ///< null: complete
  RequestRun* plan_run_ = nullptr;
  detail::Shared<const void> owned_;
  int exceptions_ = std::uncaught_exceptions();
};

namespace detail {

[[noreturn, gnu::cold]] inline void refuse_no_call(const char* what) {
  throw argument_error(joined({"papcoll: ", what,
                               " of a call that is none: it was moved from, or is not what a "
                               "collective returned"}));
}

/// No buffer: this one stays its caller's.
struct NotOwned {};

/// Has a call's views copied, for one that outlasts what they were made of: what keeps alive these
/// and `owned`.
PAPCOLL_DECL Shared<const void> with_views(Call& call, Shared<const void> owned);

}  // namespace detail

/// A Request whose call owns one or two buffers that were moved into it; wait() returns them. `In`,
/// `Out`: their types; NotOwned for one that the caller kept.
///
/// Example:
///
///     std::vector<double> v(100);
///     v = papcoll::iallreduce(comm, std::move(v)).wait();
template <class In, class Out> class OwningRequest : public Request {
 public:
  /// True if the output is one of the buffers that are kept.
  static constexpr bool owns_output = !std::is_same_v<Out, detail::NotOwned>;

  OwningRequest() = default;
  /// For the library: i-collectives make one.
  OwningRequest(Request request, detail::Shared<In> in, detail::Shared<Out> out) noexcept
      : Request(std::move(request)), in_(std::move(in)), out_(std::move(out)) {}

  /// Waits until the call is complete, and returns the buffer that was moved in, or a std::pair of
  /// input and output. May be called once: afterwards the request's buffers are moved from. Throws
  /// argument_error if this request is empty, and what Request::wait() throws.
  auto wait() {
    if (in_ == nullptr && out_ == nullptr) detail::refuse_no_call("wait()");
    Request::wait();
    if constexpr (!owns_output) {
      return In{std::move(*in_)};
    } else if constexpr (std::is_same_v<In, detail::NotOwned>) {
      return Out{std::move(*out_)};
    } else {
      return std::pair<In, Out>{std::move(*in_), std::move(*out_)};
    }
  }

 private:
  detail::Shared<In> in_;
  detail::Shared<Out> out_;
};

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/base/call.hpp>
#include <papcoll/runtime/plan_runs.hpp>
#include <papcoll/runtime/team.hpp>

#include <new>
#include <string>

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
PAPCOLL_DECL Request start_checked(const CallOrigin& origin, const AlgorithmSpec& spec,
                                   const TransportTable& transport, const Call& call,
                                   Shared<const void> owned) {
  RequestRun* const plan_run = origin.core.start(spec.schedule, transport, call, spec.order);
  if (plan_run == nullptr) return {};
  return {origin.core, *plan_run, std::move(owned)};
}

PAPCOLL_DECL Request start_spec(const CallOrigin& origin, const AlgorithmSpec& spec, Call& call,
                                Shared<const void> owned) {
  if (spec.hierarchical != nullptr) {
    refuse_call(origin.core, {call.collective, true, call.counts != nullptr},
                *first_requirement(requirement::blocking_call), {.algorithm = "Hierarchical"});
  }
  const TransportTable& transport = transport_for(origin, spec, call.memory);
  apply_contract(call, spec);
  if (spec.arrival != nullptr) check_arrival(origin, *spec.arrival, transport, call);
  check_named_schedule(origin, spec, call);
  return start_checked(origin, spec, transport, call, std::move(owned));
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
    core_->abort_team(detail::joined({"papcoll: an exception on rank ", core_->rank(),
                                      " destroyed a request before it was complete"}));
  }
  TeamCore& core = *core_;
  try {
    await();
  } catch (const std::exception& problem) {
    // The communicator remembers it, also where this thread may not wait, and so does not know when
    // the buffers are free. What a transport may still read is leaked on purpose.
    core.abort_team(problem);
    if (core_ != nullptr) core.requests.forget(*plan_run_);
    if (core.may_still_access_buffers()) {
      static_cast<void>(new (std::nothrow) detail::Shared<const void>(std::move(owned_)));
    }
  }
}

}  // namespace papcoll::inline PAPCOLL_ABI
#endif
