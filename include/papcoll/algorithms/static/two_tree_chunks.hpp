#pragma once

#include <papcoll/algorithms/static/tree_shapes.hpp>
#include <papcoll/base/math.hpp>
#include <papcoll/schedule/range.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace papcoll::inline PAPCOLL_ABI {

/// How schedules of two trees cut a vector: in chunks, as many as go through one plan, and longer
/// vectors in blocks of so many. Who cuts for the same size and bytes cuts alike, so that a bcast
/// follows a reduce chunk by chunk.
struct TwoTreeChunks {
  std::size_t bytes = 0;  ///< of a chunk; 0: chosen for the vector

  // A pipeline of L steps and m/c chunks of c bytes takes (L + m/c)(o + c/r), for an overhead of o
  // a message and a rate of r: least with c = √(m·or/L). L = 2⌈log₂ P⌉.
  static constexpr std::size_t overhead_bytes = 1500;  ///< o·r: 0.375 µs at 4 GB/s
  static constexpr std::size_t least = 1024;
  static constexpr std::size_t most = 65536;  ///< stays in a cache
  /// Of a plan, if they are as long as wanted; chunks of few elements may be half as many again.
  static constexpr std::size_t chunks_in_plan = 240;
  static constexpr int most_ramp = 8;

  /// Elements of a block among `size` positions.
  std::size_t segment(std::size_t element_size) const noexcept {
    constexpr std::size_t longest = std::numeric_limits<std::size_t>::max() / chunks_in_plan;
    const std::size_t chunk = bytes == 0 ? most : std::min(bytes, longest);
    return std::max<std::size_t>(1, chunk * chunks_in_plan / element_size);
  }

  /// The chunks of a vector among `size` positions. The first and the last ones are shorter, so
  /// that the pipeline fills and drains in little time, and so that messages that share a port do
  /// not all end at once, after which it would be idle until the next ones begin: with 16 ranks in
  /// SMPI a bcast of 7 MB takes 1.25 times the bandwidth bound with equal chunks, 1.09 with these.
  struct Cut {
    Range whole;
    int count = 0;  ///< some of them may be empty
    std::size_t longest = 0;
    int ramp = 1;

    Range operator[](int i) const noexcept { return {bound(i), bound(i + 1)}; }

   private:
    // In units of which the i-th chunk has min(i + 1, count − i, ramp).
    std::size_t units(int chunks) const noexcept {
      const auto r = static_cast<std::size_t>(ramp);
      const auto n = static_cast<std::size_t>(chunks);
      const std::size_t left = static_cast<std::size_t>(count) - n;
      if (n <= r) return n * (n + 1) / 2;
      if (left >= r) return r * (r + 1) / 2 + (n - r) * r;
      return r * (static_cast<std::size_t>(count) - r + 1) - left * (left + 1) / 2;
    }
    std::size_t bound(int i) const noexcept {
      const std::size_t all = units(count);
      const std::size_t before = units(i);
      return whole.lo + whole.size() / all * before + whole.size() % all * before / all;
    }
  };

  Cut cut(Range whole, std::size_t element_size, int size) const noexcept {
    Cut c{whole};
    if (whole.empty()) return c;
    c.longest = std::max<std::size_t>(1, chosen(whole.size() * element_size, size) / element_size);
    const std::size_t rest = whole.size() % c.longest == 0 ? 0 : 1;
    const auto full = static_cast<int>(whole.size() / c.longest + rest);
    c.ramp = std::min(full, most_ramp);
    c.count = full + c.ramp - 1;
    return c;
  }

  /// Messages in flight of a pair and direction: enough that the next ones are there when one has
  /// been sent, few enough that the first of them is not held up by the last. `least` of them in a
  /// bcast, which has nothing else to do, and in a reduce, which waits for the processor.
  static constexpr std::uint32_t least_in_bcast = 4;
  static constexpr std::uint32_t least_in_reduce = 2;
  static constexpr std::uint32_t in_flight(std::size_t chunk, std::uint32_t fewest) noexcept {
    constexpr std::size_t wanted = 32768;
    return static_cast<std::uint32_t>(
        std::clamp<std::size_t>(wanted / std::max<std::size_t>(1, chunk), fewest, 8));
  }

  friend bool operator==(const TwoTreeChunks&, const TwoTreeChunks&) = default;

 private:
  std::size_t chosen(std::size_t vector_bytes, int size) const noexcept {
    if (bytes != 0) return bytes;
    const auto steps = static_cast<std::size_t>(2 * std::max(1, doubling_rounds(size)));
    const double square = static_cast<double>(vector_bytes) * static_cast<double>(overhead_bytes) /
                          static_cast<double>(steps);
    const auto best = static_cast<std::size_t>(math::sqrt(square));
    const std::size_t fits = (vector_bytes + chunks_in_plan - 1) / chunks_in_plan;
    return std::max(std::clamp(best, least, most), fits);
  }
};

}  // namespace papcoll::inline PAPCOLL_ABI
