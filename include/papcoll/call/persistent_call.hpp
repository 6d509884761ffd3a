// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/call/request.hpp>
#include <papcoll/call/route.hpp>
#include <papcoll/choice/policies/algorithm_spec.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <type_traits>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {
namespace detail {
class PreparedCall;
}  // namespace detail

/// A collective call that is prepared once and made again and again.
///
/// Arguments are checked, counts and operator copied, and the algorithm chosen, once. The buffers
/// stay the caller's and must outlive it, or were moved into it (OwningPersistent); each call reads
/// and writes their present contents.
///
/// `sum()` blocks, and is equivalent to the plain call in all but its cost: a chosen algorithm
/// follows the arrivals, and other ranks may make the plain call. `sum.start()` and `sum.wait()`
/// are equivalent to the non-blocking call and the wait for its Request: a static schedule, one
/// call in flight at a time.
///
/// All ranks make their _init calls in the same order as their other calls on the communicator. An
/// _init call does not wait. Invalid arguments on one rank throw argument_error there; the others
/// throw peer_error in their next blocking call on the communicator, and should not use theirs,
/// either.
///
/// It is moved, not copied, and stays with the thread of its communicator. Once that is broken or
/// freed, calls throw broken_communicator. If a buffer was a shared_vector's that was freed or has
/// grown, they throw argument_error, and the peers peer_error; for other memory this is not
/// detected, and undefined. A buffer may be registered, and its registration end, between calls.
///
/// Example:
///
///     papcoll::Persistent sum = papcoll::allreduce_init(comm, data);
///     for (int i = 0; i < 10; ++i) sum();
class Persistent {
 public:
  /// Constructs an empty one, which cannot be called or started.
  Persistent() noexcept;
  /// For the library: the _init functions make one.
  explicit Persistent(detail::Owned<detail::PreparedCall> call) noexcept;
  /// Moves. The one moved from is empty.
  Persistent(Persistent&&) noexcept;
  /// Deleted: an OwningPersistent would lose the output that output() refers to. Declare it with
  /// auto.
  template <class Owning>
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload,google-explicit-constructor)
  requires(Owning::owns_output) Persistent(Owning&&)
  = delete;
  /// Ends this one as the destructor does, then moves.
  Persistent& operator=(Persistent&& other) noexcept;
  /// If a call is in flight, waits for it or breaks the communicator, as ~Request() does.
  ~Persistent();

  /// Makes the call, and returns when it is complete. Throws what the plain call throws, and
  /// argument_error if a call is in flight or this one is empty.
  void operator()();

  /// Starts the call; does not wait. Throws what the non-blocking call throws, and argument_error
  /// if a call is in flight or this one is empty.
  void start();
  /// Makes progress on the call that was started; returns true if it is complete. As
  /// Request::test().
  bool test() { return request_.test(); }
  /// Returns when the call that was started is complete. As Request::wait().
  void wait() { request_.wait(); }
  /// Returns true if it was started, and neither test() nor wait() has found it complete since.
  bool is_active() const noexcept { return !request_.complete(); }

 private:
  detail::PreparedCall& ready_for(const char* what) const;

  detail::Owned<detail::PreparedCall> call_;
  Request request_;  ///< ends before what it borrows from call_
};

namespace detail {

/// The algorithm of a prepared call, as far as it is known before the call. If both members are
/// empty, each call chooses.
struct ResolvedAlgorithm {
  /// A blocking call's, until ranks know something else of their arrivals.
  const ArrivalAlgorithm* arrival = nullptr;
  AnySchedule schedule;  ///< in the order of the ranks
};

/// Makes one of a checked call. `named` keeps alive what the spec borrows, `owned` what the call
/// does.
PAPCOLL_DECL Persistent prepare_call(const CallOrigin& origin, const AlgorithmSpec& spec,
                                     const Call& call, const CallActions& actions,
                                     const Algorithm& named, Shared<const void> owned);

}  // namespace detail

