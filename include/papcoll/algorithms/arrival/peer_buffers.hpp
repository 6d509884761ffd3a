#pragma once

#include <papcoll/node/site.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// The contributions and partial results of one reduction, as the algorithms see them that let any
/// rank combine anything: who wrote a chunk says so elsewhere, here is where it lies.
///
/// Where peers reach each other's pools (`direct`, the same on all ranks of a node: see pools_hold;
/// or by the kernel), partial results are written to the output of whoever combines, if its peers
/// see that, else to its pool. Inputs are read where they are, but for private ones that fit in the
/// pool: their owner, who waits anyway, copies them there, so that nobody needs the kernel for
/// them. Else both go through the rank's slot, window() chunks at a time.
class PeerBuffers {
 public:
  /// Announces this rank with its buffers. `most`: chunks of a call where there is no window.
  template <Site S>
  [[gnu::noinline]] void begin(S& s, const Call& c, std::uint32_t most) {
    direct_ = s.peers().pulls() || s.pools_hold(2 * c.bytes());
    window_ = s.buffers() / 2;
    const std::size_t least = std::min(least_chunk, 2 * s.chunk_bytes());
    chunks_ = direct_ ? Chunks::at_most(most, least, c.count, c.reducer.size)
                      : Chunks{c.count, c.reducer.size, s.chunk_bytes()};
    const bool writes_out = c.collective != Collective::reduce || s.rank() == c.root;
    BufferDescriptor offer;
    offer.in = s.peers().place(c.in, c.bytes());
    staged_in_ = offer.in.mapped == 0;
    if (direct_) {
      lends_output_ = writes_out && s.peers().place(c.out, c.bytes()).mapped != 0;
      std::byte* const pool = lends_output_ && !staged_in_ ? nullptr : s.pool(2 * c.bytes());
      mine_ = lends_output_ ? c.out : pool;
      offer.out = s.peers().place(mine_, c.bytes());
      if (staged_in_) {
        inputs_ = pool + c.bytes();
        const BufferPlace copy = s.peers().place(inputs_, c.bytes());
        staged_in_ = copy.mapped != 0;
        if (staged_in_) offer.in = copy;
      }
    }
    s.offer(offer, staged_in_ ? 0 : chunks_.count);
    staged_ = staged_in_ ? 0 : chunks_.count;
  }

  bool direct() const noexcept { return direct_; }
  /// Chunks that may be under way at once where they go through slots: a slot's buffers hold
  /// contributions and partial results in turns.
  std::uint32_t window() const noexcept { return window_; }
  const Chunks& chunks() const noexcept { return chunks_; }
  /// Are this rank's partial results in its output, so that peers must read it before it returns?
  bool lends_output() const noexcept { return lends_output_; }

  /// Are there chunks that stage_next() has not come to?
  bool has_to_stage() const noexcept { return staged_ != chunks_.count; }

  /// Copies this rank's next chunk for its peers, if it has to and all below `end` may be there.
  /// `in_it(k)`: is this rank's contribution to chunk k combined already, so that nobody needs it?
  template <Site S, class InIt>
  [[gnu::noinline]] bool stage_next(S& s, const Call& c, std::uint32_t end, InIt in_it) {
    if (staged_ >= end || !has_to_stage()) return false;
    if (direct_ && !s.use_pool()) return false;
    if (!in_it(staged_)) {
      std::byte* const to =
          direct_ ? inputs_ + chunks_.offset(staged_) : s.slot(s.rank(), 2 * staged_);
      s.write(to, c.in + chunks_.offset(staged_), chunks_.bytes(staged_));
    }
    s.publish(++staged_, everyone);
    return true;
  }

  /// May rank r's contribution to chunk k be read? (r has announced itself.)
  template <Site S>
  bool has_input(S& s, int r, std::uint32_t k) const {
    return r == s.rank() ? direct_ || staged_ > k : s.arrived(r, k + 1);
  }

  /// n bytes of rank r's contribution, `at` bytes into chunk k; copied to `scratch` if need be.
  template <Site S>
  [[gnu::noinline]] const std::byte* input(S& s, const Call& c, int r, std::uint32_t k,
                                           std::size_t at, std::size_t n,
                                           std::byte* scratch) const {
    const std::size_t offset = chunks_.offset(k) + at;
    if (r == s.rank()) return c.in + offset;
    const BufferPlace place = s.offer_of(r).in;
    if (place.mapped != 0) return s.peers().see(place) + offset;
    if (!direct_) return s.slot(r, 2 * k) + at;
    s.peers().pull(scratch, r, place.at + offset, n);
    return scratch;
  }

  /// May this rank write partial results now? Only its pool may still be lent.
  template <Site S>
  bool may_combine(S& s) const {
    return !direct_ || lends_output_ || s.use_pool();
  }

  /// Where this rank writes its partial result of chunk k.
  template <Site S>
  std::byte* target(S& s, std::uint32_t k) const {
    return direct_ ? mine_ + chunks_.offset(k) : s.slot(s.rank(), 2 * k + 1);
  }

  /// Combines n elements into this rank's partial result.
  template <Site S>
  [[gnu::noinline]] void combine(S& s, std::byte* out, const std::byte* low, const std::byte* high,
                                 std::size_t n) const {
    if (lends_output_) {
      s.reduce(out, low, high, n);
    } else {
      s.reduce_for_peers(out, low, high, n);
    }
  }

  /// n bytes of the partial result of rank r, `at` bytes into chunk k; as input().
  template <Site S>
  [[gnu::noinline]] const std::byte* partial(S& s, int r, std::uint32_t k, std::size_t at,
                                             std::size_t n, std::byte* scratch) const {
    if (r == s.rank()) return target(s, k) + at;
    if (!direct_) return s.slot(r, 2 * k + 1) + at;
    const BufferPlace place = s.offer_of(r).out;
    const std::size_t offset = chunks_.offset(k) + at;
    if (place.mapped != 0) return s.peers().see(place) + offset;
    s.peers().pull(scratch, r, place.at + offset, n);
    return scratch;
  }

  /// Copies rank r's partial result of chunk k, which is the whole result, to this rank's output.
  template <Site S>
  [[gnu::noinline]] void take(S& s, const Call& c, int r, std::uint32_t k) const {
    std::byte* const to = c.out + chunks_.offset(k);
    if (lends_output_ && r == s.rank()) return;
    if (direct_ && r != s.rank() && s.offer_of(r).out.mapped == 0) {
      s.peers().pull(to, r, s.offer_of(r).out.at + chunks_.offset(k), chunks_.bytes(k));
    } else {
      s.read(to, partial(s, r, k, 0, chunks_.bytes(k), nullptr), chunks_.bytes(k));
    }
  }

 private:
  /// So that a claim, which moves a few cache lines, costs less than what it is for. Not measured
  /// by itself.
  static constexpr std::size_t least_chunk = 16384;

  Chunks chunks_;
  std::byte* mine_ = nullptr;    ///< direct: where this rank's partial results go
  std::byte* inputs_ = nullptr;  ///< and where its input is copied, if it is
  std::uint32_t window_ = 0;
  std::uint32_t staged_ = 0;  ///< chunks of this rank that its peers may read
  bool direct_ = false;
  bool staged_in_ = false;
  bool lends_output_ = false;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
