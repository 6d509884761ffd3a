// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/topology/groups.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// The first part of CallContext: who takes part, and what each tells the others.
template <class S>
concept CallFlags = requires(S& ctx, const S& c, int r, std::uint32_t k, const std::byte* from,
                             std::size_t n, const BufferDescriptor& buffers) {
  { c.rank() } -> std::same_as<int>;
  { c.size() } -> std::same_as<int>;
  { c.groups() } -> std::same_as<const Groups*>;
  { c.buffers() } -> std::same_as<std::uint32_t>;
  { c.results() } -> std::same_as<std::uint32_t>;
  { c.chunk_bytes() } -> std::same_as<std::size_t>;
  ctx.announce(from, n, k);
  ctx.expose(buffers, k);
  ctx.publish(k, r);
  { ctx.arrived(r, k) } -> std::same_as<bool>;
  { ctx.matches(r) } -> std::same_as<bool>;
  { ctx.claim() } -> std::same_as<bool>;
  { ctx.leader() } -> std::same_as<int>;
  ctx.publish_stage(k);
  { ctx.stage_reached(r, k) } -> std::same_as<bool>;
  ctx.release(k, from, n);
  { ctx.released(k) } -> std::same_as<bool>;
  ctx.note_all_arrived();
  ctx.fail(r);
  ctx.fail_with(std::string{});
};

/// The memory that chunks go through, and what copies and combines them.
template <class S>
concept CallBuffers = requires(S& ctx, const S& c, int r, std::uint32_t k, const std::byte* from,
                               std::byte* to, std::size_t n) {
  { ctx.chunk_buffer(r, k) } -> std::same_as<std::byte*>;
  { ctx.result_buffer(k) } -> std::same_as<std::byte*>;
  { ctx.small(r) } -> std::same_as<const std::byte*>;
  { ctx.small_result() } -> std::same_as<const std::byte*>;
  ctx.expect(r, k, n, n);
  ctx.expect_again(n, n);
  ctx.write(to, from, n);
  ctx.read(to, from, n);
  { c.streams(n) } -> std::same_as<bool>;
  ctx.stream(to, from, n);
  ctx.reduce(to, from, from, n);
  ctx.reduce_for_peers(to, from, from, n);
  { ctx.pending() } -> std::same_as<int*>;
};

/// The order of arrival, and work that ranks claim.
template <class S> concept CallTickets = requires(S& ctx, const S& c, int r, std::uint32_t k) {
  { ctx.draw_ticket() } -> std::same_as<int>;
  { c.holder(r) } -> std::same_as<int>;
  { c.work(k) } -> std::same_as<std::uint32_t>;
  { ctx.try_claim(k, k, k) } -> std::same_as<bool>;
  ctx.complete(k, k);
  ctx.unclaim(k, k);
};

/// Reading buffers of peers where they are, and private memory to do so.
template <class S> concept PeerReading = requires(S& ctx, const S& c, int r, std::size_t n) {
  { c.peers() } -> std::same_as<const PeerMemory&>;
  { c.exposed_by(r) } -> std::same_as<BufferDescriptor>;
  { ctx.begin_reading() } -> std::same_as<bool>;
  { ctx.end_reading() } -> std::same_as<bool>;
  { c.scratch_bytes() } -> std::same_as<std::size_t>;
  { ctx.scratch(n) } -> std::same_as<std::byte*>;
  { ctx.pool(n) } -> std::same_as<std::byte*>;
  { ctx.shared_pool(n) } -> std::same_as<std::byte*>;
  { ctx.pools_hold(n) } -> std::same_as<bool>;
  { ctx.use_pool() } -> std::same_as<bool>;
};

}  // namespace detail

