#pragma once

#include <papcoll/entry.hpp>

#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

/// A non-blocking collective under way. Owns its operator; the buffers belong to the caller and
/// must not be touched until the request is complete. Any papcoll call of the thread that started
/// it moves it along; another thread must not wait for it, nor use its communicator meanwhile.
/// Its communicator must outlive it.
///
/// A request that is destroyed before it is complete waits for itself. If an exception destroys it,
/// its buffers may be next, so the communicator is broken, on all ranks, and it does not wait.
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
    if (core_ != nullptr) end<>();
  }

  /// Moves the communication along, and says if it is complete. Never waits. Throws what the call
  /// would throw.
  bool test() { return core_ == nullptr || look<>(); }

  /// Waits until the call is complete.
  void wait() {
    if (core_ != nullptr) await<>();
  }

  bool complete() const noexcept { return core_ == nullptr; }

 private:
  template <class = void>
  bool look();
  template <class = void>
  void await();
  template <class = void>
  void end() noexcept;

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
  int exceptions_ = std::uncaught_exceptions();
};

template <class>
bool Request::look() {
  if (!core_->test(*execution_)) return false;
  release();
  return true;
}

template <class>
void Request::await() {
  core_->wait(*execution_);
  release();
}

template <class>
void Request::end() noexcept {
  if (std::uncaught_exceptions() > exceptions_) {
    core_->fail_everywhere("papcoll: an exception on rank " + std::to_string(core_->rank()) +
                           " destroyed a request before it was complete");
  }
  try {
    await<>();
  } catch (const error&) {
    // The communicator remembers it. What a transport may still read is leaked on purpose.
    if (core_->holds_on()) {
      static_cast<void>(new (std::nothrow) std::shared_ptr<const void>(std::move(owned_)));
    }
  }
}

PAPCOLL_COMPILE_ONCE(bool Request::look<>())
PAPCOLL_COMPILE_ONCE(void Request::await<>())
PAPCOLL_COMPILE_ONCE(void Request::end<>() noexcept)

namespace detail {

template <class = void>
Request start(const Caller& caller, const Selection& selection, Call& call, Choose* choose,
              std::shared_ptr<const void> owned) {
  if (selection.composite != nullptr) {
    caller.refuse(
        "Hierarchical cannot be non-blocking: take a static schedule or the blocking call");
  }
  const Resolved r{caller, selection, call, choose};
  Execution* const execution =
      caller.core.start(*r.schedule, *r.transport, call, selection.predictor);
  if (execution == nullptr) return {};
  return {caller.core, *execution, std::move(owned)};
}
PAPCOLL_COMPILE_ONCE(Request start<>(const Caller&, const Selection&, Call&, Choose*,
                                     std::shared_ptr<const void>))

/// Starts a call on the plan floor. `owned` keeps alive what the call's reducer points to.
/// `Commutes`: its operator is known to commute (true without operator).
template <class Tag, bool Commutes, class... Ps>
Request start(const Caller& caller, Call& call, const Algorithm& algorithm,
              std::shared_ptr<const void> owned) {
  return start<>(caller, selection_of<Tag, true, Commutes, Ps...>(caller, algorithm), call,
                 &choose<Tag::value>, std::move(owned));
}

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
