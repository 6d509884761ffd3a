#pragma once

#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/call/team_of.hpp>

#include <exception>
#include <type_traits>
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

/// A Request whose call owns a buffer, or two, that its caller moved into it: wait() gives them
/// back. In, Out: their types; NotOwned where the caller kept one.
///
///     v = papcoll::iallreduce(comm, std::move(v)).wait();
template <class In, class Out>
class OwningRequest : public Request {
 public:
  /// Is the output one of the buffers?
  static constexpr bool owns_output = !std::is_same_v<Out, detail::NotOwned>;

  OwningRequest() = default;
  /// For the library: i-collectives make one.
  OwningRequest(Request request, detail::Shared<In> in, detail::Shared<Out> out) noexcept
      : Request(std::move(request)), in_(std::move(in)), out_(std::move(out)) {}

  /// Waits until the call is complete, and gives back the buffer: the one that was moved in, or a
  /// std::pair of input and output. Once; then they are as moved from. Throws argument_error where
  /// this is no request, and what Request::wait() throws.
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
#include <papcoll/call/request.ipp>
#endif
