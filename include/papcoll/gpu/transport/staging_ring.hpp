#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/node/node.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI {

/// The words of a window: memory of the host through which messages of one rank's device go to
/// another rank's, piece by piece, in memory that both map. A ring with a writer and a reader.
///
/// Cell i, counted from the beginning of time, belongs to the writer while i − emptied < cells, and
/// to the reader from the increment of `filled` to that of `emptied`. The writer increments
/// `filled` when its device has copied the piece there, and the reader `emptied` when its own has
/// copied it away: each asks an event.
struct StagingRing {
  static constexpr std::uint32_t cells = 8;  ///< pieces under way

  /// A piece of a message.
  struct Cell {
    std::uint32_t ticket = 0;  ///< of the reader's receive
    std::uint64_t bytes = 0;   ///< of the piece
    std::uint64_t offset = 0;  ///< of the piece in the message
    std::uint64_t total = 0;   ///< bytes of the message
    std::uint64_t at = 0;      ///< where the piece is in the window's data
    std::uint64_t told = 0;    ///< Api::tell() of who gave the cell away last
  };

  /// Cells given to the reader. The writer's release makes the cell and its bytes visible to the
  /// reader's acquire.
  alignas(cache_line) std::atomic<std::uint32_t> filled{0};
  /// Cells given back. The reader's release says that it has done with the cell; the writer's
  /// acquire orders its next writes after that.
  alignas(cache_line) std::atomic<std::uint32_t> emptied{0};
  /// Bytes of a cell that the reader has pinned. Relaxed: it is written before the reader's first
  /// mail, which the writer has read by release and acquire.
  std::atomic<std::uint64_t> readable{0};
  alignas(cache_line) std::array<Cell, cells> each{};
};
static_assert(std::is_trivially_destructible_v<StagingRing>);
static_assert(sizeof(StagingRing) <= 4096);  // a page, see device_window_bytes()

/// Where a window is for one of its ranks.
struct WindowPlace {
  StagingRing* words = nullptr;  ///< at its beginning
  std::byte* data = nullptr;     ///< of the cells, one after the other: whole pages
  std::size_t cell_bytes = 0;    ///< of each

  /// Of all cells.
  std::size_t bytes() const noexcept { return StagingRing::cells * cell_bytes; }
};

/// All memory of a window, words included, as long as nobody uses it as one.
struct WindowMemory {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};

/// The windows of a node's ranks.
class HostWindows {
 public:
  /// As one rank of the node has them mapped.
  explicit HostWindows(const Node& node) : node_(node) {}

  /// The one from a rank to another, in half of its memory, with pages behind it. Throws
  /// system_error.
  WindowPlace between(int from, int to) const {
    const std::size_t words = detail::page_bytes();
    const std::size_t data = (detail::device_window_bytes(node_.size) - words) / 2;
    std::byte* const at = reserved(from, to, words + data);
    return {std::launder(reinterpret_cast<StagingRing*>(at)), at + words,
            data / StagingRing::cells};
  }

  /// All memory of that one, with pages behind it. Throws system_error.
  WindowMemory all_of(int from, int to) const {
    const std::size_t bytes = detail::device_window_bytes(node_.size);
    return {reserved(from, to, bytes), bytes};
  }

 private:
  std::byte* reserved(int from, int to, std::size_t bytes) const {
    const auto ranks = static_cast<std::size_t>(node_.size);
    const std::size_t pair = static_cast<std::size_t>(from) * ranks + static_cast<std::size_t>(to);
    std::byte* const at = node_.device_windows + pair * detail::device_window_bytes(node_.size);
    node_.reserve(at, bytes);
    return at;
  }

  Node node_;  ///< keeps the memory mapped
};

}  // namespace papcoll::inline PAPCOLL_ABI
