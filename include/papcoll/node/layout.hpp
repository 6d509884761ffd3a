#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/node/board.hpp>
#include <papcoll/node/node.hpp>

#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// The board of a node.
[[gnu::cold]] inline NodeBoard board_of(const Node& node, std::size_t chunk_bytes) noexcept {
  return {node.board, node.buffers, node.size, chunk_bytes, page_bytes()};
}
/// Bytes of its buffers: whole pages.
inline std::size_t board_buffers_bytes(int ranks, std::size_t chunk_bytes) noexcept {
  return NodeBoard::buffers_bytes(ranks, chunk_bytes, page_bytes());
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
