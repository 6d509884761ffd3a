#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/call/request.hpp>
#include <papcoll/call/team_of.hpp>
#include <papcoll/choice/policies/algorithm.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <type_traits>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {
class PreparedCall;
}  // namespace detail

/// A collective call that is made again and again: after `auto sum = allreduce_init(comm, data);`,
/// `sum();` as often as wanted. What can be settled once is: arguments are checked, counts and the
/// operator are copied, the algorithm is chosen. Buffers stay the caller's, who keeps them, or
/// were moved into it (OwningPersistent): each call reads and writes what is in them then.
///
/// `sum()` blocks, and is allreduce(comm, data) in all but its cost: an algorithm that is chosen
/// follows the arrivals, and other ranks may make the plain call. `sum.start()` and `sum.wait()`
/// are iallreduce(comm, data) and the wait for its Request: a static schedule, and one call under
/// way at a time.
///
/// All ranks make theirs in the same order as their other calls on the communicator. It waits for
/// nobody. An argument that is wrong on one rank throws argument_error there; the others hear of it
/// (peer_error) in their next blocking call on the communicator, and do without theirs, too.
///
/// It is moved, not copied, and stays with the thread of its communicator. Once that is broken or
/// freed, calls throw broken_communicator. If a buffer was a shared_vector's, and that was freed or
/// has grown, they throw argument_error, and the peers peer_error; of other memory that is not
/// seen, and undefined. A buffer may be registered, and its registration end, between calls.
class Persistent {
 public:
  /// Of nothing: it cannot be called or started.
  Persistent() noexcept;
  /// For the library: X_init() makes one.
  explicit Persistent(detail::Owned<detail::PreparedCall> call) noexcept;
  /// The one moved from is of nothing.
  Persistent(Persistent&&) noexcept;
  /// An OwningPersistent would lose the output that its output() refers to: keep it by `auto`.
  template <class Owning>
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload,google-explicit-constructor)
  requires(Owning::owns_output) Persistent(Owning&&)
  = delete;
  /// Ends the one that was here as the destructor does.
  Persistent& operator=(Persistent&& other) noexcept;
  /// One that is under way waits for itself, or breaks its communicator, as a Request does.
  ~Persistent();

  /// Makes the call, and returns when it is complete. Throws what the call of that name throws, and
  /// argument_error if it is under way, or of nothing.
  void operator()();

  /// Starts the call without waiting. Throws as the non-blocking call of that name, and
  /// argument_error if it is under way, or of nothing.
  void start();
  /// As Request::test(): moves what was started along, and says if it is complete.
  bool test() { return request_.test(); }
  /// As Request::wait(): returns when what was started is complete.
  void wait() { request_.wait(); }
  /// Was it started, and has neither test() nor wait() found it complete since?
  bool under_way() const noexcept { return !request_.complete(); }

 private:
  detail::PreparedCall& ready_for(const char* what) const;

  detail::Owned<detail::PreparedCall> call_;
  Request request_;  ///< ends before what it borrows from call_
};

namespace detail {

/// What a call runs by, as far as it is known beforehand; neither: that is found in the call.
struct Settled {
  /// A blocking call's, until ranks know something else of their arrivals.
  const ArrivalAlgorithm* arrival = nullptr;
  AnySchedule schedule;  ///< in the order of the ranks
};

/// What a call does when it is asked to, once its collective and what it names are known.
struct CallActions {
  void (*run)(const Caller&, const AlgorithmSpec&, Call&);
  Request (*start)(const Caller&, const AlgorithmSpec&, Call&, detail::Shared<const void>);
  /// Checks a call, blocking or not as its caller says.
  Settled (*settle)(const Caller&, const AlgorithmSpec&, Call&);
};

/// Of a spec that leaves nothing open.
PAPCOLL_DECL Settled settle_spec(const Caller& caller, const AlgorithmSpec& spec, Call& call);

/// Makes one of a checked call. `named` keeps alive what the spec borrows, `owned` what the call
/// does.
PAPCOLL_DECL Persistent prepare_call(const Caller& caller, const AlgorithmSpec& spec,
                                     const Call& call, const CallActions& actions,
                                     const Algorithm& named, detail::Shared<const void> owned);

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/call/persistent.ipp>
#endif
