#pragma once

#include <papcoll/config.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

#if PAPCOLL_STREAMS
#include <emmintrin.h>
#endif

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// From so many bytes on, a copy to memory that another core has read goes past the caches. A store
/// to a line that is still in the reader's cache has to take it away first: Zen 4, cores that share
/// no L3, 28 ns a line one after the other (2.3 GB/s), streamed 30 GB/s, and the reader is as fast
/// as before. Between cores that share one, the reader is slower by what the writer gains; there a
/// call of 8 KB takes 0.2 µs more, and from 16 KB on none takes longer. (By shared_lines_bench and
/// papcoll-bench in benchmarks/.)
inline constexpr std::size_t streamed_from = 4096;

#if PAPCOLL_STREAMS
/// A copy past the caches, complete when this returns.
inline void stream(std::byte* to, const std::byte* from, std::size_t n) noexcept {
  const std::size_t head = (0 - reinterpret_cast<std::uintptr_t>(to)) % cache_line;
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

/// memcpy to memory that other ranks read. What a release store publishes may have been copied so.
inline void copy_for_others(std::byte* to, const std::byte* from, std::size_t n) noexcept {
#if PAPCOLL_STREAMS
  if (n >= streamed_from) return stream(to, from, n);
#endif
  // Not memcpy: of what is known to be short, g++ 12 makes a `rep movs`, which is slow to begin.
  if (n != 0) std::memmove(to, from, n);
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
