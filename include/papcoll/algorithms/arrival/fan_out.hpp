#pragma once

#include <papcoll/algorithms/arrival/reduce_scatter_blocks.hpp>
#include <papcoll/node/site.hpp>
#include <papcoll/schedule/range.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI::detail {

// FanOut: bcast and scatter on one node
// -------------------------------------
// Phases   The root copies the message to its slot, chunk by chunk, and leaves. Whoever is there
//          reads it, or of a scatter its block. Only a message with more chunks than a slot has
//          buffers makes the root wait, for the slowest reader of the chunk it would overwrite.
// Cost     One flag; n bytes written once, and read by each rank or, of a scatter, once.
// Limits   One node. If the calls do not match, a rank that throws may hold the first chunks of a
//          message of several chunks: a reader does not wait for ranks that have not come.
//
//        root's slot   [k]  [k+1]  [k+2]  [k+3]        reader r has raised its flag to j:
//        overwritten once all flags are above k        it has read all chunks below j

/// One bcast or scatter of one rank: what LeaderFan and Exchange have in common.
class FanOut {
 public:
  template <Site S>
  bool step(S& s, const Call& c) {
    if (!begun_) begin(s, c);
    return s.rank() == c.root ? give(s, c) : accept(s, c);
  }

 private:
  template <Site S>
  void begin(S& s, const Call& c) {
    begun_ = true;
    const bool scatters = c.collective == Collective::scatter;
    const std::size_t all = scatters ? c.count * static_cast<std::size_t>(s.size()) : c.count;
    chunks_ = Chunks{all, c.reducer.size, s.chunk_bytes()};
    wanted_ = scatters ? block_of(c, s.rank()) : Range{0, all};
    const std::size_t bytes = all * c.reducer.size;
    small_ = bytes <= NodeBoard::inline_bytes;
    if (s.rank() != c.root) {
      // Of a scatter this rank needs none of the chunks before its block.
      done_ = static_cast<std::uint32_t>(wanted_.lo / chunks_.per_chunk);
      s.announce(nullptr, 0, chunks_.count > s.buffers() ? done_ : 0);
    } else if (small_) {
      s.announce(c.in, bytes, 1);
      done_ = 1;
    } else {
      s.announce(nullptr, 0, 0);
    }
  }

  template <Site S>
  bool give(S& s, const Call& c) {
    for (; done_ < chunks_.count; ++done_) {
      if (done_ >= s.buffers() && !room(s, c)) return false;
      s.write(s.slot(c.root, done_), c.in + chunks_.offset(done_), chunks_.bytes(done_));
      if (done_ == 0) s.expect_again(0, chunks_.bytes(0));
      s.publish(done_ + 1, everyone);
    }
    if (c.collective == Collective::scatter && !c.in_place()) {
      s.read(c.out, c.in + wanted_.lo * chunks_.size, wanted_.size() * chunks_.size);
    }
    return true;
  }

  /// Has everyone read the chunk that chunk done_ overwrites?
  template <Site S>
  bool room(S& s, const Call& c) {
    for (; next_ < s.size(); ++next_) {
      if (next_ == c.root) continue;
      if (!s.arrived(next_, done_ - s.buffers() + 1)) return false;
      if (!s.matches(next_)) {
        s.fail(next_);
        return false;
      }
    }
    next_ = 0;
    return true;
  }

  template <Site S>
  bool accept(S& s, const Call& c) {
    for (; chunks_.first(done_) < wanted_.hi; ++done_) {
      if (!s.arrived(c.root, done_ + 1)) {
        if (!small_) s.expect(c.root, done_, 0, chunks_.bytes(done_));
        return false;
      }
      if (!met_ && !s.matches(c.root)) {
        s.fail(c.root);
        return false;
      }
      met_ = true;
      const std::size_t first = chunks_.first(done_);
      const std::size_t lo = std::max(wanted_.lo, first);
      const std::size_t hi = std::min(wanted_.hi, first + chunks_.length(done_));
      const std::byte* const chunk = small_ ? s.small(c.root) : s.slot(c.root, done_);
      s.read(c.out + (lo - wanted_.lo) * chunks_.size, chunk + (lo - first) * chunks_.size,
             (hi - lo) * chunks_.size);
      if (chunks_.count > s.buffers()) s.publish(done_ + 1, c.root);
    }
    if (chunks_.count > s.buffers() && done_ < chunks_.count) s.publish(chunks_.count, c.root);
    return true;
  }

  Chunks chunks_;
  Range wanted_;            ///< the elements this rank takes
  std::uint32_t done_ = 0;  ///< chunks given by the root, or that another rank needs no more
  int next_ = 0;            ///< root: the rank looked at next
  bool begun_ = false;
  bool small_ = false;
  bool met_ = false;  ///< the root's call was looked at
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
