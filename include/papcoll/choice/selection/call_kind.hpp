#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace papcoll::inline PAPCOLL_ABI {

/// Candidates for a call by their numbers, the most promising first.
struct Shortlist {
  static constexpr std::size_t most = 4;

  std::array<std::uint8_t, most> ids{};
  std::uint8_t count = 0;
  std::uint16_t allowed = 0;  ///< bit i: candidate i may run, listed or not

  void add(std::uint8_t id) noexcept {
    allowed |= static_cast<std::uint16_t>(1U << id);
    if (count < most && !has(id)) ids[count++] = id;
  }
  /// Adds those of which least is expected, the best first, and none of which several times as much
  /// is. `expected` is used up; what is infinite may not run.
  void add_promising(std::span<double> expected, std::size_t at_most = most) noexcept {
    constexpr double too_much = 4;
    constexpr double never = std::numeric_limits<double>::infinity();
    const double least = *std::min_element(expected.begin(), expected.end());
    while (count < at_most) {
      const auto next = std::min_element(expected.begin(), expected.end());
      if (*next == never || *next > too_much * least) return;
      add(static_cast<std::uint8_t>(next - expected.begin()));
      *next = never;
    }
  }
  bool has(std::uint8_t id) const noexcept {
    return std::find(ids.begin(), ids.begin() + count, id) != ids.begin() + count;
  }
  /// Bit i: candidate i is listed.
  std::uint16_t listed() const noexcept {
    unsigned bits = 0;
    for (std::size_t i = 0; i < count; ++i) bits |= 1U << ids[i];
    return static_cast<std::uint16_t>(bits);
  }
};

/// The properties by which calls are of one kind: calls of a kind share one choice.
struct CallKind {
  bool imbalanced = false;
  bool in_arena = false;  ///< or, by messages, non-blocking
  bool by_messages = false;
  std::size_t block_bytes = 0;  ///< of calls whose ranks know their own blocks only, in the mean

  using Bits = std::uint16_t;
  static constexpr Bits by_messages_bit = 1U << 10U;
  static constexpr Bits imbalanced_bit = 16;
  static constexpr Bits in_arena_bit = 8;
  static constexpr Bits non_blocking_bit = in_arena_bit;  ///< of what passes messages
  static constexpr Bits rank_order_bit = 4;
  static constexpr Bits reproducible_bit = 2;
  static constexpr Bits uneven_bit = 1;
  static constexpr Bits all_bits = 31;
  static constexpr Bits size_bits = 31U << 5U;

  Bits key(const Call& call) const noexcept {
    return key_of(
        call.collective, call.own_counts ? block_bytes : call.bytes(),
        static_cast<Bits>(
            (by_messages ? by_messages_bit : 0U) | (imbalanced ? imbalanced_bit : 0U) |
            (in_arena ? in_arena_bit : 0U) | (call.rank_order ? rank_order_bit : 0U) |
            (call.by_arrivals() ? 0U : reproducible_bit) | (call.is_uneven() ? uneven_bit : 0U)));
  }
  /// Never 0. From 1 GB on sizes are of one kind.
  static Bits key_of(Collective c, std::size_t bytes, Bits bits) noexcept {
    const auto size = std::min(static_cast<unsigned>(std::bit_width(bytes)), 31U);
    return static_cast<Bits>(0x8000U | static_cast<unsigned>(c) << 11U | size << 5U | bits);
  }
  static Collective collective_of(Bits key) noexcept {
    return static_cast<Collective>(key >> 11U & 15U);
  }
  /// The least bytes of a call of that kind.
  static std::size_t bytes_of(Bits key) noexcept {
    const unsigned size = key >> 5U & 31U;
    return size == 0 ? 0 : std::size_t{1} << (size - 1);
  }
  /// Calls of a kind until a pool, which they use in turns, has been used all over by those half of
  /// them that do: until then its pages and lines are cold.
  static std::uint32_t calls_to_warm_up(Bits key) noexcept {
    constexpr Bits not_by_pools = by_messages_bit | in_arena_bit;
    constexpr std::size_t pool = std::size_t{4} << 20U;
    constexpr std::size_t most = 128;
    constexpr std::size_t pooled_from = 4096;
    if ((key & not_by_pools) != 0) return 0;
    const std::size_t bytes = bytes_of(key);
    if (bytes < pooled_from) return 0;
    return static_cast<std::uint32_t>(std::min(pool / bytes, most));
  }
  static_assert(collective_count <= 16);
};

}  // namespace papcoll::inline PAPCOLL_ABI
