#pragma once

#include <papcoll/base/pointers.hpp>
#include <papcoll/call/team_of.hpp>

#include <exception>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

class RequestRun;

/// A non-blocking collective under way. Owns its operator, counts and displacements; the buffers
/// belong to the caller, live and must not be touched until the request is complete, unless they
/// were moved into the call (OwningRequest). Any papcoll call of the thread that started it moves
/// it along; another thread must not wait for it, nor use its communicator meanwhile.
/// Once its MPI communicator is freed, or MPI_Finalize was called, it throws broken_communicator.
///
/// A request that is destroyed before it is complete waits for itself. If an exception destroys it,
/// its buffers may be next, so the communicator is broken, on all ranks, and it does not wait; the
/// same if another thread destroys it.
///
/// At the communication assertion level (PAPCOLL_ASSERTIONS=2) it begins with a small allreduce
/// that compares the ranks' calls. Where they differ, test() and wait() throw peer_error on all
/// ranks, and nothing was written; if nobody asks, its destructor breaks the communicator. Of the
/// first request over MPI messages on a node, the start itself compares and throws.
class Request {
 public:
  Request() = default;
  /// For the library: i-collectives make one.
  Request(TeamCore& core, RequestRun& plan_run, detail::Shared<const void> owned)
      : core_(&core), plan_run_(&plan_run), owned_(std::move(owned)) {}
  /// The one moved from is complete.
  Request(Request&& o) noexcept { swap(o); }
  /// An OwningRequest would lose the output that its wait() gives back: keep it by `auto`.
  template <class Owning>
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload,google-explicit-constructor)
  requires(Owning::owns_output) Request(Owning&&)
  = delete;
  /// Ends the request that was here as the destructor does.
  Request& operator=(Request&& o) noexcept {
    Request moved{std::move(o)};
    swap(moved);
    return *this;
  }
  ~Request() {
    if (core_ != nullptr) end();
  }

  /// Moves the communication along, and says if it is complete. Never waits. Throws what the call
  /// would throw.
  bool test() { return core_ == nullptr || look(); }

  /// Waits until the call is complete.
  void wait() {
    if (core_ != nullptr) await();
  }

  /// Has test() or wait() found it complete? Moves nothing along.
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

/// Each checks the call against what the spec names, and starts it. `owned` keeps alive what the
/// call's reducer points to.
PAPCOLL_DECL Request start_spec(const Caller& caller, const AlgorithmSpec& spec, Call& call,
                                detail::Shared<const void> owned);

/// Has a call's views copied, for one that outlasts what they were made of: what keeps alive these
/// and `owned`.
PAPCOLL_DECL detail::Shared<const void> with_views(Call& call, detail::Shared<const void> owned);

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/call/request.ipp>
#endif
