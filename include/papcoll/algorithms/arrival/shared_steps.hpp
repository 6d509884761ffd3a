// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/node/call_context.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/schedule/range.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

// Steps that arrival-driven algorithms have in common. The short ones
// are always inlined: a call of a function is felt in a collective of 8 bytes.

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Returns true if the call of rank r, which has arrived, matches this rank's. If not, every rank
/// throws.
[[gnu::always_inline]] inline bool matched(CallContext auto& ctx, int r) {
  if (ctx.matches(r)) return true;
  ctx.fail(r);
  return false;
}

/// Returns true if rank r has written chunk k of a matching call; always true for this rank itself.
[[gnu::always_inline]] inline bool has_chunk(CallContext auto& ctx, int r, std::uint32_t k) {
  return r == ctx.rank() || (ctx.arrived(r, k + 1) && (k != 0 || matched(ctx, r)));
}

/// Returns true if the predicate holds for 0…end−1. Begins at `next`, and stores there where the
/// next look has to go on, or 0.
[[gnu::always_inline]] inline bool all_pass(int& next, int end, auto&& is_so) {
  for (; next < end; ++next) {
    if (!is_so(next)) return false;
  }
  next = 0;
  return true;
}

/// Tells `audience` that this rank's first `written` chunks are in its chunk buffers.
void show_chunks(CallContext auto& ctx, std::uint32_t written, int audience) {
  written == 1 ? ctx.announce(nullptr, 0, 1) : ctx.publish(written, audience);
}

/// n bytes of rank r, `at` bytes into what it has at `place`; copied to `scratch` by the kernel if
/// they are not seen.
const std::byte* reach(CallContext auto& ctx, int r, const BufferPlace& place, std::size_t at,
                       std::size_t n, std::byte* scratch) {
  if (place.mapped != 0) return ctx.peers().see(place) + at;
  ctx.peers().pull(scratch, r, place.at + at, n);
  return scratch;
}

/// Copies them to this rank's memory.
void fetch(CallContext auto& ctx, std::byte* to, int r, const BufferPlace& place, std::size_t at,
           std::size_t n) {
  if (place.mapped != 0) return ctx.read(to, ctx.peers().see(place) + at, n);
  ctx.peers().pull(to, r, place.at + at, n);
}

/// Returns what `choose` makes of the cache lines that n elements of `size` bytes fill, in
/// elements.
Range whole_lines(std::size_t n, std::size_t size, auto&& choose) noexcept {
  const std::size_t line = size < cache_line ? cache_line / size : 1;
  const Range lines = choose(Range{0, (n + line - 1) / line});
  return {std::min(lines.lo * line, n), std::min(lines.hi * line, n)};
}

/// Slice i of n elements of `size` bytes; whole cache lines, so that no two ranks write to one.
inline Range slice_of(std::size_t n, std::size_t size, int i, int slices) noexcept {
  return whole_lines(n, size, [&](Range lines) { return part(lines, i, slices); });
}

/// Calls f(at, n) for the blocks of a range: n elements of `size` bytes, the first of them `at`
/// bytes behind element 0. With its inputs and its copy a block stays in a nearest cache of 32 KB.
void for_each_block(Range elements, std::size_t size, auto&& f) {
  constexpr std::size_t block_bytes = 8192;
  const std::size_t block = std::max(block_bytes / size, std::size_t{1});
  for (std::size_t i = elements.lo; i < elements.hi; i += block) {
    f(i * size, std::min(block, elements.hi - i));
  }
}

/// Writes n elements of `size` bytes, but for those of a slice, to this rank's chunk buffer of that
/// number; where the slice is all, the buffer takes no pages.
void write_around(CallContext auto& ctx, std::uint32_t buffer, const std::byte* from, std::size_t n,
                  std::size_t size, Range slice) {
  if (slice.empty()) slice = {n, n};
  for (const Range& r : {Range{0, slice.lo}, Range{slice.hi, n}}) {
    if (r.empty()) continue;
    ctx.write(ctx.chunk_buffer(ctx.rank(), buffer) + r.lo * size, from + r.lo * size,
              r.size() * size);
  }
}

/// Combines n elements of operand(0) … operand(count − 1), 2 or more, in this order. Only the last
/// combination writes to `to`, which may be one of them.
void combine_in_order(CallContext auto& ctx, std::byte* to, int count, std::size_t n,
                      auto&& operand) {
  const std::byte* low = operand(0);
  for (int i = 1; i < count; ++i) {
    std::byte* const into = i + 1 == count ? to : ctx.scratch(0);
    ctx.reduce(into, low, operand(i), n);
    low = into;
  }
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
