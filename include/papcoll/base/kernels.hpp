// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/floating_order.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

// The loops behind Reducer::apply. plain_kernel serves every element type and operator;
// vector_kernel serves arithmetic types under built-in operators, in one variant per instruction
// set. All variants give the bits of the plain loop (of two NaNs, sums and products give either).
// AVX-512 is preferred to AVX2 even where a store has 32 bytes: 64-bit products gain, and other
// machines store 64 (benchmarks/parts/kernel_bench.cpp).

namespace papcoll::inline PAPCOLL_ABI::detail {

template <class Lane, std::size_t Bytes> struct VectorRegister {
  typedef Lane type __attribute__((vector_size(Bytes)));
  /// The vector type without alignment, for memory that holds objects of any type.
  typedef Lane loose __attribute__((vector_size(Bytes), aligned(1), may_alias));
};

// Lane operations: what an operator does to a vector of elements at once. Operands travel by
// reference, because a vector wider than the caller's instruction set has no ABI to pass it by
// value; the function disappears into a kernel that has the instructions.

#define PAPCOLL_LANE(Name, op)                                                               \
  struct Name {                                                                              \
    template <class V>                                                                       \
    [[gnu::always_inline]] static void apply(V& out, const V& low, const V& high) noexcept { \
      out = low op high;                                                                     \
    }                                                                                        \
  };
PAPCOLL_LANE(LaneSum, +)
PAPCOLL_LANE(LaneProd, *)
PAPCOLL_LANE(LaneAnd, &)
PAPCOLL_LANE(LaneOr, |)
PAPCOLL_LANE(LaneXor, ^)
#undef PAPCOLL_LANE

template <Extreme extreme> struct LaneExtreme {
  template <class V>
  [[gnu::always_inline]] static void apply(V& out, const V& low, const V& high) noexcept {
    using Lane = std::remove_cvref_t<decltype(out[0])>;
    if constexpr (has_floating_order<Lane>) {
      using Order = FloatingOrder<Lane, extreme>;
      using Signed = typename VectorRegister<typename Order::Signed, sizeof(V)>::type;
      using Unsigned = typename VectorRegister<typename Order::Unsigned, sizeof(V)>::type;
      Unsigned bits{};
      Order::template apply<Signed>(bits, (Unsigned)low, (Unsigned)high);
      out = (V)bits;
    } else if constexpr (extreme == Extreme::minimum) {
      out = high < low ? high : low;
    } else {
      out = low < high ? high : low;
    }
  }
};
using LaneMin = LaneExtreme<Extreme::minimum>;
using LaneMax = LaneExtreme<Extreme::maximum>;

template <class LaneOp>
inline constexpr bool compares = std::is_same_v<LaneOp, LaneMin> || std::is_same_v<LaneOp, LaneMax>;

/// The bits of a result depend on the same bits of the operands alone.
template <class LaneOp>
inline constexpr bool is_bitwise =
    std::is_same_v<LaneOp, LaneAnd> || std::is_same_v<LaneOp, LaneOr> ||
    std::is_same_v<LaneOp, LaneXor>;

template <class T, class LaneOp> constexpr auto lane_of() noexcept {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    return std::type_identity<T>{};
  } else if constexpr (!std::is_integral_v<T> || std::is_same_v<T, bool>) {
    return std::type_identity<void>{};
  } else if constexpr (std::is_signed_v<T> && compares<LaneOp>) {
    return std::type_identity<typename IntegerOf<sizeof(T)>::Signed>{};
  } else {
    return std::type_identity<typename IntegerOf<sizeof(T)>::Unsigned>{};
  }
}

/// The type of T in a vector under LaneOp; void if there is none (bool, long double, classes).
/// Integers keep their sign only where it matters, so that sums and products wrap and types of one
/// size share a kernel.
template <class T, class LaneOp> using Lane = typename decltype(lane_of<T, LaneOp>())::type;

/// True if Op, a stateless operator, has its vector operation in Op::LaneOp, and T has a lane.
template <class T, class Op> concept Vectorizable = requires { typename Op::LaneOp; }
&&!std::is_void_v<Lane<T, typename Op::LaneOp>>;

/// The type of every kernel; it is Reducer::Apply.
using Kernel = void(std::byte* out, const std::byte* low, const std::byte* high, std::size_t n,
                    const void* context) noexcept;

