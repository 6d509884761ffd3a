#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/node/board.hpp>
#include <papcoll/node/node.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Which chunk buffers of a board have pages, as far as a rank knows, and how the others get them.
///
/// Whoever is first to ask for a rank's buffers takes their pages, those of all frames. That is the
/// rank itself, so that they come from its own NUMA node; only of one that MultiLeader leaves the
/// whole of a chunk, and which therefore writes nothing to its slot, it may be another. One of the
/// result's is taken alone, by the rank that first writes to it. No call takes what it does not
/// need.
///
/// Two ranks that take the same pages at the same time both have them, if no signal comes: one
/// that interrupts the kernel makes it take back those that nobody has touched, until that rank has
/// asked again. So an algorithm leaves it to one rank at a time, as those of the library do.
template <class Board>
class BufferPages {
 public:
  /// `node`: null, or one without `reserve`: pages come by themselves.
  BufferPages(const Board& board, const Node* node)
      : node_(node != nullptr && node->reserve != nullptr ? node : nullptr),
        slots_(static_cast<std::size_t>(board.ranks()), node_ == nullptr) {
    results_.fill(node_ == nullptr);
  }

  bool has_slot(int r) const noexcept { return slots_[static_cast<std::size_t>(r)] != 0; }
  bool has_result(std::uint32_t epoch, std::uint32_t chunk) const noexcept {
    return results_[number(epoch, chunk)];
  }

  /// Makes sure of those of rank r, in all frames. Throws system_error.
  [[gnu::noinline, gnu::cold]] void take_slot(const Board& board, int r) {
    take(board.slot_reserved(r), board.slot(0, r, 0), board.slot_bytes());
    slots_[static_cast<std::size_t>(r)] = 1;
  }
  /// Makes sure of one of the result. Throws system_error.
  [[gnu::noinline, gnu::cold]] void take_result(const Board& board, std::uint32_t epoch,
                                                std::uint32_t chunk) {
    take(board.result_reserved(epoch, chunk), board.result(epoch, chunk), board.chunk_bytes());
    results_[number(epoch, chunk)] = true;
  }

 private:
  void take(typename Board::Reserved& reserved, const std::byte* at, std::size_t bytes) {
    if (reserved.load(std::memory_order_acquire) != 0) return;
    node_->reserve(node_->context, at, bytes);
    reserved.store(1, std::memory_order_release);
  }

  static std::size_t number(std::uint32_t epoch, std::uint32_t chunk) noexcept {
    return epoch % Board::frames * Board::results + chunk % Board::results;
  }

  const Node* node_;                  ///< null: pages come by themselves
  std::vector<unsigned char> slots_;  ///< of each rank: 1 if its buffers have pages
  std::array<bool, std::size_t{Board::frames} * Board::results> results_{};
};

namespace detail {

/// The board of a node.
[[gnu::cold]] inline NodeBoard board_of(const Node& node, std::size_t chunk_bytes) noexcept {
  return {node.board, node.buffers, node.size, chunk_bytes, page_bytes()};
}
/// Bytes of the two parts of such a board: whole pages.
[[gnu::cold]] inline std::size_t board_words_bytes(int ranks) noexcept {
  return page_aligned(NodeBoard::words_bytes(ranks));
}
inline std::size_t board_buffers_bytes(int ranks, std::size_t chunk_bytes) noexcept {
  return NodeBoard::buffers_bytes(ranks, chunk_bytes, page_bytes());
}

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
