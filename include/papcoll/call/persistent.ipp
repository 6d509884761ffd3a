#pragma once

#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/arrival/arrival_monitor.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/call/persistent.hpp>
#include <papcoll/call/request.ipp>
#include <papcoll/call/run.ipp>
#include <papcoll/node/call_words.hpp>
#include <papcoll/runtime/call_counter.hpp>
#include <papcoll/runtime/memory/freed_buffer_watch.hpp>
#include <papcoll/runtime/memory/registrations.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/schedule/plan_cache.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// A call that was checked, and what of its way through the library stays from time to time.
class PreparedCall : Pinned {
 public:
  [[gnu::cold]] PreparedCall(const Caller& caller, const AlgorithmSpec& spec, const Call& call,
                             const CallActions& actions, const Algorithm& named,
                             detail::Shared<const void> owned)
      : core_(caller.core.share()),
        collective_(caller.collective),
        call_(call),
        actions_(actions),
        named_(named),
        // The policies' is never destroyed.
        spec_(&spec == &named.spec() ? named_.spec() : spec),
        owned_(std::move(owned)),
        watch_(core_->buffer_watch()),
        buffers_(watched(call.in), watched(call.out)) {
    settle();
    watch_->add(buffers_);
  }
  [[gnu::cold]] ~PreparedCall() { watch_->remove(buffers_); }

  const TeamCore& core() const noexcept { return *core_; }
  Collective collective() const noexcept { return collective_; }

  /// What it adds to the algorithm's own time.
  [[gnu::always_inline]] void run() {
    TeamCore& core = *core_;
    const bool stands = runs_ != nullptr && generation_ == core.generation() &&
                        registrations_ == registrations(core) && !buffers_.freed();
    if (stands) [[likely]]
      return core.run(*runs_, words_, call_);
    run_anew();
  }

  Request start() {
    require_buffers(true);
    Call call = call_;
    if (!start_is_settled_ && !core_->broken()) {
      start_plan_ = plan_of(actions_.settle(caller(true), spec_, call));
      start_is_settled_ = true;
      call = call_;
    }
    call.plan = start_plan_.plan == nullptr ? nullptr : &start_plan_;
    return actions_.start(caller(true), spec_, call, owned_);
  }

 private:
  Caller caller(bool non_blocking = false) const {
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
    caller(non_blocking)
        .refuse(
            "the shared_vector that was its buffer when it was made persistent was freed, or "
            "has grown and lies elsewhere: make it anew");
  }

  [[gnu::noinline]] void run_anew() {
    TeamCore& core = *core_;
    require_buffers(false);
    if (core.on_one_node() && !core.broken()) {
      if (registrations_ != registrations(core) || generation_ != core.generation()) settle();
    }
    if (runs_ != nullptr) return core.run(*runs_, words_, call_);
    Call call = call_;
    actions_.run(caller(), spec_, call);
  }

  /// Kept, so that no call makes it anew; of nothing: the call runs by no plan that is known
  /// beforehand.
  PlanOf plan_of(const Settled& settled) const noexcept {
    if (!settled.schedule || is_empty(call_) || !has_data(collective_)) return {};
    try {
      return core_->plan_of(settled.schedule, call_);
    } catch (const std::exception&) {  // the call makes it, and can tell its peers if it cannot
      return {};
    }
  }

  /// Finds out what runs, as far as that is known before the call.
  [[gnu::cold]] void settle() {
    TeamCore& core = *core_;
    const Settled settled = actions_.settle(caller(), spec_, call_);
    runs_ = settled.arrival;
    plan_ = plan_of(settled);
    call_.plan = plan_.plan == nullptr ? nullptr : &plan_;
    // What lies apart is packed on the way; and while candidates are tried, calls differ.
    if (!core.on_one_node() || call_.apart || call_.trial.candidates != 0) runs_ = nullptr;
    if (core.on_one_node()) generation_ = core.generation();
    registrations_ = registrations(core);
    if (runs_ == nullptr) return;
    words_ = words_of(call_, runs_->id);
    if (registrations_ == 0) return;
    // A registered buffer is replaced anew for each call, since what it shares pages with changes.
    const CallInArena moved{*core.registrations(), call_, core.rank(), core.size()};
    if (moved.any()) runs_ = nullptr;
  }

  // What a call looks at, together.
  detail::Shared<TeamCore> core_;
  const ArrivalAlgorithm* runs_ = nullptr;  ///< null: that is for actions_.run to find
  std::uint32_t generation_ = 0;            ///< of what was known when that was last looked at
  std::uint32_t registrations_ = 0;         ///< when it was settled
  CallWords words_;                         ///< of call_, by *runs_
  Collective collective_;
  Call call_;

  PlanOf plan_;        ///< of blocking calls
  PlanOf start_plan_;  ///< of start()
  bool start_is_settled_ = false;
  CallActions actions_;
  Algorithm named_;
  const AlgorithmSpec& spec_;
  detail::Shared<const void> owned_;
  detail::Shared<BufferWatch> watch_;
  WatchedBuffers buffers_;
};

PAPCOLL_DECL Settled settle_spec(const Caller& caller, const AlgorithmSpec& spec, Call& call) {
  state_contract(call, spec);
  if (spec.hierarchical != nullptr) return {};  // checks itself, phase by phase
  const TransportTable& transport = transport_for(caller, spec, call.memory);
  if (spec.arrival == nullptr) {
    check_named_schedule(caller, spec, call);
    const bool in_rank_order = !spec.order && spec.tickets == nullptr;
    return {nullptr, in_rank_order ? spec.schedule : AnySchedule{}};
  }
  check_arrival(caller, *spec.arrival, transport, call);
  return {transport.make_site == nullptr ? spec.arrival : nullptr, {}};
}

PAPCOLL_DECL Persistent prepare_call(const Caller& caller, const AlgorithmSpec& spec,
                                     const Call& call, const CallActions& actions,
                                     const Algorithm& named, detail::Shared<const void> owned) {
  return Persistent{
      detail::make_owned<PreparedCall>(caller, spec, call, actions, named, std::move(owned))};
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
  if (under_way()) {
    detail::throw_error<argument_error>({"papcoll: rank ", call_->core().rank(), ": ", what,
                                         " of a persistent ", name_of(call_->collective()),
                                         " that is under way: wait() for it first"});
  }
  return *call_;
}

PAPCOLL_DECL void Persistent::operator()() {
  if (call_ == nullptr || under_way()) [[unlikely]]
    static_cast<void>(ready_for("a call"));
  call_->run();
}

PAPCOLL_DECL void Persistent::start() { request_ = ready_for("start()").start(); }

}  // namespace papcoll::inline PAPCOLL_ABI