inline bool aligned_to(std::size_t alignment, const void* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

/// A Reducer's context is the operator's address, whether it is an object or a function.
template <class Op> const void* context_of(const Op& op) noexcept {
  if constexpr (std::is_function_v<Op>) {
    return reinterpret_cast<const void*>(&op);
  } else {
    return static_cast<const void*>(__builtin_addressof(op));
  }
}

template <class Op> const Op& operator_at(const void* context) noexcept {
  if constexpr (std::is_function_v<Op>) {
    return *reinterpret_cast<Op*>(const_cast<void*>(context));
  } else {
    return *static_cast<const Op*>(context);
  }
}

/// Combines n elements one by one. Buffers of user programs are aligned for T; packed memory (a
/// header's payload, an MPI derived datatype) need not be, and then each element passes through
/// aligned copies.
template <class T, class Op>
void plain_kernel(std::byte* out, const std::byte* low, const std::byte* high, std::size_t n,
                  const void* context) noexcept {
  if (aligned_to(alignof(T), out) && aligned_to(alignof(T), low) && aligned_to(alignof(T), high)) {
    const Op& op = operator_at<Op>(context);
    auto* result = reinterpret_cast<T*>(out);
    const auto* a = reinterpret_cast<const T*>(low);
    const auto* b = reinterpret_cast<const T*>(high);
    for (std::size_t i = 0; i < n; ++i) result[i] = static_cast<T>(op(a[i], b[i]));
  } else {
    alignas(T) std::byte a[sizeof(T)];
    alignas(T) std::byte b[sizeof(T)];
    for (std::size_t at = 0; at < n * sizeof(T); at += sizeof(T)) {
      __builtin_memcpy(a, low + at, sizeof(T));
      __builtin_memcpy(b, high + at, sizeof(T));
      plain_kernel<T, Op>(a, a, b, 1, context);
      __builtin_memcpy(out + at, a, sizeof(T));
    }
  }
}

template <class Lane, class Op, std::size_t Width>
[[gnu::always_inline]] inline void vector_step(std::byte* out, const std::byte* low,
                                               const std::byte* high) noexcept {
  using V = VectorRegister<Lane, Width>;
  typename V::type a = *reinterpret_cast<const typename V::loose*>(low);
  typename V::type b = *reinterpret_cast<const typename V::loose*>(high);
  Op::LaneOp::apply(a, a, b);
  *reinterpret_cast<typename V::loose*>(out) = a;
}

/// What does not fill a wide vector, any number of bytes at any addresses. One function for all
/// instruction sets.
template <class Lane, class Op>
[[gnu::noinline]] void combine_rest(std::byte* out, const std::byte* low, const std::byte* high,
                                    std::size_t bytes) noexcept {
  std::size_t at = 0;
  for (; at + 16 <= bytes; at += 16) vector_step<Lane, Op, 16>(out + at, low + at, high + at);
  if constexpr (sizeof(Lane) == 1 && is_bitwise<typename Op::LaneOp>) {
    for (; at + 8 <= bytes; at += 8) vector_step<Lane, Op, 8>(out + at, low + at, high + at);
    for (; at + 4 <= bytes; at += 4) vector_step<Lane, Op, 4>(out + at, low + at, high + at);
  }
  for (; at < bytes; at += sizeof(Lane)) {
    Lane a;
    Lane b;
    __builtin_memcpy(&a, low + at, sizeof(Lane));
    __builtin_memcpy(&b, high + at, sizeof(Lane));
    a = Op{}(a, b);
    __builtin_memcpy(out + at, &a, sizeof(Lane));
  }
}

/// Every step reads before it writes, so out may be low or high. The body of all vector kernels:
/// it is compiled for the instruction set of the function it is inlined into.
template <class Lane, class Op, std::size_t Width>
[[gnu::always_inline]] inline void vector_loop(std::byte* out, const std::byte* low,
                                               const std::byte* high, std::size_t bytes) noexcept {
  if (bytes < Width) return combine_rest<Lane, Op>(out, low, high, bytes);
  // Stores that straddle cache lines cost most.
  if (bytes >= 8 * Width && !aligned_to(Width, out) && aligned_to(sizeof(Lane), out)) {
    const std::size_t head = Width - reinterpret_cast<std::uintptr_t>(out) % Width;
    combine_rest<Lane, Op>(out, low, high, head);
    out += head, low += head, high += head, bytes -= head;
  }
  std::size_t at = 0;
  for (; at + 4 * Width <= bytes; at += 4 * Width) {
    using V = VectorRegister<Lane, Width>;
    using Load = const typename V::loose*;
    using Store = typename V::loose*;
    typename V::type a0 = *reinterpret_cast<Load>(low + at);
    typename V::type a1 = *reinterpret_cast<Load>(low + at + Width);
    typename V::type a2 = *reinterpret_cast<Load>(low + at + 2 * Width);
    typename V::type a3 = *reinterpret_cast<Load>(low + at + 3 * Width);
    const typename V::type b0 = *reinterpret_cast<Load>(high + at);
    const typename V::type b1 = *reinterpret_cast<Load>(high + at + Width);
    const typename V::type b2 = *reinterpret_cast<Load>(high + at + 2 * Width);
    const typename V::type b3 = *reinterpret_cast<Load>(high + at + 3 * Width);
    Op::LaneOp::apply(a0, a0, b0);
    Op::LaneOp::apply(a1, a1, b1);
    Op::LaneOp::apply(a2, a2, b2);
    Op::LaneOp::apply(a3, a3, b3);
    *reinterpret_cast<Store>(out + at) = a0;
    *reinterpret_cast<Store>(out + at + Width) = a1;
    *reinterpret_cast<Store>(out + at + 2 * Width) = a2;
    *reinterpret_cast<Store>(out + at + 3 * Width) = a3;
  }
  if constexpr (Width > 16) {
    for (; at + Width <= bytes; at += Width) {
      vector_step<Lane, Op, Width>(out + at, low + at, high + at);
    }
  }
  if (at != bytes) combine_rest<Lane, Op>(out + at, low + at, high + at, bytes - at);
}

/// baseline is what every machine of the architecture has: SSE2 or NEON.
enum class InstructionSet : unsigned char { baseline, avx2, avx512 };

inline constexpr InstructionSet instruction_sets[] = {InstructionSet::baseline,
                                                      InstructionSet::avx2, InstructionSet::avx512};

/// True when this machine, its operating system included, can run the variant.
inline bool supported(InstructionSet set) noexcept {
  switch (set) {
    case InstructionSet::baseline: return true;
#if PAPCOLL_X86
    case InstructionSet::avx2: return __builtin_cpu_supports("avx2");
    case InstructionSet::avx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
    default: return false;
  }
}

/// The widest set this machine has. Reads a table that was filled when the program was loaded.
inline InstructionSet best_instruction_set() noexcept {
  if (supported(InstructionSet::avx512)) return InstructionSet::avx512;
  if (supported(InstructionSet::avx2)) return InstructionSet::avx2;
  return InstructionSet::baseline;
}

/// Bitwise operators have one loop for lanes of all sizes: that of bytes.
template <class Lane, class Op>
inline constexpr bool goes_by_bytes = sizeof(Lane) != 1 && is_bitwise<typename Op::LaneOp>;

template <class Lane, class Op>
void baseline_kernel(std::byte* out, const std::byte* low, const std::byte* high, std::size_t n,
                     const void*) noexcept {
  if constexpr (goes_by_bytes<Lane, Op>) {
    baseline_kernel<std::uint8_t, Op>(out, low, high, n * sizeof(Lane), nullptr);
  } else {
    vector_loop<Lane, Op, 16>(out, low, high, n * sizeof(Lane));
  }
}

#if PAPCOLL_X86
template <class Lane, class Op>
[[gnu::target("avx2")]] void avx2_kernel(std::byte* out, const std::byte* low,
                                         const std::byte* high, std::size_t n,
                                         const void*) noexcept {
  if constexpr (goes_by_bytes<Lane, Op>) {
    avx2_kernel<std::uint8_t, Op>(out, low, high, n * sizeof(Lane), nullptr);
  } else {
    vector_loop<Lane, Op, 32>(out, low, high, n * sizeof(Lane));
  }
}

template <class Lane, class Op>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void avx512_kernel(std::byte* out,
                                                                         const std::byte* low,
                                                                         const std::byte* high,
                                                                         std::size_t n,
                                                                         const void*) noexcept {
  if constexpr (goes_by_bytes<Lane, Op>) {
    avx512_kernel<std::uint8_t, Op>(out, low, high, n * sizeof(Lane), nullptr);
  } else {
    vector_loop<Lane, Op, 64>(out, low, high, n * sizeof(Lane));
  }
}
#endif

/// The variant of T under Op for one instruction set, which must be supported to be run. It accepts
/// any addresses, aligned or not, and ignores its context.
template <class T, class Op>
requires Vectorizable<T, Op>
constexpr Kernel* vector_kernel(InstructionSet set) noexcept {
  using L = Lane<T, typename Op::LaneOp>;
  switch (set) {
#if PAPCOLL_X86
    case InstructionSet::avx512: return avx512_kernel<L, Op>;
    case InstructionSet::avx2: return avx2_kernel<L, Op>;
#endif
    default: return baseline_kernel<L, Op>;
  }
}

// For built_in_operators.hpp, which undefines them.
#define PAPCOLL_KERNEL_ONCE(kernel, lane, Op)                                                \
  PAPCOLL_COMPILE_ONCE(void kernel<lane, Op>(std::byte*, const std::byte*, const std::byte*, \
                                             std::size_t, const void*) noexcept)
#if PAPCOLL_X86
#define PAPCOLL_KERNELS_ONCE(lane, Op)           \
  PAPCOLL_KERNEL_ONCE(baseline_kernel, lane, Op) \
  PAPCOLL_KERNEL_ONCE(avx2_kernel, lane, Op)     \
  PAPCOLL_KERNEL_ONCE(avx512_kernel, lane, Op)
#else
#define PAPCOLL_KERNELS_ONCE(lane, Op) PAPCOLL_KERNEL_ONCE(baseline_kernel, lane, Op)
#endif

}  // namespace papcoll::inline PAPCOLL_ABI::detail
