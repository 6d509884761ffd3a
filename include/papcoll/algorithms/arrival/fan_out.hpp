#pragma once

#include <papcoll/node/site.hpp>

#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI::detail {

// FanOut: bcast on one node
// -------------------------
// Phases   The root copies the message to its slot, chunk by chunk, and leaves. Whoever is there
//          reads it. Only a message with more chunks than a slot has buffers makes the root wait,
//          for the slowest reader of the chunk it would overwrite.
// Cost     One flag; n bytes written once and read by each rank.
// Limits   One node. If the calls do not match, a rank that throws may hold the first chunks of a
//          message of several chunks: a reader does not wait for ranks that have not come.
//
//        root's slot   [k]  [k+1]  [k+2]  [k+3]        reader r has raised its flag to j:
//        overwritten once all flags are above k        it has read all chunks below j

/// One bcast of one rank: what LeaderFan and Exchange have in common.
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
    chunks_ = Chunks{c.count, c.reducer.size, s.chunk_bytes()};
    small_ = c.bytes() <= NodeBoard::inline_bytes;
    if (small_ && s.rank() == c.root) {
      s.announce(c.in, c.bytes(), 1);
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
    for (; done_ < chunks_.count; ++done_) {
      if (!s.arrived(c.root, done_ + 1)) {
        if (!small_) s.expect(c.root, done_, 0, chunks_.bytes(done_));
        return false;
      }
      if (done_ == 0 && !s.matches(c.root)) {
        s.fail(c.root);
        return false;
      }
      s.read(c.out + chunks_.offset(done_), small_ ? s.small(c.root) : s.slot(c.root, done_),
             chunks_.bytes(done_));
      if (chunks_.count > s.buffers()) s.publish(done_ + 1, c.root);
    }
    return true;
  }

  Chunks chunks_;
  std::uint32_t done_ = 0;  ///< chunks given by the root, or taken by another rank
  int next_ = 0;            ///< root: the rank looked at next
  bool begun_ = false;
  bool small_ = false;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
