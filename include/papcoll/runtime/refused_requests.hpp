#pragma once

#include <papcoll/config.hpp>
#include <papcoll/node/board.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// The invalid non-blocking calls of a node's ranks. Nobody waits in such a call, so each rank says
/// on the board which it has refused, and those that started theirs look there while they wait for
/// it. One rank's view.
class RefusedRequests {
 public:
  RefusedRequests(NodeBoard board, int rank)
      : board_(board), rank_(rank), heard_(static_cast<std::size_t>(board.ranks())) {}

  /// This rank refuses its request of that number.
  void refuse(std::uint32_t number) {
    here_.push_back(number);
    auto& left = board_.left(rank_);
    const auto count = static_cast<std::uint32_t>(here_.size());
    left.refused[(count - 1) % NodeBoard::refusals].store(number, std::memory_order_release);
    left.refused_count.store(count, std::memory_order_release);
  }

  /// A peer that has refused a request that this rank has started, of a number up to `last`; or
  /// that has refused so many that their numbers are lost. −1: none has.
  int find(std::uint32_t last) {
    for (int r = 0; r < board_.ranks(); ++r) {
      if (r != rank_ && !hear(r)) return r;
    }
    std::erase_if(elsewhere_, [this](const Refused& it) {
      return std::find(here_.begin(), here_.end(), it.number) != here_.end();
    });
    for (const Refused& it : elsewhere_) {
      if (epoch_reached(last, it.number)) return it.rank;
    }
    return -1;
  }

 private:
  struct Refused {
    int rank;
    std::uint32_t number;
  };

  /// False: some numbers are lost.
  bool hear(int r) {
    auto& left = board_.left(r);
    std::uint32_t& heard = heard_[static_cast<std::size_t>(r)];
    const std::uint32_t count = left.refused_count.load(std::memory_order_acquire);
    for (; heard != count; ++heard) {
      elsewhere_.push_back(
          {r, left.refused[heard % NodeBoard::refusals].load(std::memory_order_acquire)});
      // Its number may have been overwritten while it was read.
      if (left.refused_count.load(std::memory_order_acquire) - heard > NodeBoard::refusals - 1) {
        return false;
      }
    }
    return true;
  }

  NodeBoard board_;
  int rank_;
  std::vector<std::uint32_t> here_;   ///< by number
  std::vector<Refused> elsewhere_;    ///< that this rank has not refused so far
  std::vector<std::uint32_t> heard_;  ///< of each rank
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
