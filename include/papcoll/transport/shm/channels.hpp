#pragma once

#include <papcoll/base/config.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace papcoll::inline PAPCOLL_ABI {

/// A one-way channel between two ranks of a node: a ring of cells in shared memory. A message is
/// cut into cells; messages follow each other in the order in which they were sent.
///
/// Invariant: cell i (counted from the beginning of time) is written by the sender only while
/// i − consumed < cells, and read by the receiver only while stamp(i) == i + 1.
struct Channel {
  static constexpr std::uint32_t cells = 8;
  static constexpr std::size_t cell_bytes = 8192;

  struct Header {
    // release by the sender after the payload, before a ring of the receiver's bell; acquire by the
    // receiver before it, and sequentially consistent since it looks here before it sleeps (see
    // BasicDoorbells).
    std::atomic<std::uint32_t> stamp;
    std::uint32_t bytes;     ///< of this cell's payload
    std::uint32_t sequence;  ///< the message: see TransportOp
    std::uint32_t block;
    std::uint32_t number;
    std::uint32_t unused;
    std::uint64_t total;  ///< bytes of the whole message
  };
  static constexpr std::size_t payload_bytes = cell_bytes - sizeof(Header);

  struct Cell {
    Header header;
    std::byte payload[payload_bytes];
  };
  static_assert(sizeof(Cell) == cell_bytes);

  // release by the receiver after it read a cell, acquire by the sender before it writes that cell
  // again, and sequentially consistent for the same reason.
  alignas(cache_line) std::atomic<std::uint32_t> consumed;
  alignas(cache_line) Cell ring[cells];

  Cell& cell(std::uint32_t i) noexcept { return ring[i % cells]; }
};

/// The channels of all pairs of a node, over memory that begins as zeros. Only the channels that
/// are used ever get pages.
class Channels {
 public:
  static std::size_t bytes(int ranks) noexcept {
    return static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks) * sizeof(Channel);
  }

  Channels(std::byte* memory, int ranks) noexcept : memory_(memory), ranks_(ranks) {}

  std::size_t offset(int from, int to) const noexcept {
    return (static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks_) +
            static_cast<std::size_t>(to)) *
           sizeof(Channel);
  }

  Channel& between(int from, int to) noexcept {
    return *std::launder(reinterpret_cast<Channel*>(memory_ + offset(from, to)));
  }

 private:
  std::byte* memory_;
  int ranks_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