/// What an arrival algorithm may ask of its node, in the epoch of one call. Nothing waits. Stages
/// count chunks: publish(k) announces that this rank's chunks 0…k−1 are in its chunk buffers. A
/// transport that offers node memory brings the type of call context that algorithms run on over
/// it, see TransportPolicy: NodeContext, or one of its own, which ForwardingContext helps to write.
///
///   rank(), size()                  this rank's number, and the number of ranks on the node
///   buffers()                       chunks of a rank in use at once, an even number
///   groups()                        which ranks are close together, such as those that share a
///                                   cache, the same on all ranks; null: all are
///   results()                       chunks of the result in use at once, not fewer
///   announce(small, n, k)           this rank arrives: n ≤ inline_bytes of payload in its header,
///                                   and chunks below k in its chunk buffers; once more, it is
///                                   publish()
///   expose(buffers, k)              announce() with a BufferDescriptor as payload; peers hear when
///                                   this rank leaves, since one may wait for that before it
///                                   uses its pool
///   publish(k, audience)            my buffers hold chunks below k; audience: a rank, or everyone
///   arrived(r, k)                   true if r has announced and published chunks below k
///   matches(r)                      true if r's call, r having arrived, matches this rank's
///   claim()                         true for exactly one rank: the first to ask
///   leader()                        who claimed (some rank has)
///   publish_stage(k),               a second counter of the same kind
///   stage_reached(r, k)
///   release(k, small, n), released(k)  the leader's counter and small result; a leader releases
///                                   only when all calls match its own
///   note_all_arrived()              tells that this rank knows that all have announced
///   fail(r)                         the call of r does not match: everyone in this epoch throws
///   fail_with(text)                 the same for another reason; the first text is what all throw
///   expect(r, k, at, n)             a hint, while this rank waits: it will read n bytes from `at`
///                                   of chunk_buffer(r, k) on as soon as r has written them
///   expect_again(at, n)             a hint: it will write as much there in its first chunk buffer
///                                   in its next call, too
///   write(to, from, n)              copies private → shared memory; read() the other way
///   streams(n)                      are n bytes of buffers on every rank more than caches hold, so
///                                   that outputs had better be written by
///   stream(to, from, n)             a copy past the caches, of shared or private memory
///   reduce(out, low, high, n)       the call's operator; operands may be shared or private
///   reduce_for_peers(out, …)        the same, written to `out` in one piece at the end (see
///                                   copy_for_others()): of at most scratch_bytes(), by scratch(2)
///   chunk_buffer(r, k),             in shared memory; of a rank, that of an even k and the next
///   result_buffer(k)                lie one after the other. Whoever asks first takes their
///                                   pages, and throws system_error if there are none: where peers
///                                   write to its buffers first, a rank asks before it announces
///   small(r), small_result()        the payloads that came with a header
///   pending()                       size() ints of private memory, kept from step to step
///
/// For algorithms that go by tickets and read each other's buffers where they are:
///
///   draw_ticket()                   this rank, which has announced itself, is the n-th to arrive
///   holder(t)                       the rank with ticket t, or −1; it has announced itself
///   work(w)                         state of work word w, 0 at first; else its upper byte says
///                                   whose it is, see WorkTag
///   try_claim(w, seen, state)       changes it from what was seen, for one rank only
///   complete(w, state)              changes it back; tells everyone
///   unclaim(w, state)               the same as if it had not been claimed, since the call failed
///   peers(), exposed_by(r)          how to reach buffers; what r exposed
///   begin_reading()                 before exposed buffers are read: false, and they must not be
///                                   read, if the call has failed
///   end_reading()                   after it: false if what was read may be wrong
///   scratch(0, 1 or 2)              scratch_bytes() of private memory, enough for an element
///   pool(n)                         n bytes of the library's, for partial results that peers may
///                                   read even after this rank has left
///   shared_pool(n)                  the same if all ranks see them, else null
///   pools_hold(n)                   true if all ranks have a shared_pool(n); equal on all ranks.
///                                   Processes have made a few calls with this n before it is
///   use_pool()                      true if it may be written: no peer reads a former call's
template <class S>
concept CallContext = detail::CallFlags<S> && detail::CallBuffers<S> && detail::CallTickets<S> &&
    detail::PeerReading<S>;

/// Identifies the type of call context that something is for, where the type itself is not known:
/// equal if the types are.
class ContextType {
 public:
  constexpr ContextType() = default;  ///< of no call context

