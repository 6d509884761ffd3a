// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Ranks as fibers of one thread, and who of them runs. A fiber gives the scheduler a say at each
// point(); between two points it runs alone. The same decisions give the same run, so a failure
// comes with the schedule that repeats it.

#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <malloc.h>
#include <ucontext.h>

namespace explore {

inline constexpr int max_ranks = 9;

/// Decides who runs on.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Which of `ready`, two at least. `running`: the first of them is running and could go on;
  /// otherwise whoever ran has blocked or ended.
  virtual std::size_t choose(std::span<const int> ready, bool running) = 0;
};

/// The decisions of a run that differ from "go on, or take the next rank": (which, what).
using Schedule = std::vector<std::pair<std::uint64_t, std::size_t>>;

inline std::string to_string(const Schedule& schedule) {
  std::ostringstream text;
  for (const auto& [decision, chosen] : schedule) text << decision << ':' << chosen << ' ';
  return text.str();
}

class Scheduler {
 public:
  using Body = std::function<void(int rank)>;

  /// A run that takes more points than this never ends.
  static constexpr std::uint64_t most_points = 200'000;

  Scheduler() : fibers_(max_ranks) {
#ifdef __GLIBC__  // each run takes and returns the same memory, which stays with the process
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
    for (Fiber& f : fibers_) f.stack = std::make_unique<std::byte[]>(stack_bytes);
  }
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Runs body(r) for each rank r until all have ended or one has failed. Returns what failed.
  std::string run(int ranks, const Body& body, Strategy& strategy) {
    ranks_ = ranks;
    body_ = &body;
    strategy_ = &strategy;
    failure_.clear();
    schedule_.clear();
    trace_.clear();
    points_ = decisions_ = 0;
    for (int r = 0; r < ranks; ++r) prepare(r);
    running_ = true;
    current_ = ranks - 1;  // so that the first choice begins with rank 0
    const int first = decide(false);
    current_ = first;
    if (_setjmp(main_) == 0) resume(fiber(first));
    running_ = false;
    return failure_;
  }

  // --- for code that runs in a fiber

  bool running() const noexcept { return running_; }
  int current() const noexcept { return current_; }
  int ranks() const noexcept { return ranks_; }

  /// Somebody else may run here.
  void point() {
    if (!running_) return;
    if (++points_ > most_points) fail("the ranks go round in circles");
    const int next = decide(true);
    if (next != current_) switch_to(next);
  }

  /// The running rank waits until somebody calls unblock() for it.
  void block(const void* reason = nullptr) {
    fiber(current_).state = State::blocked;
    fiber(current_).reason = reason;
    leave_to_others();
  }
  void unblock(int rank) noexcept {
    if (fiber(rank).state == State::blocked) fiber(rank).state = State::ready;
  }
  void unblock_all(const void* reason) noexcept {
    for (int r = 0; r < ranks_; ++r) {
      if (fiber(r).reason == reason) unblock(r);
    }
  }

  /// Ends the run. The fibers' stacks are dropped as they are.
  [[noreturn]] void fail(const std::string& why) {
    failure_ = "rank " + std::to_string(current_) + ": " + why;
    _longjmp(main_, 1);
  }

  // --- what happened

  const Schedule& schedule() const noexcept { return schedule_; }
  std::uint64_t points() const noexcept { return points_; }
  std::uint64_t decisions() const noexcept { return decisions_; }

  bool tracing = false;
  void trace(const std::string& what) {
    if (running_) trace_.push_back("rank " + std::to_string(current_) + ": " + what);
  }
  const std::vector<std::string>& trace() const noexcept { return trace_; }

 private:
  static constexpr std::size_t stack_bytes = 128 * 1024;
  enum class State { ready, blocked, ended };

  struct Fiber {
    ucontext_t begin{};
    bool has_begun = false;
    std::jmp_buf place{};  // where it goes on: unlike contexts, without a system call
    std::unique_ptr<std::byte[]> stack;
    State state = State::ready;
    const void* reason = nullptr;
  };

  Fiber& fiber(int r) noexcept { return fibers_[static_cast<std::size_t>(r)]; }

  void prepare(int r) {
    Fiber& f = fiber(r);
    f.state = State::ready;
    f.reason = nullptr;
    f.has_begun = false;
    getcontext(&f.begin);
    f.begin.uc_stack.ss_sp = f.stack.get();
    f.begin.uc_stack.ss_size = stack_bytes;
    f.begin.uc_link = nullptr;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&f.begin, reinterpret_cast<void (*)()>(&Scheduler::enter), 2,
                static_cast<unsigned>(self), static_cast<unsigned>(self >> 32));
  }

  static void enter(unsigned low, unsigned high) {
    auto* const self = reinterpret_cast<Scheduler*>((std::uintptr_t{high} << 32) | low);
    try {
      (*self->body_)(self->current_);
    } catch (const std::exception& e) {
      self->fail(std::string("exception: ") + e.what());
    }
    self->fiber(self->current_).state = State::ended;
    self->leave_to_others();
  }

  /// The running rank cannot go on.
  void leave_to_others() {
    const int next = decide(false);
    if (next >= 0) return switch_to(next);
    for (int r = 0; r < ranks_; ++r) {
      if (fiber(r).state == State::blocked) fail("deadlock: rank " + blocked_ranks() + " wait");
    }
    _longjmp(main_, 1);
  }

  std::string blocked_ranks() {
    std::string text;
    for (int r = 0; r < ranks_; ++r) {
      if (fiber(r).state == State::blocked) {
        text += (text.empty() ? "" : ", ") + std::to_string(r);
      }
    }
    return text;
  }

  /// Who runs next, or -1 if nobody can.
  int decide(bool goes_on) {
    std::array<int, max_ranks> ready{};
    std::size_t n = 0;
    if (goes_on) ready[n++] = current_;
    for (int i = 1; i <= ranks_; ++i) {
      const int r = (current_ + i) % ranks_;
      if (fiber(r).state == State::ready && !(goes_on && r == current_)) ready[n++] = r;
    }
    if (n < 2) return n == 0 ? -1 : ready[0];
    const std::size_t chosen = strategy_->choose({ready.data(), n}, goes_on);
    if (chosen != 0) schedule_.emplace_back(decisions_, chosen);
    ++decisions_;
    return ready[chosen];
  }

  void switch_to(int next) {
    Fiber& from = fiber(current_);
    current_ = next;
    if (_setjmp(from.place) == 0) resume(fiber(next));
  }

  [[noreturn]] static void resume(Fiber& f) {
    if (f.has_begun) _longjmp(f.place, 1);
    f.has_begun = true;
    setcontext(&f.begin);
    std::terminate();
  }

  std::vector<Fiber> fibers_;
  std::jmp_buf main_{};
  int ranks_ = 0;
  int current_ = 0;
  bool running_ = false;
  const Body* body_ = nullptr;
  Strategy* strategy_ = nullptr;
  std::uint64_t points_ = 0;
  std::uint64_t decisions_ = 0;
  std::string failure_;
  Schedule schedule_;
  std::vector<std::string> trace_;
};

namespace detail {
inline Scheduler the_scheduler;
}
/// The one scheduler: the code under test reaches it through static functions.
inline Scheduler& scheduler() { return detail::the_scheduler; }

}  // namespace explore
