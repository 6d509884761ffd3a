// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/function_ref.hpp>
#include <papcoll/node/waiting/doorbells.hpp>

#include <algorithm>
#include <chrono>

#include <sched.h>

namespace papcoll::inline PAPCOLL_ABI {

/// Measures how long a rank has waited, by its readings of the clock. Counts at most `most` of the
/// gap between two readings: whatever stopped the rank meanwhile (a batch system, a frozen
/// container, a debugger, a virtual machine that moves) may have stopped its peers, too, and no
/// peer has been late for that long.
class TimeWaited {
 public:
  using Clock = std::chrono::steady_clock;

  /// @param most  What counts of a gap between two readings, at most.
  explicit TimeWaited(Clock::duration most, Clock::time_point now = Clock::now()) noexcept
      : most_(most), looked_(now) {}

  /// Reads the clock, and returns the time waited so far.
  Clock::duration look(Clock::time_point now = Clock::now()) noexcept {
    waited_ += std::clamp(now - looked_, Clock::duration{0}, most_);
    looked_ = now;
    return waited_;
  }

 private:
  Clock::duration most_;
  Clock::time_point looked_;
  Clock::duration waited_{0};
};

/// How long a rank waits in which way. benchmarks/RESULTS.md has what these times rest on.
struct WaitTimes {
  using nanoseconds = std::chrono::nanoseconds;
  /// Several times as long as a cache line takes between cores, before anything else is done.
  int spins = 40;