  /// The ContextType of S.
  template <CallContext S> static constexpr ContextType of() noexcept {
    return ContextType{&tag<S>};
  }

  friend constexpr bool operator==(ContextType, ContextType) = default;

 private:
  template <class S> static constexpr char tag = 0;

  constexpr explicit ContextType(const void* type) noexcept : type_(type) {}

  const void* type_ = nullptr;
};

/// Identifies the owner of a work word's state: its upper byte, made of the name of the algorithm
/// that uses the word and that has its tag in its own header. Ranks whose calls differ find each
/// other's states; to another algorithm they only mean that a rank is at work, until all learn of
/// the mismatch. The 24 bits below are the algorithm's own.
class WorkTag {
 public:
  static constexpr unsigned own_bits = 24;  ///< bits of a state that are the algorithm's own

  /// Never 0, so that no state equals that of an unused word.
  explicit constexpr WorkTag(std::string_view algorithm) noexcept
      : tag_((algorithm_id(algorithm) + 1U) << own_bits) {}

  /// The state with these bits of the algorithm's own.
  constexpr std::uint32_t state(std::uint32_t own) const noexcept { return tag_ | own; }
  /// Returns true if the state is one that another algorithm has set; false for a word that has not
  /// been used yet.
  constexpr bool is_foreign(std::uint32_t state) const noexcept {
    return state != 0 && (state >> own_bits) != (tag_ >> own_bits);
  }

 private:
  std::uint32_t tag_;
};

/// As an audience: everyone on the node.
inline constexpr int everyone = -1;
/// As an audience: no rank waits for this.
inline constexpr int nobody = -2;

/// A call cut in chunks that fit a rank's chunk buffers. Even a call without data has one chunk.
struct Chunks {
  std::size_t elements = 0;   ///< of the whole message
  std::size_t per_chunk = 1;  ///< elements
  std::size_t size = 1;       ///< bytes of an element
  std::uint32_t count = 1;    ///< chunks

  Chunks() = default;
  /// `total` elements in chunks of at most `chunk_bytes`.
  Chunks(std::size_t total, std::size_t element_size, std::size_t chunk_bytes) noexcept
      : elements(total), per_chunk(chunk_bytes / element_size), size(element_size) {
    if (total > per_chunk) {
      count = static_cast<std::uint32_t>((total + per_chunk - 1) / per_chunk);
    }
  }

  /// Returns the chunks of a message that is all in one.
  static Chunks one(std::size_t total, std::size_t element_size) noexcept {
    Chunks c;
    c.elements = total;
    c.size = element_size;
    return c;
  }

  /// At most `most` chunks of at least `least_bytes`, whole cache lines each.
  static Chunks at_most(std::uint32_t most, std::size_t least_bytes, std::size_t total,
                        std::size_t element_size) noexcept {
    const std::size_t bytes = (total + most - 1) / most * element_size;
    const std::size_t wanted = bytes > least_bytes ? bytes : least_bytes;
    // A multiple of a line and, so that nothing is left over, of an element.
    const std::size_t grain = element_size < cache_line ? cache_line * element_size : element_size;
    return {total, element_size, (wanted + grain - 1) / grain * grain};
  }

  /// The first element of chunk k.
  std::size_t first(std::uint32_t k) const noexcept { return k * per_chunk; }
  /// Elements of chunk k.
  std::size_t length(std::uint32_t k) const noexcept {
    return k + 1 < count ? per_chunk : elements - first(k);
  }
  /// Returns where chunk k begins, in bytes.
  std::size_t offset(std::uint32_t k) const noexcept { return first(k) * size; }
  /// Bytes of chunk k.
  std::size_t bytes(std::uint32_t k) const noexcept { return length(k) * size; }
};

/// Returns true if the kernel copies from private buffers of peers, false if peers stage them.
inline bool pulls_first(const CallContext auto& ctx, const Call& c) noexcept {
  if (c.reach == PeerReach::by_option) return ctx.peers().prefers_pulls();
  return c.reach == PeerReach::pulled && ctx.peers().pulls();
}

}  // namespace papcoll::inline PAPCOLL_ABI
