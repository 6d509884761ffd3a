#pragma once

#include <papcoll/algorithms/static/powers.hpp>
#include <papcoll/plan/range.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

/// How schedules of two trees cut a vector: in chunks, as many as go through one plan, and longer
/// vectors in blocks of so many. Who cuts for the same size and bytes cuts alike, so that a bcast
/// follows a reduce chunk by chunk.
struct TwoTreeChunks {
  std::size_t bytes = 0;  ///< of a chunk; 0: chosen for the vector

  // A pipeline of L = 2⌈log₂ P⌉ steps and m/c chunks of c bytes takes (L + m/c)(o + c/r), for an
  // overhead of o a message and a rate of r: least with c = √(m·or/L).
  static constexpr std::size_t overhead_bytes = 1500;  ///< o·r: 0.4 µs at 4 GB/s
  static constexpr std::size_t least = 1024;
  static constexpr std::size_t most = 65536;  ///< stays in a cache
  /// Of a plan. Fewer than a transport's numbers for the messages of a pair and a direction.
  static constexpr std::size_t chunks_in_plan = 256;

  /// Elements of a block among `size` positions.
  std::size_t segment(std::size_t element_size) const noexcept {
    const std::size_t chunk = bytes == 0 ? most : bytes;
    return std::max<std::size_t>(1, chunk * chunks_in_plan / element_size);
  }

  /// Into how many chunks a vector of `elements` is cut.
  int count(std::size_t elements, std::size_t element_size, int size) const noexcept {
    const std::size_t chunk = std::max<std::size_t>(1, chosen(elements * element_size, size) / element_size);
    return static_cast<int>((elements + chunk - 1) / chunk);
  }

  /// Messages in flight of a pair and direction, for chunks of about so many elements: so many that
  /// the next one is there when one has been sent.
  static std::uint32_t in_flight(std::size_t elements, std::size_t element_size) noexcept {
    constexpr std::size_t wanted = 32768;
    return static_cast<std::uint32_t>(
        std::clamp<std::size_t>(wanted / std::max<std::size_t>(1, elements * element_size), 2, 8));
  }

  friend bool operator==(const TwoTreeChunks&, const TwoTreeChunks&) = default;

 private:
  std::size_t chosen(std::size_t vector_bytes, int size) const noexcept {
    if (bytes != 0) return bytes;
    const auto steps = static_cast<std::size_t>(2 * std::max(1, doubling_rounds(size)));
    const double square = static_cast<double>(vector_bytes) *
                          static_cast<double>(overhead_bytes) / static_cast<double>(steps);
    const auto best = static_cast<std::size_t>(std::sqrt(square));
    const std::size_t fits = (vector_bytes + chunks_in_plan - 1) / chunks_in_plan;
    return std::max(std::clamp(best, least, most), fits);
  }
};

}  // namespace papcoll::inline PAPCOLL_ABI
