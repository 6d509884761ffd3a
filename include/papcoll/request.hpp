#pragma once

#include <papcoll/entry.hpp>

#include <exception>

#include <memory>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

/// A non-blocking collective under way. Owns its operator; the buffers belong to the caller and must
/// not be touched until the request is complete. Any papcoll call of the rank moves it along. Its
/// communicator must outlive it. A request that is destroyed before it is complete waits for itself,
/// except while an exception is unwinding.
class Request {
 public:
  Request() = default;
  Request(TeamCore& core, Execution& execution, std::shared_ptr<const void> owned)
      : core_(&core), execution_(&execution), owned_(std::move(owned)) {}
  Request(Request&& o) noexcept { swap(o); }
  Request& operator=(Request&& o) noexcept {
    Request moved{std::move(o)};
    swap(moved);
    return *this;
  }
  ~Request() {
    if (core_ == nullptr) return;
    if (core_->broken() || std::uncaught_exceptions() > 0) {
      // The engine may still read the operator: whatever it owns is leaked with it.
      static_cast<void>(new std::shared_ptr<const void>(std::move(owned_)));
      return;
    }
    try {
      wait();
    } catch (const error&) {  // NOLINT(bugprone-empty-catch): the communicator remembers it
    }
  }

  /// Moves the communication along, and says if it is complete. Never waits. Throws what the call
  /// would throw.
  bool test() {
    if (core_ == nullptr) return true;
    if (!execution_->done()) core_->progress();
    if (!execution_->done()) return false;
    release();
    return true;
  }

  /// Waits until the call is complete.
  void wait() {
    if (core_ == nullptr) return;
    core_->wait(*execution_);
    release();
  }

  bool complete() const noexcept { return core_ == nullptr; }

 private:
  void swap(Request& o) noexcept {
    std::swap(core_, o.core_);
    std::swap(execution_, o.execution_);
    std::swap(owned_, o.owned_);
  }
  void release() noexcept {
    core_->finish(*execution_);
    core_ = nullptr;
    owned_.reset();
  }

  TeamCore* core_ = nullptr;  ///< null: complete
  Execution* execution_ = nullptr;
  std::shared_ptr<const void> owned_;
};

namespace detail {

/// Starts a call on the plan floor. `owned` keeps alive what the call's reducer points to.
inline Request start(TeamCore& core, const Selection& selection, Call& call, Choose* choose,
                     std::shared_ptr<const void> owned) {
  const Resolved r{core, selection, call, choose, true};
  if (call.count == 0 && call.counts == nullptr && call.collective != Collective::barrier)
    return {};
  return {core, core.start(*r.schedule, *r.transport, call), std::move(owned)};
}

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
