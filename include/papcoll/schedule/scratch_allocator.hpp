#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/element_runs.hpp>
#include <papcoll/schedule/range.hpp>

#include <algorithm>
#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI {

/// Pieces of scratch memory that a plan takes and gives back while it is made. Steps that use a
/// piece again wait for those that used it before: StepDependencies goes by addresses.
class ScratchAllocator {
 public:
  /// Returns the offset of n contiguous elements, the first that are free.
  [[gnu::cold]] std::size_t take(std::size_t n) {
    std::size_t run = runs_.cut(0);
    while (runs_[run].value.what == taken || runs_.end(run) - runs_[run].lo < n) ++run;
    const std::size_t at = runs_[run].lo;
    size_ = std::max(size_, at + n);
    runs_.assign({at, at + n}, {taken, 0});
    return at;
  }

  /// The elements can be taken again after settle(). Not before: what is received in the round in
  /// which they were sent would wait for that send, and where all ranks do so, they wait for each
  /// other in a circle.
  [[gnu::cold]] void give_back(std::size_t at, std::size_t n) {
    if (n != 0) resting_.push_back({at, at + n});
  }

  /// To be called after each receive.
  [[gnu::cold]] void settle() {
    for (const Range r : resting_) runs_.assign(r, {});
    resting_.clear();
  }

  std::size_t size() const noexcept { return size_; }  ///< elements in use at once, at most

 private:
  static constexpr std::uint32_t taken = 1;

  detail::Vector<Range> resting_;
  ElementRuns runs_;  ///< taken or, at first, free
  std::size_t size_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI
