#pragma once

#include <papcoll/algorithms/arrival/peer_buffers.hpp>
#include <papcoll/node/site.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// A work word serves chunks k, k + Words, k + 2·Words, … of a call, and its state says which of
/// them, modulo this many or more. A rank meets the one before k and the one after it, and no
/// others: ChunkProgress keeps end() within Words chunks of low(), no chunk from end() on is
/// combined without this rank, and all below end() − window() have been taken.
inline constexpr std::uint32_t least_generations = 4;

/// How far one rank of a reduction by PeerBuffers has come: the chunks it is done with, in any
/// order, and those that may be worked on. `Words`: chunks that work words tell apart at a time, at
/// most 64.
template <std::uint32_t Words>
class ChunkProgress {
 public:
  template <Site S>
  void begin(S& s, const Call& c, PeerBuffers& buffers) {
    buffers.begin(s, c, Words);
    buffers_ = &buffers;
    count_ = buffers.chunks().count;
    end_ = buffers.direct() ? count_ : std::min(count_, buffers.window());
    takes_ = c.collective != Collective::reduce || s.rank() == c.root;
  }

  /// Does this rank want the result?
  bool takes() const noexcept { return takes_; }
  std::uint32_t low() const noexcept { return low_; }  ///< this rank is done with all below
  std::uint32_t end() const noexcept { return end_; }  ///< chunks below may be worked on
  bool complete() const noexcept { return low_ == count_; }
  bool is_done(std::uint32_t k) const noexcept { return k < low_ || (done_ & bit(k)) != 0; }

  /// Where chunks go through slots: moves end() on to what all who take the result have left, but
  /// no further than words tell chunks apart.
  template <Site S>
  bool slide(S& s, const Call& c) {
    bool moved = false;
    while (end_ < count_ && end_ - low_ < Words) {
      const std::uint32_t taken = end_ - buffers_->window() + 1;
      for (; next_taker_ < s.size(); ++next_taker_) {
        const bool takes = c.collective != Collective::reduce || next_taker_ == c.root;
        if (takes && !s.stage(next_taker_, taken)) return moved;
      }
      next_taker_ = 0;
      ++end_;
      moved = true;
    }
    return moved;
  }

  /// Copies the result of chunk k, which lies with `holder`, to this rank's output. False if the
  /// call has failed.
  template <Site S>
  bool take(S& s, const Call& c, std::uint32_t k, int holder) {
    if (buffers_->lends_output() && holder == s.rank()) {
      keep();
      return true;
    }
    if (!s.begin_reading()) return false;
    buffers_->take(s, c, holder, k);
    return s.end_reading();
  }

  /// This rank has combined a result, and written it to its output besides where others find it.
  void keep() noexcept { lends_ = lends_ || buffers_->lends_output(); }

  /// This rank is done with chunk k.
  template <Site S>
  void set_done(S& s, std::uint32_t k) {
    done_ |= bit(k);
    const std::uint32_t before = low_;
    while (low_ < count_ && (done_ & bit(low_)) != 0) done_ &= ~bit(low_++);
    if (takes_ && low_ != before) s.finish_stage(low_);
  }

  /// May this rank return, once complete()? Not while others read results in its output.
  template <Site S>
  bool close(S& s, const Call& c) {
    if (!lends_ || c.collective == Collective::reduce) return true;
    for (; next_reader_ < s.size(); ++next_reader_) {
      if (!s.stage(next_reader_, count_)) return false;
    }
    return true;
  }

 private:
  static_assert(Words <= 64);
  static std::uint64_t bit(std::uint32_t k) noexcept { return std::uint64_t{1} << k % Words; }

  PeerBuffers* buffers_ = nullptr;
  std::uint64_t done_ = 0;  ///< of chunks low_…low_ + Words − 1
  std::uint32_t count_ = 1;
  std::uint32_t low_ = 0;
  std::uint32_t end_ = 0;
  int next_taker_ = 0;
  int next_reader_ = 0;
  bool takes_ = true;
  bool lends_ = false;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