/// A Persistent whose call owns one or two buffers that were moved into it. Between calls they may
/// be read and written in place.
template <class In, class Out> class OwningPersistent : public Persistent {
 public:
  /// True if the output is one of the buffers that are kept.
  static constexpr bool owns_output = !std::is_same_v<Out, detail::NotOwned>;

  OwningPersistent() = default;
  /// For the library: X_init() makes one.
  OwningPersistent(Persistent call, detail::Shared<In> in, detail::Shared<Out> out) noexcept
      : Persistent(std::move(call)), in_(std::move(in)), out_(std::move(out)) {}

  /// Returns the input that was moved in; its elements may be changed, its length may not. Throws
  /// argument_error if this one is empty.
  In& input() { return found(in_); }
  /// Returns the output that was moved in, or the one buffer of a call in place. Throws
  /// argument_error if this one is empty.
  Out& output() { return found(out_); }

 private:
  template <class Buffer> static Buffer& found(const detail::Shared<Buffer>& buffer) {
    if (buffer == nullptr) detail::refuse_no_call("a buffer");
    return *buffer;
  }

  detail::Shared<In> in_;
  detail::Shared<Out> out_;
};

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/arrival/arrival_monitor.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/node/call_fingerprint.hpp>
#include <papcoll/runtime/memory/registrations.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/runtime/team_context.hpp>
#include <papcoll/schedule/make_plan.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {
namespace detail {

/// A call that was checked, and what of its way through the library stays from time to time.
class PreparedCall : Pinned {
 public:
  [[gnu::cold]] PreparedCall(const CallOrigin& origin, const AlgorithmSpec& spec, const Call& call,
                             const CallActions& actions, const Algorithm& named,
                             Shared<const void> owned)
      : core_(origin.core.share()),
        collective_(origin.collective),
        call_(call),
        actions_(actions),
        named_(named),
        // The policies' is never destroyed.
        spec_(&spec == &named.spec() ? named_.spec() : spec),
        owned_(std::move(owned)),
        watch_(core_->buffer_watch()),
        buffers_(watched(call.in), watched(call.out)) {
    resolve();
    watch_->add(buffers_);
  }
  [[gnu::cold]] ~PreparedCall() { watch_->remove(buffers_); }

  const TeamCore& core() const noexcept { return *core_; }
  Collective collective() const noexcept { return collective_; }

  /// What it adds to the algorithm's own time.
  [[gnu::always_inline]] void run() {
    TeamCore& core = *core_;
    const bool stands = algorithm_ != nullptr && generation_ == core.node.generation() &&
                        registrations_ == registrations(core) && !buffers_.freed();
    if (stands) [[likely]]
      return core.run(*algorithm_, fingerprint_, call_);
    resolve_and_run();
  }

  Request start() {
    require_buffers(true);
    Call call = call_;
    if (!start_is_resolved_ && !core_->broken()) {
      start_plan_ = plan_of(actions_.resolve(origin(true), spec_, call));
      start_is_resolved_ = true;
      call = call_;
    }
    call.plan = start_plan_.plan == nullptr ? nullptr : &start_plan_;
    return actions_.start(origin(true), spec_, call, owned_);
  }

 private:
  CallOrigin origin(bool non_blocking = false) const {
    return {*core_, collective_, non_blocking, call_.counts != nullptr};
  }

  const std::byte* watched(const std::byte* buffer) const noexcept {
    return has_data(collective_) && !is_empty(call_) ? buffer : nullptr;
  }

  static std::uint32_t registrations(const TeamCore& core) noexcept {
    const Registrations* const all = core.registrations().get();
    return all != nullptr ? all->changes() : 0;
  }

  void require_buffers(bool non_blocking) const {
    if (!buffers_.freed()) return;
    origin(non_blocking)
        .refuse(
            "the shared_vector that was its buffer when it was made persistent was freed, or "
            "has grown and lies elsewhere: make it anew");
  }

  [[gnu::noinline]] void resolve_and_run() {
    TeamCore& core = *core_;
    require_buffers(false);
    if (core.on_one_node() && !core.broken()) {
      if (registrations_ != registrations(core) || generation_ != core.node.generation()) resolve();
    }
    if (algorithm_ != nullptr) return core.run(*algorithm_, fingerprint_, call_);
    Call call = call_;
    actions_.run(origin(), spec_, call);
  }

  /// The plan is kept, so that no call makes it again. Empty: the call runs by no plan that is
  /// known before.
  PlanOf plan_of(const ResolvedAlgorithm& resolved) const noexcept {
    if (!resolved.schedule || is_empty(call_) || !has_data(collective_)) return {};
    try {
      return core_->plan_runs.plan_of(resolved.schedule, call_);
    } catch (const std::exception&) {  // the call makes it, and can notify its peers if it cannot
      return {};
    }
  }

