// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/buffers.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/op.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/choice/policies/algorithm_spec.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

// What callers pass to a collective: buffers, counts, roots, operators. They are checked here,
// first by their types and then by their values, and become a Call.
//
// The texts for invalid arguments are here, for all collectives.

namespace papcoll::inline PAPCOLL_ABI {

class TeamCore;

namespace detail {

constexpr std::uint32_t text_hash(std::string_view text) noexcept {
  std::uint32_t h = 2166136261U;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 16777619U;
  return h;
}

/// Integers count by size and sign, as in BuiltInPair: long and long long are the same type where
/// both have 64 bits.
template <class T> struct sized_integer : std::type_identity<T> {};
template <class T>
requires(is_integer<T> && sizeof(T) <= 8) struct sized_integer<T> {
  template <class I1, class I2, class I4, class I8>
  using of_size = std::conditional_t<
      sizeof(T) == 1, I1,
      std::conditional_t<sizeof(T) == 2, I2, std::conditional_t<sizeof(T) == 4, I4, I8>>>;
  using type =
      std::conditional_t<std::is_signed_v<T>,
                         of_size<std::int8_t, std::int16_t, std::int32_t, std::int64_t>,
                         of_size<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>>;
};

template <class T> consteval std::uint32_t name_hash() noexcept {
  constexpr std::string_view name = __PRETTY_FUNCTION__;
  return name.find("lambda") == std::string_view::npos ? text_hash(name) : 1U;
}

/// Returns a number of the type, equal on all ranks. All closures have one number, since the name
/// of a closure depends on the place of its code: two different lambdas look alike.
template <class T> consteval std::uint32_t type_hash() noexcept {
  return name_hash<typename sized_integer<T>::type>();
}

// -- Checks of values.

PAPCOLL_DECL int rank_of(const TeamCore& core) noexcept;
PAPCOLL_DECL int size_of(const TeamCore& core) noexcept;
PAPCOLL_DECL const std::string& why_no_ipc_of(const TeamCore& core) noexcept;
/// Returns the machine of a team on several nodes; null if they are on one.
PAPCOLL_DECL const Machine* several_nodes_of(const TeamCore& core) noexcept;

/// The call that is being checked, and the rank that makes it.
struct CallOrigin {
  TeamCore& core;
  Collective collective;
  bool non_blocking = false;
  bool irregular = false;  ///< of a v-form

  CallLabel label() const noexcept { return {collective, non_blocking, irregular}; }
  /// TeamCore::refuse.
  [[noreturn]] void refuse(const std::string& what) const;
  /// Refuses a buffer: `what` must be so, and it has `found` elements instead of `needed`.
  [[noreturn]] void refuse_length(std::size_t found, std::size_t needed, const char* what) const;
  /// Refuses a count, of elements on each rank or of those on one.
  [[noreturn]] void refuse_count(std::size_t count, std::size_t bytes_of_one) const;
  /// Refuses counts of the ranks whose sum is more than PTRDIFF_MAX bytes.
  [[noreturn]] void refuse_sum(std::span<const std::size_t> of_rank,
                               std::size_t bytes_of_one) const;
  void require(bool right, const char* what) const {
    if (!right) refuse(what);
  }
  void require_length(std::size_t found, std::size_t needed, const char* what) const {
    if (found != needed) refuse_length(found, needed, what);
  }
  /// `count` elements on each rank are at most PTRDIFF_MAX bytes on all of them together.
  /// Inlined, and its question is pure: so a compiler still knows afterwards what the call is.
  [[gnu::always_inline]] void require_few_bytes(std::size_t count, std::size_t bytes_of_one) const {
    // So few bytes that the number of ranks, an int, does not matter.
    constexpr std::size_t few = PTRDIFF_MAX >> 31U;
    std::size_t bytes = 0;
    if (!__builtin_mul_overflow(count, bytes_of_one, &bytes) && bytes <= few) return;
    if (are_too_many(count, bytes_of_one)) refuse_count(count, bytes_of_one);
  }

  int rank() const noexcept { return rank_of(core); }
  int size() const noexcept { return size_of(core); }
  std::size_t ranks() const noexcept { return static_cast<std::size_t>(size()); }

 private:
  /// Returns true if they are, over all ranks, more than PTRDIFF_MAX bytes.
  [[gnu::cold, gnu::pure]] bool are_too_many(std::size_t count,
                                             std::size_t bytes_of_one) const noexcept;
};

inline void check_pointers(const CallOrigin& origin, const void* in, std::size_t in_count,
                           const void* out, std::size_t out_count) {
  origin.require(in != nullptr || in_count == 0,
                 "the input is a null pointer: pass a buffer, or a count of 0");
  origin.require(out != nullptr || out_count == 0,
                 "the output is a null pointer: pass a buffer, or a count of 0");
}

/// Returns true if each rank's block has its own place in the longer buffer, where equal addresses
/// do not mean in place.
constexpr bool has_own_place(Collective c) noexcept {
  const auto [in, out] = buffers_of(c, true);
  return in == Holds::own_block || (out == Holds::own_block && !is_reduction(c));
}

/// The local checks of a call's buffers. `in_count` and `out_count` are in elements, and were found
/// to be few enough before the call was made: a compiler then still knows what is in it.
inline void check_buffers(const CallOrigin& origin, const Call& c, std::size_t in_count,
                          std::size_t out_count) {
  if constexpr (assertion_level == 0) return;
  check_pointers(origin, c.in, in_count, c.out, out_count);
  if (in_count == 0 || out_count == 0) return;
  const bool in_place = c.in == c.out && !has_own_place(c.collective);
  const bool overlap =
      c.in < c.out + out_count * c.reducer.size && c.out < c.in + in_count * c.reducer.size;
  origin.require(in_place || !overlap,
                 "input and output overlap: pass the same buffer once (in place), or two separate "
                 "ones");
}

inline void check_root(const CallOrigin& origin, root r) {
  if (r.rank >= 0 && r.rank < origin.size()) return;
  origin.refuse(joined({"root ", r.rank, " is not a rank: ranks are 0 to ", origin.size() - 1}));
}

template <std::integral N> std::size_t checked_count(const CallOrigin& origin, N n) {
  if constexpr (std::is_signed_v<N>) {
    if (n < 0) origin.refuse(joined({"the count ", n, " is negative: counts start at 0"}));
  }
  return static_cast<std::size_t>(n);
}

/// Returns the number of an element type, in the bits of Call::types.
template <class T> consteval std::uint64_t element_bits() noexcept {
  return std::uint64_t{type_hash<T>() >> 11U} << 18U;
}

/// Returns the number of an operator's type, in the bits of Call::types; 0 if the operator has a
/// state.
template <class Op> consteval std::uint64_t operator_bits() noexcept {
  return std::is_empty_v<Op> ? std::uint64_t{type_hash<Op>() >> 15U} << 1U : 0U;
}

/// What a call knows of its elements where it knows no type.
struct ElementNumbers {
  std::size_t size = 1;     ///< bytes of one
  std::uint64_t types = 0;  ///< in Call::types
};

template <class T> constexpr ElementNumbers element_numbers() noexcept {
  static_assert(std::is_trivially_copyable_v<T>,
                "papcoll: the elements of a collective are copied byte by byte, and this type is "
                "not trivially copyable");
  return {sizeof(T), element_bits<T>()};
}

/// Call::types of a reduction of elements of type T by an operator that makes this reducer.
template <class T, class Op>
constexpr std::uint64_t types_of_reduction(const Reducer& reducer) noexcept {
  return element_bits<T>() | operator_bits<Op>() | (reducer.commutative ? 1U : 0U);
}

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI
