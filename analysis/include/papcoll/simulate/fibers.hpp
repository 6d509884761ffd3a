// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <ucontext.h>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Functions of one thread that give way to each other in the middle: only one runs, until it says
/// who is next.
class Fibers : Pinned {
 public:
  using Body = std::function<void(std::size_t)>;

  explicit Fibers(std::size_t count) : fibers_(count) {}

  /// Runs body(i) on each fiber, `first` first. `next()` returns the fiber that continues when one
  /// has ended; count(): none. Throws what a body throws; the other fibers' stacks are then dropped
  /// as they are.
  void run(const Body& body, const std::function<std::size_t()>& next, std::size_t first) {
    body_ = &body;
    next_ = &next;
    failure_ = nullptr;
    for (Fiber& f : fibers_) prepare(f);
    current_ = first;
    swapcontext(&main_, &fibers_[first].context);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  std::size_t count() const noexcept { return fibers_.size(); }
  std::size_t current() const noexcept { return current_; }

  /// The running fiber gives way.
  void switch_to(std::size_t next) {
    ucontext_t& from = fibers_[current_].context;
    current_ = next;
    swapcontext(&from, &fibers_[next].context);
  }

 private:
  static constexpr std::size_t stack_bytes = std::size_t{256} << 10U;

  struct Fiber {
    ucontext_t context{};
    std::unique_ptr<std::byte[]> stack;
  };

  void prepare(Fiber& f) {
    if (!f.stack) f.stack.reset(new std::byte[stack_bytes]);
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = f.stack.get();
    f.context.uc_stack.ss_size = stack_bytes;
    f.context.uc_link = nullptr;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&f.context, reinterpret_cast<void (*)()>(&Fibers::enter), 2,
                static_cast<unsigned>(self), static_cast<unsigned>(self >> 32U));
  }

  static void enter(unsigned low, unsigned high) {
    auto* const self = reinterpret_cast<Fibers*>(  // NOLINT(performance-no-int-to-ptr)
        (std::uintptr_t{high} << 32U) | low);
    try {
      (*self->body_)(self->current_);
      const std::size_t next = (*self->next_)();
      if (next != self->count()) self->leave_to(next);
    } catch (...) {
      self->failure_ = std::current_exception();
    }
    setcontext(&self->main_);
    std::terminate();
  }

  [[noreturn]] void leave_to(std::size_t next) {
    current_ = next;
    setcontext(&fibers_[next].context);
    std::terminate();
  }

  std::vector<Fiber> fibers_;
  ucontext_t main_{};
  std::size_t current_ = 0;
  const Body* body_ = nullptr;
  const std::function<std::size_t()>* next_ = nullptr;
  std::exception_ptr failure_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
