// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

#if PAPCOLL_COPIES_BY_INSTRUCTION
#include <cpuid.h>
#include <emmintrin.h>
#endif

namespace papcoll::inline PAPCOLL_ABI {

/// How a rank copies to memory that other ranks read. Short copies are plain with all of them.
enum class CopyMethod : unsigned char {
  best,      ///< by string instruction where the processor has a fast one, else as a probe finds
  plain,     ///< memmove
  string,    ///< the instruction rep movsb (x86-64), which is memmove elsewhere
  streamed,  ///< stores past the caches (x86-64), which is memmove elsewhere
  probed,    ///< plain or streamed, whichever a probe finds faster between the ranks: PeerProbe
};

inline constexpr std::array<std::string_view, 5> copy_method_names{"best", "plain", "string",
                                                                   "streamed", "probed"};
constexpr std::string_view name_of(CopyMethod m) noexcept {
  return copy_method_names[static_cast<std::size_t>(m)];
}

/// From how many bytes on a copy is made by the method, below plainly: where it is no slower from
/// the first byte written until another core has read the last, which
/// benchmarks/parts/shared_lines_bench.cpp measures. A loop of vector stores, as a compiler may
/// make of a copy, is slower than all of them between cores without a shared cache.
struct CopyThresholds {
  std::size_t string = 2048;
  std::size_t streamed = 4096;
  /// Of a rank's share of the last-level caches: calls whose buffers have more write their outputs
  /// past them. Streamed stores are quicker for less, too, but whoever reads the output next would
  /// pay more than was gained.
  std::size_t beyond_percent = 50;
};

namespace detail {

/// How one team copies for its other ranks. Each rank may have its own.
struct CopyRule {
  static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

  CopyMethod method = CopyMethod::plain;  ///< never best or probed
  std::size_t from = never;               ///< bytes; less are copied plainly
  /// Bytes of a rank's buffers in one call from which it writes its output past the caches: they
  /// would hold none of it when the call is over.
  std::size_t beyond_caches = never;

  /// `cache_share`: a rank's part of the last-level caches; 0: not known.
  static constexpr CopyRule by(CopyMethod m, std::size_t cache_share = 0,
                               const CopyThresholds& t = {}) noexcept {
    if (m == CopyMethod::streamed) return {m, t.streamed, t.streamed};
    const std::size_t beyond = cache_share == 0 ? never : cache_share / 100 * t.beyond_percent;
    return m == CopyMethod::string ? CopyRule{m, t.string, beyond} : CopyRule{m, never, beyond};
  }
};

/// Returns true if the processor reports fast rep movsb, for long copies (ERMS) or also for short
/// ones (FSRM). Slow on virtual machines, which trap cpuid.
inline bool has_fast_string_copies() noexcept {
#if PAPCOLL_COPIES_BY_INSTRUCTION
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  return (b >> 9U & 1U) != 0 || (d >> 4U & 1U) != 0;
#else
  return false;
#endif
}

/// How one rank copies for the others of its node. Other threads may ask meanwhile.
class CopyChoice {
 public:
  CopyChoice() = default;
  /// `cache_share`: see CopyRule::by().
  CopyChoice(CopyMethod wanted, std::size_t cache_share) noexcept
      : is_probed_(needs_probe(wanted)) {
    if (wanted == CopyMethod::best && !is_probed_) {
      wanted = has_fast_string_copies() ? CopyMethod::string : CopyMethod::plain;
    }
    const CopyRule plain = CopyRule::by(CopyMethod::plain, cache_share);
    rules_.fill(is_probed_ ? plain : CopyRule::by(wanted, cache_share));
    // Only what others read at once is copied so: outputs are, as ever, if caches would not hold
    // them.
    rules_[found_streamed].method = CopyMethod::streamed;
    rules_[found_streamed].from = CopyThresholds{}.streamed;
  }

  const CopyRule& rule() const noexcept { return rules_[now()]; }

  /// Returns true if a probe has chosen the method; until then copies are plain.
  bool is_probed() const noexcept { return is_probed_; }
  bool is_found() const noexcept { return now() != not_found; }
  void found(CopyMethod faster) noexcept {
    now_.store(faster == CopyMethod::streamed ? found_streamed : found_plain,
               std::memory_order_relaxed);
  }

 private:
  enum Now : unsigned char { not_found, found_plain, found_streamed, states };

  /// Returns true if there are streamed stores, and it is not known that another method is as fast.
  static bool needs_probe(CopyMethod wanted) noexcept {
    return wanted == CopyMethod::probed ||
           (wanted == CopyMethod::best && PAPCOLL_COPIES_BY_INSTRUCTION != 0 &&
            !has_fast_string_copies());
  }
  Now now() const noexcept { return now_.load(std::memory_order_relaxed); }

  std::array<CopyRule, states> rules_{};
  bool is_probed_ = false;
  // Written by its rank between calls. Relaxed: the rules it names never change.
  std::atomic<Now> now_{not_found};
};

#if PAPCOLL_COPIES_BY_INSTRUCTION
inline void copy_string(std::byte* to, const std::byte* from, std::size_t n) noexcept {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

/// A copy past the caches, complete when this returns.
[[gnu::noinline]] inline void copy_streamed(std::byte* to, const std::byte* from,
                                            std::size_t n) noexcept {
  const std::size_t gap = (0 - reinterpret_cast<std::uintptr_t>(to)) % cache_line;
  const std::size_t head = gap < n ? gap : n;
  std::memcpy(to, from, head);
  to += head;
  from += head;
  n -= head;
  for (; n >= cache_line; n -= cache_line, to += cache_line, from += cache_line) {
    auto* const out = reinterpret_cast<__m128i*>(to);
    const auto* const in = reinterpret_cast<const __m128i*>(from);
    const __m128i a = _mm_loadu_si128(in);
    const __m128i b = _mm_loadu_si128(in + 1);
    const __m128i c = _mm_loadu_si128(in + 2);
    const __m128i d = _mm_loadu_si128(in + 3);
    _mm_stream_si128(out, a);
    _mm_stream_si128(out + 1, b);
    _mm_stream_si128(out + 2, c);
    _mm_stream_si128(out + 3, d);
  }
  _mm_sfence();
  std::memcpy(to, from, n);
}
#endif

/// A copy to memory that other ranks read. The two do not overlap. What a release store publishes
/// may have been copied so.
inline void copy_for_others(const CopyRule& rule, std::byte* to, const std::byte* from,
                            std::size_t n) noexcept {
#if PAPCOLL_COPIES_BY_INSTRUCTION
  if (n >= rule.from) {
    return rule.method == CopyMethod::string ? copy_string(to, from, n)
                                             : copy_streamed(to, from, n);
  }
#else
  static_cast<void>(rule);
#endif
  // Not memcpy: for sizes known to be short, g++ 12 makes a `rep movs` of it, which is slow to
  // begin.
  if (n != 0) std::memmove(to, from, n);
}

/// A copy of what is not read soon, past the caches where the processor can.
inline void copy_past_caches(std::byte* to, const std::byte* from, std::size_t n) noexcept {
#if PAPCOLL_COPIES_BY_INSTRUCTION
  copy_streamed(to, from, n);
#else
  if (n != 0) std::memcpy(to, from, n);
#endif
}

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI
