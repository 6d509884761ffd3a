// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// How many calls were taken over, and how many were left to MPI and why. Every thread counts in
// memory of its own, which is added up when the program ends.

#include <papcoll/base/collective.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace preload {

/// The functions that may be taken over.
enum class Function : unsigned char {
  allreduce,
  reduce,
  bcast,
  allgather,
  reduce_scatter,
  reduce_scatter_block,
  gather,
  scatter,
  barrier,
};
inline constexpr std::array<std::string_view, 9> function_names{
    "MPI_Allreduce", "MPI_Reduce",         "MPI_Bcast",
    "MPI_Allgather", "MPI_Reduce_scatter", "MPI_Reduce_scatter_block",
    "MPI_Gather",    "MPI_Scatter",        "MPI_Barrier"};

inline constexpr std::string_view name_of(Function f) noexcept {
  return function_names[static_cast<std::size_t>(f)];
}
/// papcoll's collective that it is.
constexpr papcoll::Collective collective_of(Function f) noexcept {
  using enum papcoll::Collective;
  constexpr std::array collectives{allreduce,      reduce, bcast,   allgather, reduce_scatter,
                                   reduce_scatter, gather, scatter, barrier};
  static_assert(collectives.size() == function_names.size());
  return collectives[static_cast<std::size_t>(f)];
}

/// What became of a call.
enum class Outcome : unsigned char {
  taken_over,
  by_auto,  ///< taken over, too, but not by the algorithm that was asked for
  first_calls,
  one_rank,
  inter_communicator,
  outside_world,
  gpu,
  no_state,
  ending,
  arguments,
  operator_unfit,
  outside_mpi,
  switched_off,
};
inline constexpr std::array<std::string_view, 13> outcome_names{
    "taken over",
    "taken over by auto, since the algorithm asked for does not serve them",
    "left: the first calls of a communicator",
    "left: one rank",
    "left: inter-communicator",
    "left: ranks of several MPI_COMM_WORLDs",
    "left: a GPU driver is loaded",
    "left: papcoll could not serve the communicator",
    "left: the communicator was being freed",
    "left: arguments that MPI refuses",
    "left: operator and type do not go together",
    "left: not between MPI_Init and MPI_Finalize",
    "left: switched off"};

inline constexpr std::size_t counter_number(Function function, Outcome outcome) noexcept {
  return static_cast<std::size_t>(function) * outcome_names.size() +
         static_cast<std::size_t>(outcome);
}
inline constexpr std::size_t counter_count = function_names.size() * outcome_names.size();
using Counts = std::array<std::uint64_t, counter_count>;

/// The counters of one thread at a time. They stay when it ends, and another goes on with them.
struct alignas(64) ThreadCounters {
  std::array<std::atomic<std::uint64_t>, counter_count> values{};
  std::atomic<bool> in_use{true};
  ThreadCounters* next = nullptr;

  static ThreadCounters* take() {
    for (ThreadCounters* c = all().load(std::memory_order_acquire); c != nullptr; c = c->next) {
      bool is_free = false;
      if (c->in_use.compare_exchange_strong(is_free, true, std::memory_order_acquire)) return c;
    }
    auto* const made = new ThreadCounters;
    made->next = all().load(std::memory_order_relaxed);
    while (!all().compare_exchange_weak(made->next, made, std::memory_order_release)) {
    }
    return made;
  }

  static Counts sum() noexcept {
    Counts counts{};
    for (const ThreadCounters* c = all().load(std::memory_order_acquire); c != nullptr;
         c = c->next) {
      for (std::size_t i = 0; i < counter_count; ++i) {
        counts[i] += c->values[i].load(std::memory_order_relaxed);
      }
    }
    return counts;
  }

 private:
  static std::atomic<ThreadCounters*>& all() noexcept {
    static constinit std::atomic<ThreadCounters*> first{nullptr};
    return first;
  }
};

/// Gives a thread's counters back when the thread ends.
struct CountersOfThread {
  ThreadCounters* counters = nullptr;
  ~CountersOfThread() {
    if (counters != nullptr) counters->in_use.store(false, std::memory_order_release);
  }
};
inline constinit thread_local ThreadCounters* own_counters = nullptr;

[[gnu::cold, gnu::noinline]] inline ThreadCounters* first_counters() {
  static thread_local CountersOfThread keeper;
  own_counters = keeper.counters = ThreadCounters::take();
  return own_counters;
}

[[gnu::always_inline]] inline void count(Function function, Outcome outcome) noexcept {
  ThreadCounters* c = own_counters;
  if (c == nullptr) [[unlikely]]
    c = first_counters();
  std::atomic<std::uint64_t>& n = c->values[counter_number(function, outcome)];
  n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace preload
