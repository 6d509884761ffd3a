#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/node/board.hpp>
#include <papcoll/node/waiting/doorbells.hpp>

#include <atomic>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

/// Where the ranks of a node meet before something that blocks in MPI until all are there: a rank
/// that waits in papcoll does what late ranks still need of it, and none that cannot go on leaves
/// the others alone in MPI. One rank's view.
class NodeRendezvous {
 public:
  /// Of a node's ranks. Used for the first time when the board is new.
  NodeRendezvous(NodeBoard board, Doorbells bells) noexcept : board_(board), bells_(bells) {}

  /// This rank is there.
  void arrive() noexcept {
    all_ += static_cast<std::uint32_t>(board_.ranks());
    if (word().fetch_add(1, std::memory_order_seq_cst) + 1 == all_) bells_.ring_all();
  }

  /// Are all there?
  bool is_open() const noexcept {
    const std::uint32_t came = word().load(std::memory_order_seq_cst);
    return (came & closed) == 0 && came >= all_;
  }

  /// Has a rank closed it?
  bool is_closed() const noexcept { return (word().load(std::memory_order_seq_cst) & closed) != 0; }

  /// This rank cannot go on. False: too late, all are there, and this one has to go with them.
  bool close() noexcept {
    std::uint32_t came = word().load(std::memory_order_seq_cst);
    while (came < all_) {  // what is closed is above
      if (word().compare_exchange_weak(came, came | closed, std::memory_order_seq_cst)) return true;
    }
    return (came & closed) != 0;
  }

 private:
  static constexpr std::uint32_t closed = NodeBoard::Abort::closed;

  NodeBoard::Atomic<std::uint32_t>& word() const noexcept { return board_.abort().gate; }

  NodeBoard board_;
  Doorbells bells_;
  std::uint32_t all_ = 0;  ///< what it shows when all are there
};

}  // namespace papcoll::inline PAPCOLL_ABI
