// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/copying.hpp>
#include <papcoll/base/op.hpp>
#include <papcoll/node/call_context.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/node/node_context.hpp>
#include <papcoll/simulate/virtual_cores.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// As std::atomic, in virtual time.
template <class T> class VirtualAtomic {
 public:
  VirtualAtomic() noexcept = default;

  T load(std::memory_order) const {
    if (VirtualCores* const cores = VirtualCores::running()) cores->load(this);
    return value_;
  }
  void store(T value, std::memory_order order) {
    enter(order == std::memory_order_seq_cst);
    value_ = value;
  }
  T exchange(T value, std::memory_order) {
    enter(true);
    return std::exchange(value_, value);
  }
  T fetch_add(T n, std::memory_order) {
    enter(true);
    return std::exchange(value_, static_cast<T>(value_ + n));
  }
  T fetch_sub(T n, std::memory_order) {
    enter(true);
    return std::exchange(value_, static_cast<T>(value_ - n));
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order,
                               std::memory_order = std::memory_order_seq_cst) {
    enter(true);
    if (value_ != expected) {
      expected = value_;
      return false;
    }
    value_ = desired;
    return true;
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order order) {
    return compare_exchange_strong(expected, desired, order);
  }

 private:
  void enter(bool stalls) const {
    if (VirtualCores* const cores = VirtualCores::running()) cores->store(this, stalls);
  }

  T value_{};
};

/// How ranks in virtual time touch memory that they share: see SharedAccess.
struct VirtualAccess {
  template <class T> using Atomic = VirtualAtomic<T>;

  /// Beside a word of the same line, which is stored next: that counts.
  static void write(void* to, const void* from, std::size_t n) noexcept {
    if (n != 0) std::memcpy(to, from, n);
  }
  static void copy(const CopyRule&, std::byte* to, const std::byte* from, std::size_t n) {
    read(to, from, n);
  }
  static void stream(std::byte* to, const std::byte* from, std::size_t n) {
    VirtualCores& cores = *VirtualCores::running();
    cores.stream(to, from, n);
    if (n != 0 && cores.moves(n)) std::memmove(to, from, n);
  }
  static void prefetch(const std::byte* from) { VirtualCores::running()->prefetch(from); }
  static void read(void* to, const void* from, std::size_t n) {
    VirtualCores& cores = *VirtualCores::running();
    cores.copy(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), n);
    if (n != 0 && cores.moves(n)) std::memmove(to, from, n);
  }
  static void reduce(const Reducer& reducer, std::byte* out, const std::byte* low,
                     const std::byte* high, std::size_t n) {
    VirtualCores& cores = *VirtualCores::running();
    cores.combine(out, low, high, n * reducer.size);
    if (cores.moves(n * reducer.size)) reducer.apply(out, low, high, n, reducer.context);
  }
};

/// Bells in virtual time: ringing is not needed, since a core that waits for a word is woken
/// (VirtualCores::wait()), and sleeps only as far as time is concerned.
struct VirtualBells {
  static void ring(int) noexcept {}
  static void ring_all() noexcept {}
};

using VirtualControlBlock = BasicControlBlock<VirtualAccess>;

/// papcoll's own call context over a control block in virtual time: what runs is the library's
/// code. What it asks the real clock, or the processor, is answered here.
class VirtualContext : public BasicNodeContext<VirtualControlBlock, VirtualBells> {
  using Base = BasicNodeContext<VirtualControlBlock, VirtualBells>;

 public:
  using Base::Base;

  void expect_again(std::size_t at, std::size_t n) noexcept {
    next_at_ = at;
    next_bytes_ = n > most_expected ? 0 : n;
  }
  /// Also what Base asks of the processor itself: lines of the next call that this rank writes.
  void leave() {
    const std::uint32_t next = epoch() + 1;
    Base::leave();
    if (VirtualCores* const cores = VirtualCores::running()) {
      cores->prefetch_to_write(
          reinterpret_cast<const std::byte*>(&control_block().header(next, rank())), cache_line);
      cores->prefetch_to_write(control_block().chunk_buffer(next, rank(), 0) + next_at_,
                               next_bytes_);
    }
    next_bytes_ = 0;
  }

 private:
  std::size_t next_at_ = 0;
  std::size_t next_bytes_ = 0;
};
static_assert(CallContext<VirtualContext>);

}  // namespace papcoll::inline PAPCOLL_ABI::detail
