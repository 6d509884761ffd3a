#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>

#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Of a call that combines nothing, what each rank has for each other one, and where that lies in
/// its buffers. One of the ranks asks; where counts differ, it knows its own blocks only.
class ExchangedBlocks {
 public:
  /// Bytes that lie together.
  struct Bytes {
    std::size_t at = 0;  ///< in the buffer
    std::size_t n = 0;
  };

  ExchangedBlocks() = default;
  ExchangedBlocks(const Call& c, int rank, int size) noexcept
      : call_(&c), rank_(rank), size_(size), has_root_(is_rooted(c.collective)) {}

  /// Has this rank one block for all, or one for each?
  bool shares_one() const noexcept {
    return call_->collective == Collective::allgather || call_->collective == Collective::gather;
  }

  /// Does rank `from` give rank `to` anything? A rank takes its own block, too, but in place.
  bool gives(int from, int to) const noexcept {
    if (!has_root_) return true;
    return (call_->collective == Collective::gather ? to : from) == call_->root;
  }

  /// What this rank has for rank r, in the input.
  Bytes given(int r) const noexcept {
    if (shares_one()) return {0, elements(rank_) * call_->reducer.size};
    return block(r, 0);
  }
  /// What it gets from rank r, in the output.
  Bytes taken(int r) const noexcept {
    switch (call_->collective) {
      case Collective::alltoall:
        return block(r, call_->counts != nullptr ? size_ : 0);
      case Collective::scatter:
        return {0, elements(rank_) * call_->reducer.size};
      default:
        return block(r, 0);
    }
  }

 private:
  std::size_t elements(int i) const noexcept {
    return call_->counts != nullptr ? call_->counts[i] : call_->count;
  }
  Bytes block(int r, int first) const noexcept {
    const std::size_t size = call_->reducer.size;
    const std::size_t n = elements(first + r) * size;
    if (call_->places != nullptr) return {call_->places[first + r] * size, n};
    return {static_cast<std::size_t>(r) * n, n};
  }

  const Call* call_ = nullptr;
  int rank_ = 0;
  int size_ = 0;
  bool has_root_ = false;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
