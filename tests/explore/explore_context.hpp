// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// papcoll's own control block and call context over explored memory: the code that runs is the
// library's.

#include "scheduler.hpp"
#include "shared_model.hpp"

#include <papcoll/node/control_block.hpp>
#include <papcoll/node/node_context.hpp>
#include <papcoll/node/waiting/doorbells.hpp>
#include <papcoll/op.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace explore {

/// As std::atomic; every operation is a scheduling point. What the orders promise is checked on the
/// plain accesses that they order, see SharedModel.
template <class T> class Atomic {
 public:
  Atomic() noexcept = default;
  explicit Atomic(T value) noexcept : value_(value) {}

  T load(std::memory_order order) const {
    if (!scheduler().running()) return value_;
    enter("load");
    shared_model().atomic_load(this, order);
    return shared_model().value_seen(value_);
  }
  void store(T value, std::memory_order order) {
    if (!scheduler().running()) {
      value_ = value;
      return;
    }
    enter("store", value);
    shared_model().atomic_store(value_, value, order);
  }
  T exchange(T value, std::memory_order order) {
    change("exchange", value, order);
    return std::exchange(value_, value);
  }
  T fetch_add(T n, std::memory_order order) {
    change("fetch_add", n, order);
    return std::exchange(value_, static_cast<T>(value_ + n));
  }
  T fetch_sub(T n, std::memory_order order) {
    change("fetch_sub", n, order);
    return std::exchange(value_, static_cast<T>(value_ - n));
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                               std::memory_order failure) {
    enter("compare_exchange", desired);
    shared_model().publish_stores();
    if (value_ != expected) {
      shared_model().atomic_load(this, failure);
      expected = value_;
      return false;
    }
    shared_model().atomic_change(this, success);
    value_ = desired;
    return true;
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order order) {
    return compare_exchange_strong(expected, desired, order, std::memory_order_acquire);
  }

  bool compare_exchange_weak(T& expected, T desired, std::memory_order order) {
    return compare_exchange_strong(expected, desired, order);
  }

  T peek() const noexcept { return value_; }

 private:
  void change(const char* what, T operand, std::memory_order order) {
    enter(what, operand);
    shared_model().publish_stores();
    shared_model().atomic_change(this, order);
  }
  void enter(const char* what) const {
    scheduler().point();
    if (scheduler().tracing) note(what, value_);
  }
  void enter(const char* what, T operand) const {
    scheduler().point();
    if (scheduler().tracing) note(what, operand);
  }
  void note(const char* what, T value) const {
    std::string shown = std::to_string(static_cast<std::uint32_t>(value));
    if constexpr (sizeof(T) == 8) shown = std::to_string(value >> 32) + "." + shown;
    scheduler().trace(std::string(what) + " " + shown + " " + shared_model().name_of(this));
  }

  T value_{};
};

/// The access policy of explored memory.
struct Access {
  template <class T> using Atomic = explore::Atomic<T>;

  static void write(void* to, const void* from, std::size_t n) {
    shared_model().plain_read(from, n);  // which may be a user's buffer that peers write
    shared_model().plain_write(to, n);
    if (n != 0) std::memmove(to, from, n);
  }
  static void copy(const papcoll::detail::CopyRule&, std::byte* to, const std::byte* from,
                   std::size_t n) {
    write(to, from, n);
  }
  static void stream(std::byte* to, const std::byte* from, std::size_t n) { write(to, from, n); }
  static void prefetch(const std::byte*) {}
  static void read(void* to, const void* from, std::size_t n) {
    shared_model().plain_read(from, n);
    shared_model().plain_write(to, n);
    if (n != 0) std::memmove(to, from, n);
  }
  static void reduce(const papcoll::Reducer& reducer, std::byte* out, const std::byte* low,
                     const std::byte* high, std::size_t n) {
    shared_model().plain_read(low, n * reducer.size);
    shared_model().plain_read(high, n * reducer.size);
    shared_model().plain_write(out, n * reducer.size);
    reducer.apply(out, low, high, n, reducer.context);
  }
  /// Never wakes up by itself: a lost wake-up is a deadlock.
  static void wait(Atomic<std::uint32_t>& word, std::uint32_t expected, std::chrono::nanoseconds) {
    scheduler().point();
    shared_model().publish_stores();
    if (word.peek() == expected) scheduler().block(&word);
  }
  static void await_stores(Atomic<std::uint32_t>&, std::uint32_t, std::chrono::nanoseconds) {
    scheduler().point();
    shared_model().publish_all_stores();
  }
  static void wake(Atomic<std::uint32_t>& word) {
    scheduler().point();
    scheduler().unblock_all(&word);
  }
};

/// Bells without a protocol: a ring is one step, which comes after the stores before it, and wakes
/// whoever slept or was about to.
class PlainBells {
 public:
  void ring(int r) noexcept {
    shared_model().publish_stores();
    rung()[static_cast<std::size_t>(r)] = true;
    scheduler().unblock(r);
  }
  void ring_all() noexcept {
    for (int r = 0; r < max_ranks; ++r) ring(r);
  }

  template <class Ready> static void wait(int me, Ready&& ready) {
    bool& mine = rung()[static_cast<std::size_t>(me)];
    for (;;) {
      mine = false;
      if (ready()) return;
      shared_model().publish_stores();
      if (!mine) scheduler().block();
    }
  }

 private:
  static std::array<bool, max_ranks>& rung() noexcept {
    static std::array<bool, max_ranks> flags{};
    return flags;
  }
};

/// papcoll's own bells. Whoever rings wakes one sleeper, who wakes the next, so that few ranks are
/// enough for a long chain.
class RealBells : public papcoll::BasicDoorbells<Access, 1> {
 public:
  using papcoll::BasicDoorbells<Access, 1>::BasicDoorbells;

  template <class Ready> void wait(int me, Ready&& ready) {
    while (!ready() && !nap(me, std::chrono::hours(1), ready)) {
    }
  }
};

/// As in the library, but for fewer results.
using WideControlBlock = papcoll::BasicControlBlock<Access, 4, 4, 32, 4>;
/// The smallest that can work: everything is used again as soon as may be. As in the library, there
/// are more results than buffers.
using TightControlBlock = papcoll::BasicControlBlock<Access, 2, 2, 32, 4>;

template <class ControlBlock, class Bells = PlainBells>
using ContextOver = papcoll::BasicNodeContext<ControlBlock, Bells>;

}  // namespace explore