  // A rank with a processor to itself spins, as MPI does, since that costs no other rank anything.
  /// Between two looks at everything else, which take a small part of the time.
  int spins_a_look = 100;
  /// A yield is a system call, even if no other thread wants the processor; but its duration shows
  /// whether one does, and then the rank waits as one of many.
  nanoseconds yield_every{50'000};
  nanoseconds given_away{2'000};  ///< a yield that takes longer: another thread ran
  /// A yield that takes longer ended with the time slice of a program that computes. Another yield
  /// would cost another slice, so the rank spins for longest_spin first. longest_spin is shorter
  /// than slice, lest ranks of two jobs take each other for such programs.
  nanoseconds slice{2'000'000};
  nanoseconds longest_spin{1'000'000};
  /// Then it sleeps. Long compared with the time that waking takes.
  nanoseconds spinning{100'000'000};

  // A rank that shares its processor: it yields.
  int plain_yields = 4;  ///< before anything else is done: hooks on every turn double a short wait
  int turns_a_look = 4;  ///< then, between two looks at everything else
  /// How long it yields before it sleeps: a rank that yields reacts sooner than one that has to be
  /// woken.
  nanoseconds yielding{5'000'000};
  /// For waits whose step makes progress in MPI: a yield after each would slow the messages.
  int steps_a_yield = 4;

  nanoseconds short_sleep{50'000};    ///< of a rank that no other rank wakes
  nanoseconds long_sleep{1'000'000};  ///< longer ones would delay MPI's messages
  // After a sleep a rank pokes MPI once a turn, and sleeps again when no turns are left. A poke
  // that takes longer than a turn counts as several, up to a bound: those that copy for a peer are
  // long, too.
  nanoseconds turn{125};
  int longest_poke = 24;       ///< turns
  int longest_cold_poke = 4;   ///< turns; in the first ones after a sleep also idle pokes take long
  int turns_after_sleep = 64;  ///< longer than the gap between two operations of a peer
  int turns_after_work = 64;   ///< added after each poke that had work
  int most_turns = 512;     ///< so that a peer that computes between its operations need not wait
  int turns_of_shared = 6;  ///< what a turn counts if the rank yields in each
  int turns_a_look_at_requests = 16;  ///< which may take long
  int cold_turns = 8;                 ///< after a sleep, in which idle pokes take long, too
  nanoseconds least_work{200};        ///< a poke that takes less had none
  nanoseconds idle_poke{300};         ///< at first; more is learned where MPI yields in it

  nanoseconds watch_after{2'000'000};  ///< a look at all peers is a system call for each
  nanoseconds watch_every{10'000'000};
  /// Of a gap between two readings of the clock, this much counts: see TimeWaited. A processor is
  /// taken away for less, unless the rank is stopped.
  nanoseconds longest_gap{100'000'000};
};

/// How a wait may sleep when it takes long.
enum class Naps {
  none,        ///< only yields: there is work to do meanwhile, and no rank rings
  brief,       ///< short ones: no rank rings
  until_rung,  ///< the rank that completes the step rings this rank's bell
};

/// What a rank does in a long wait besides waiting. Whoever makes a Waiter contributes it; a team
/// does so by TeamState.
struct WaitHooks {
  virtual ~WaitHooks() = default;

  const char* doing = "";  ///< where the wait is, for texts
  bool moves_mpi = false;  ///< make_progress() does

  /// Moves MPI and the rank's outstanding requests. `mpi_alone`: not the requests.
  virtual void make_progress(bool /*mpi_alone*/) {}
  /// Throws if the communicator broke or the current call failed elsewhere.
  virtual void check() {}
  /// Looks for dead peers. If there are some, throws, or makes the next check() of each rank throw.
  virtual void watch() {}
  /// Throws deadline_exceeded.
  virtual void deadline_passed() {}
};

/// Where papcoll waits: run_arrival() for arrival-driven algorithms, TeamMessages::run_plan() for
/// schedules, requests, and PolledCollectives. Owns spinning, yielding, sleeping, MPI progress, the
/// watch for dead peers and the deadline. Only what parts from peers at the end waits by itself,
/// and for a bounded time.
///
/// A rank goes through these phases, top to bottom, until its step is done. It is alone as long as
/// its yields end soon, and it shares its processor if another rank or program ran during the last
/// one, or if there are more ranks than processors.
///
///     phase    which ranks         how long         a turn
///     spin     alone               40 steps         a step
///     yield    share a processor   4 yields         a yield, a step
///     awake    all                 100 ms alone,    100 steps alone, else 4 yields with a step
///                                  5 ms sharing     after each; then a look
///     asleep   those with bells    to the end       a nap of at most 1 ms (Naps::brief: 50 µs),
///              that may nap                         then a turn of awake
///     poke     where a look moves  64 turns after   a step, a look at MPI alone; each look in
///              MPI                 each nap         which MPI had work adds 64 turns, to 512
///
/// A look is check(), make_progress(), watch() after 2 ms and then every 10 ms, and the deadline. A
/// rank that shares its processor yields after each look; one that is alone every 50 µs, to see
/// whether it still is, or every 1 ms after a program has kept the processor for a time slice.
class Waiter {
 public:
  using Clock = std::chrono::steady_clock;

  WaitTimes times{};
  WaitHooks* hooks = nullptr;  ///< null: nothing is to be done
  Doorbells* bells = nullptr;  ///< null: no rank rings, so this one never sleeps
  int rank = 0;
  bool oversubscribed = false;           ///< more ranks than processors: do not spin
  WaitTimes::nanoseconds yield_took{0};  ///< the last one by which the rank looked for others
  Clock::duration deadline{0};           ///< 0: none

  /// Returns true if another thread ran during the last yield, and gave the processor back soon.
  bool is_crowded() const noexcept {
    return yield_took > times.given_away && yield_took <= times.slice;
  }
  /// Returns true if a program that computes kept the processor for its time slice.
  bool was_preempted() const noexcept { return yield_took > times.slice; }

  /// A step of what is waited for; returns true when that is done. Never waits itself.
  using StepRef = detail::FunctionRef<bool()>;

  /// Returns when step() returns true. Throws what step() and the hooks throw.
  void until(StepRef step, Naps naps = Naps::until_rung) {
    if (step()) return;
    if (!shares_processor() && spin(step, times.spins)) return;
    wait_longer(step, naps);
  }

 private:
  /// Calls step() up to `steps` times without yielding. Returns true if the step is done.
  static bool spin(StepRef step, int steps) {
    for (int i = 0; i < steps; ++i) {
      if (step()) return true;
      detail::cpu_pause();
    }
    return false;
  }

  /// Yields, stores in yield_took how long that took, and returns the time afterwards. Short waits
  /// call it, too: otherwise a rank that was disturbed once would yield in every later wait.
  Clock::time_point yield_and_see() noexcept {
    const Clock::time_point before = Clock::now();
    sched_yield();
    const Clock::time_point after = Clock::now();
    yield_took = after - before;
    return after;
  }

  bool shares_processor() const noexcept { return oversubscribed || is_crowded(); }

  Clock::duration between_yields() const noexcept {
    return was_preempted() ? times.longest_spin : times.yield_every;
  }

  /// If the deadline is short, a quarter of it: one stop of this rank must not use up the deadline.
  Clock::duration longest_gap() const noexcept {
    if (deadline.count() == 0) return times.longest_gap;
    return std::min<Clock::duration>(times.longest_gap, deadline / 4 + Clock::duration{1});
  }

  /// Decides whether a rank stays awake between two sleeps, because MPI has work for it: operations
  /// of peers on its window, fragments of messages. MPI does not report it, but the time of a poke
  /// shows it: with work it takes at least twice as long as without, or at most half as long where
  /// MPI yields when it has none.
  class MpiAtWork {
   public:
    explicit MpiAtWork(const WaitTimes& times) noexcept : times_(times), idle_(times.idle_poke) {}

    bool at_work() const noexcept { return turns_ > 0; }
    /// Returns true if this turn is to make progress in MPI alone, and to report it.
    bool pokes_mpi() noexcept {
      return turns_ > 0 && ++polls_ % times_.turns_a_look_at_requests != 0;
    }

    void slept() noexcept {
      turns_ = times_.turns_after_sleep;
      cold_ = times_.cold_turns;
    }

    void poked(Clock::duration took, bool alone) noexcept {
      const bool is_cold = cold_ > 0;
      if (is_cold) --cold_;
      const bool worked =
          idle_ > times_.idle_poke
              ? 2 * took < idle_
              : !is_cold && took > std::max<Clock::duration>(2 * idle_, times_.least_work);
      const int most = is_cold ? times_.longest_cold_poke : times_.longest_poke;
      const auto taken = static_cast<int>(std::min<Clock::rep>(took / times_.turn, most));
      turns_ = worked ? std::min(turns_ + times_.turns_after_work, times_.most_turns)
                      : turns_ - std::max(alone ? 1 : times_.turns_of_shared, taken);
      constexpr Clock::duration tick{1};
      idle_ = took > idle_ ? idle_ + idle_ / 128 + tick : std::max(idle_ - idle_ / 8, tick);
    }

   private:
    const WaitTimes& times_;
    /// The time of a poke without work. Falls faster than it rises, since most pokes may have work;
    /// rises, since those of an MPI that yields are quick as long as they have.
    Clock::duration idle_;
    int turns_ = 0;  ///< left before the next sleep
    int polls_ = 0;
    int cold_ = 0;  ///< cold turns left
  };

  /// The phase "yield". With more ranks than processors, one turn of all of them is often all it
  /// takes, and all pay for what a rank does in its turn: so a rank does nothing else here.
  bool yield_first(StepRef step, int steps) {
    for (int i = 0; i < times.plain_yields; ++i) {
      if (oversubscribed) {
        sched_yield();
      } else {
        yield_and_see();
      }
      if (spin(step, steps)) return true;
    }
    return false;
  }

  /// What a rank does between two looks.
  bool take_turn(StepRef step, int steps, bool alone, bool mpi_at_work) const {
    if (spin(step, alone && !mpi_at_work ? times.spins_a_look : steps)) return true;
    for (int i = alone || mpi_at_work ? times.turns_a_look : 1; i < times.turns_a_look; ++i) {
      sched_yield();
      if (spin(step, steps)) return true;
    }
    return false;
  }

  [[gnu::noinline]] void wait_longer(StepRef step, Naps naps) {
    // A step that works asks MPI, which may yield on each asking.
    const int crowded = naps == Naps::none ? times.steps_a_yield : 1;
    if (shares_processor() && yield_first(step, crowded)) return;
    const Clock::time_point start = Clock::now();
    Clock::time_point yielded = start;
    TimeWaited time{longest_gap(), start};
    Clock::duration next_watch = times.watch_after;
    MpiAtWork mpi{times};
    WaitHooks nothing;
    WaitHooks& also = hooks != nullptr ? *hooks : nothing;
    for (;;) {
      const bool alone = !shares_processor();
      if (take_turn(step, crowded, alone, mpi.at_work())) return;
      also.check();
      const bool pokes_mpi = mpi.pokes_mpi();
      const Clock::time_point before = pokes_mpi ? Clock::now() : start;
      also.make_progress(pokes_mpi);
      const Clock::time_point now = Clock::now();
      const Clock::duration waited = time.look(now);
      if (waited >= next_watch) {
        also.watch();
        next_watch = waited + times.watch_every;
      }
      if (deadline.count() != 0 && waited > deadline) {
        if (step()) return;  // this rank may have been held up since it last asked
        also.deadline_passed();
      }
      const bool naps_now = naps != Naps::none && bells != nullptr &&
                            waited >= (alone ? times.spinning : times.yielding);
      if (pokes_mpi) mpi.poked(now - before, alone);
      if (naps_now && !mpi.at_work()) {
        const auto nap = naps == Naps::brief ? times.short_sleep : times.long_sleep;
        if (bells->nap(rank, nap, step)) return;
        if (also.moves_mpi) mpi.slept();
      } else if (!alone || now >= yielded + between_yields()) {
        yielded = yield_and_see();
      }
    }
  }
};

}  // namespace papcoll::inline PAPCOLL_ABI