  /// Finds out what runs, as far as that is known before the call.
  [[gnu::cold]] void resolve() {
    TeamCore& core = *core_;
    const ResolvedAlgorithm resolved = actions_.resolve(origin(), spec_, call_);
    algorithm_ = resolved.arrival;
    plan_ = plan_of(resolved);
    call_.plan = plan_.plan == nullptr ? nullptr : &plan_;
    // Buffers that are not contiguous are packed on the way; and while candidates are tried, calls
    // differ.
    if (!core.on_one_node() || call_.is_noncontiguous || call_.trial.candidates != 0)
      algorithm_ = nullptr;
    if (core.on_one_node()) generation_ = core.node.generation();
    registrations_ = registrations(core);
    if (algorithm_ == nullptr) return;
    fingerprint_ = fingerprint_of(call_, algorithm_->id);
    if (registrations_ == 0) return;
    // A registered buffer is replaced anew for each call, since what it shares pages with changes.
    const CallInArena moved{*core.registrations(), call_, core.rank(), core.size()};
    if (moved.any()) algorithm_ = nullptr;
  }

  // What a call looks at, together.
  Shared<TeamCore> core_;
  const ArrivalAlgorithm* algorithm_ = nullptr;  ///< null: that is for actions_.run to find
  std::uint32_t generation_ = 0;                 ///< of what was known when that was last looked at
  std::uint32_t registrations_ = 0;              ///< when it was resolved
  CallFingerprint fingerprint_;                  ///< of call_, by *algorithm_
  Collective collective_;
  Call call_;

  PlanOf plan_;        ///< of blocking calls
  PlanOf start_plan_;  ///< of start()
  bool start_is_resolved_ = false;
  CallActions actions_;
  Algorithm named_;
  const AlgorithmSpec& spec_;
  Shared<const void> owned_;
  Shared<BufferWatch> watch_;
  WatchedBuffers buffers_;
};

PAPCOLL_DECL ResolvedAlgorithm resolve_spec(const CallOrigin& origin, const AlgorithmSpec& spec,
                                            Call& call) {
  apply_contract(call, spec);
  if (spec.hierarchical != nullptr) return {};  // checks itself, phase by phase
  const TransportTable& transport = transport_for(origin, spec, call.memory);
  if (spec.arrival == nullptr) {
    check_named_schedule(origin, spec, call);
    const bool in_rank_order = !spec.order && spec.tickets == nullptr;
    return {nullptr, in_rank_order ? spec.schedule : AnySchedule{}};
  }
  check_arrival(origin, *spec.arrival, transport, call);
  return {transport.make_context == nullptr ? spec.arrival : nullptr, {}};
}

PAPCOLL_DECL Persistent prepare_call(const CallOrigin& origin, const AlgorithmSpec& spec,
                                     const Call& call, const CallActions& actions,
                                     const Algorithm& named, Shared<const void> owned) {
  return Persistent{make_owned<PreparedCall>(origin, spec, call, actions, named, std::move(owned))};
}

}  // namespace detail

PAPCOLL_DECL Persistent::Persistent() noexcept = default;
PAPCOLL_DECL Persistent::Persistent(detail::Owned<detail::PreparedCall> call) noexcept
    : call_(std::move(call)) {}
PAPCOLL_DECL Persistent::Persistent(Persistent&&) noexcept = default;
PAPCOLL_DECL Persistent::~Persistent() = default;
PAPCOLL_DECL Persistent& Persistent::operator=(Persistent&& other) noexcept {
  Persistent moved{std::move(other)};
  std::swap(call_, moved.call_);
  std::swap(request_, moved.request_);
  return *this;  // and the request that was here ends before its call
}

PAPCOLL_DECL detail::PreparedCall& Persistent::ready_for(const char* what) const {
  if (call_ == nullptr) {
    detail::throw_error<argument_error>(
        {"papcoll: ", what,
         " of a Persistent that is of no call: it was moved from, or is not "
         "what an X_init() returned"});
  }
  if (is_active()) {
    detail::throw_error<argument_error>({"papcoll: rank ", call_->core().rank(), ": ", what,
                                         " of a persistent ", name_of(call_->collective()),
                                         " that is under way: wait() for it first"});
  }
  return *call_;
}

PAPCOLL_DECL void Persistent::operator()() {
  if (call_ == nullptr || is_active()) [[unlikely]]
    static_cast<void>(ready_for("a call"));
  call_->run();
}

PAPCOLL_DECL void Persistent::start() { request_ = ready_for("start()").start(); }

}  // namespace papcoll::inline PAPCOLL_ABI
#endif
