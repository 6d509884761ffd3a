#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/element_runs.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/range.hpp>

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

/// The scratch memory of a run of a plan: as much for each block in flight, on cache lines of its
/// own. It is the rank's, and kept for the next run; or the endpoint's, where a call's buffers are
/// in memory of another kind than the host's.
class PlanScratch {
 public:
  void reserve(std::size_t blocks, std::size_t block_bytes, Endpoint& endpoint, MemoryKind memory) {
    stride_ = (block_bytes + cache_line - 1) / cache_line * cache_line;
    const std::size_t bytes = blocks * stride_;
    lent_ = nullptr;
    if (memory != MemoryKind::host && bytes != 0) lent_ = endpoint.scratch(bytes, memory);
    if (bytes <= bytes_ || lent_) return;
    own_.reset(static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{cache_line})));
    bytes_ = bytes;
  }

  std::byte* of(std::size_t block) const noexcept {
    return (lent_ ? lent_.get() : own_.get()) + block * stride_;
  }

  /// Never gives the memory back: something may still touch it.
  void leak() noexcept {
    static_cast<void>(own_.release());
    bytes_ = 0;
    if (lent_) static_cast<void>(new (std::nothrow) detail::Shared<std::byte>(std::move(lent_)));
  }

 private:
  struct AlignedDelete {
    void operator()(std::byte* p) const noexcept {
      ::operator delete[](p, std::align_val_t{cache_line});
    }
  };

  detail::Owned<std::byte[], AlignedDelete> own_;
  std::size_t bytes_ = 0;
  std::size_t stride_ = 0;
  detail::Shared<std::byte> lent_;
};

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
