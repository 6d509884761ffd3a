// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/node/call_fingerprint.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/shared_access.hpp>
#include <papcoll/node/waiting/doorbells.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>

namespace papcoll::inline PAPCOLL_ABI {

/// A count, mostly of chunks, in the lower half; the epoch (number of the call) that it is of in
/// the upper half.
using TaggedCount = std::uint64_t;

constexpr TaggedCount make_tagged(std::uint32_t epoch, std::uint32_t chunks) noexcept {
  return (TaggedCount{epoch} << 32) | chunks;
}
/// Returns true if a tagged count is of this epoch and covers the chunks below `chunks`. A count in
/// the epoch's slot is of this epoch or older. How much older is unknown (a word that no
/// algorithm uses for a while, or the failure word, stays as it was), so epochs are compared for
/// equality, not by their difference.
constexpr bool reached(TaggedCount now, std::uint32_t epoch, std::uint32_t chunks) noexcept {
  return now >> 32 == epoch && static_cast<std::uint32_t>(now) >= chunks;
}
/// Returns true if `now` is `wanted` or a later epoch. Compares by signed difference, so wraparound
/// is harmless while the two differ by less than 2³¹.
constexpr bool epoch_reached(std::uint32_t now, std::uint32_t wanted) noexcept {
  return static_cast<std::int32_t>(now - wanted) >= 0;
}

/// The memory of arrival-driven algorithms: `epoch_slots` slots of one layout for all collectives.
/// Call number e uses slot e mod `epoch_slots`; no rank enters e before all have left
/// e − epoch_slots.
///
/// Each rank owns its header, `buffers` chunk buffers, a progress word and its left word.
/// The result belongs to the leader of the epoch. Everything begins as zeros, which is the state of
/// an epoch slot that was last used `epoch_slots` epochs before `first_epoch`.
///
/// Two parts, since they get their pages at different times (see BasicNodeContext::take_pages()):
///
///     words      of the whole control block, then of each epoch slot: all but the chunk buffers
///     buffers    of each rank those of all its epoch slots, in whole pages; then each of the
///                results
///
/// So no two owners' buffers are on one page, and each may take its pages by itself.
template <class MemoryAccess, int EpochSlots = 4, int Buffers = 4, int Remembered = 32,
          int Results = 16>
class BasicControlBlock {
 public:
  using Access = MemoryAccess;
  template <class T> using Atomic = typename Access::template Atomic<T>;

  static constexpr int epoch_slots = EpochSlots;
  static constexpr int buffers = Buffers;
  static_assert(Buffers % 2 == 0, "algorithms take two of them together");
  /// Chunk buffers of a result. More of them let ranks work ahead, most where they share
  /// processors.
  static constexpr int results = Results;
  static_assert(Results >= Buffers);
  static constexpr std::uint32_t remembered = Remembered;  ///< arrivals of each rank, see there
  /// A record of epoch e is written again in e + records, which no rank leaves before all have left
  /// e + epoch_slots, and so have compared e.
  static constexpr std::uint32_t records = 2 * EpochSlots;
  static constexpr std::uint32_t refusals = 16;  ///< rows that a rank may be behind with hearing of
  static constexpr std::size_t inline_bytes = 40;  ///< payload that travels in the flag's own line

  /// A rank's header: one cache line, so that a small contribution costs one line transfer.
  struct alignas(cache_line) Header {
    // Written by its owner. release after fingerprint, inline payload and chunk buffers were
    // written (so that a rank that acquires it may read them). A bell may follow: see
    // BasicDoorbells.
    Atomic<TaggedCount> count;
    CallFingerprint fingerprint;
    std::byte payload[inline_bytes];
  };
  static_assert(sizeof(Header) == cache_line);

  /// A second tagged count of a rank for algorithms with two phases. Orders as Header::count.
  struct alignas(cache_line) Progress {
    Atomic<TaggedCount> count;
  };

  /// The leader of the epoch: compare-exchanged from the previous user's value, so exactly one rank
  /// succeeds. relaxed would do for the choice itself (the data follow other words); acq_rel costs
  /// nothing on a locked instruction.
  struct alignas(cache_line) Claim {
    Atomic<TaggedCount> leader;  ///< (epoch, rank + 1)
  };

  /// Arrivals in the order of coming. A rank draws its ticket after it has announced itself.
  struct alignas(cache_line) Tickets {
    // (epoch, tickets drawn): counted up by compare-exchange, because the first one of an epoch
    // finds the count of an older one. Only its own value matters: relaxed would do.
    Atomic<TaggedCount> drawn;
  };
  /// The rank that holds a ticket: (epoch, rank + 1). Stored with release, so that a rank that
  /// acquires it sees what that rank has announced.
  using Holder = Atomic<TaggedCount>;

  /// A piece of work that any rank may take up: (epoch, state), the state as its algorithm wants.
  /// Compare-exchanged from what was seen, so that one rank has it at a time; acq_rel, since it
  /// hands over partial results; sequentially consistent where a bell follows, a look at the
  /// failure word, or one at another work word: CombiningTree's ranks leave what another will do.
  using WorkWord = Atomic<TaggedCount>;
  static constexpr std::uint32_t work_chunks = 16;  ///< of each combination of a tree
  static constexpr std::uint32_t work_words(int ranks) noexcept {
    const auto tree = static_cast<std::uint32_t>(ranks) * work_chunks;
    return tree < 64 ? 64 : tree;
  }

  /// Why the epoch failed. `state` is compare-exchanged to (epoch, found) by the first rank that
  /// finds a fault, and set to (epoch, described), release, when its text is there. Both have the
  /// bit `after_another` where the call that used this epoch slot before has failed, too, whose
  /// text is then at the end of the new one; how often epochs have begun again at 0 stands in the
  /// bits above.
  struct alignas(cache_line) Failure {
    static constexpr std::uint32_t found = 1;
    static constexpr std::uint32_t described = 2;
    static constexpr std::uint32_t after_another = 4;
    static constexpr unsigned state_bits = 3;
    Atomic<TaggedCount> state;
    char text[504];
  };

  /// The last epoch a rank has left: release after its last read in that epoch's slot; acquire by
  /// ranks that are to write to the slot again. A bell follows if ranks have exposed their pools.
  struct alignas(cache_line) Left {
    Atomic<std::uint32_t> epoch;
    // What the rank called in the epochs e to e + records − 1, in record e mod records, and if it
    // knows that the call failed: relaxed, since they are read only by who knows, from `epoch`,
    // that the rank has left them.
    Atomic<std::uint32_t> called[records];
    // Kilobytes of the rank's pool that had pages when it left these epochs; never fewer than
    // before. Orders as `called`.
    Atomic<std::uint32_t> pooled[records];
    // Non-blocking calls that the rank refused, in words that only RefusedRequests reads: how many
    // rows of numbers, and the last of them, row i in refused[i mod refusals], what came before it
    // in refused_before[i mod refusals]. Written by the owner, the count last; the last row grows.
    // All release, and acquired by those who wait for a request: whoever sees the count sees its
    // rows, all but the last as they stay, and whoever sees a row sees the count before it, and so
    // whether it is another than was meant. No bell follows, and nothing that is read here orders
    // anything else: sequential consistency would add nothing.
    Atomic<std::uint32_t> refused_rows;
    Atomic<std::uint64_t> refused[refusals];
    Atomic<std::uint64_t> refused_before[refusals];
  };

  /// 1 while the rank reads or writes buffers of its peers. Stored before it looks at the failure
  /// and abort words, by a peer read after it has set one of them: both sequentially consistent, so
  /// that a rank that gives up either is seen by the reader or sees it (and waits for the 0,
  /// release). Written by its owner; after the owner's death, when that is seen, by anybody, and
  /// then only 0.
  struct alignas(cache_line) Reading {
    Atomic<std::uint32_t> now;
  };

  /// When the rank arrived in recent calls, call e in at[e mod remembered], and what they cost it,
  /// in words that only ArrivalMonitor reads. Relaxed: a word is read by ranks that know, from
  /// Left::epoch, that its rank has left the call, and written again in e + remembered, which no
  /// rank enters before all readers of e are done (see there).
  struct alignas(cache_line) Arrivals {
    Atomic<std::uint64_t> at[remembered];
    Atomic<std::uint64_t> cost[remembered];
    Atomic<std::uint64_t> costs;  ///< what PeerTrials found, in a word that only it reads: so, too
  };

  /// The processors that the rank may run on, as BoundProcessors (topology/processor_set.hpp),
  /// in words that only ProcessorCensus reads: relaxed, for the same reason. Written in one call,
  /// read by all in a later one, and written again in calls after that.
  struct alignas(cache_line) Processors {
    Atomic<std::uint64_t> bound[2];
  };

  /// 1 once a rank has made sure that these chunk buffers have pages. Stored with release, and
  /// loaded with acquire by those who then need not. Stays 0 where pages come by themselves.
  using Reserved = Atomic<std::uint32_t>;

  /// Set once, when a rank was found dead or gave up, or the deadline passed: the communicator is
  /// broken.
  struct alignas(cache_line) Abort {
    /// 0: usable; 1 + rank: that rank is lost; gave_up + rank: it cannot go on; revoked + rank: it
    /// was notified of a death, but not of whose; ~0: deadline
    Atomic<std::uint32_t> reason;
    /// How often ranks have arrived at something that blocks in MPI until all are there; `closed`
    /// once one cannot go there, and from then on it never opens. Sequentially consistent: the last
    /// to arrive rings a bell, and the others look before they sleep.
    Atomic<std::uint32_t> gate;
    static constexpr std::uint32_t closed = 0x80000000U;
    static constexpr std::uint32_t gave_up = 0x80000000U;
    static constexpr std::uint32_t revoked = 0xC0000000U;
    static constexpr std::uint32_t deadline = ~std::uint32_t{0};
  };

  BasicControlBlock() = default;

  /// A view of bytes(ranks, chunk) bytes of memory that began as zeros.
  BasicControlBlock(std::byte* memory, int ranks, std::size_t chunk) noexcept
      : BasicControlBlock(memory, memory + words_bytes(ranks), ranks, chunk, cache_line) {}

  /// A view of the two parts: words_bytes(ranks), and buffers_bytes(ranks, chunk, page) from the
  /// beginning of a page on.
  BasicControlBlock(std::byte* words_at, std::byte* buffers_at, int ranks, std::size_t chunk,
                    std::size_t page) noexcept
      : words_(words_at),
        buffers_(buffers_at),
        ranks_(static_cast<std::size_t>(ranks)),
        head_(head_bytes(ranks_)),
        epoch_slot_(epoch_slot_bytes(ranks_)),
        chunk_(chunk),
        skew_(skew(page)),
        rank_buffers_(whole_rank_buffers(chunk, page)),
        result_buffer_(whole_result_buffer(chunk, page)) {}

  static std::size_t bytes(int ranks, std::size_t chunk) noexcept {
    return words_bytes(ranks) + buffers_bytes(ranks, chunk, cache_line);
  }
  static std::size_t words_bytes(int ranks) noexcept {
    const auto n = static_cast<std::size_t>(ranks);
    return head_bytes(n) + epoch_slots * epoch_slot_bytes(n);
  }
  /// `page`: the bytes of one, a multiple of cache_line.
  static std::size_t buffers_bytes(int ranks, std::size_t chunk, std::size_t page) noexcept {
    return static_cast<std::size_t>(ranks) * whole_rank_buffers(chunk, page) +
           std::size_t{epoch_slots} * results * whole_result_buffer(chunk, page);
  }

  /// Makes `first_epoch` the first call. Needed only where it is not 1.
  [[gnu::cold]] void initialise(std::uint32_t first_epoch) noexcept {
    for (int r = 0; r < ranks(); ++r) {
      left(r).epoch.store(first_epoch - 1, std::memory_order_relaxed);
    }
    for (std::uint32_t i = 1; i <= epoch_slots; ++i) {
      const std::uint32_t last = first_epoch - i;
      const TaggedCount old = make_tagged(last, 0);
      for (int r = 0; r < ranks(); ++r) {
        header(last, r).count.store(old, std::memory_order_relaxed);
        progress(last, r).count.store(old, std::memory_order_relaxed);
      }
      for (int r = 0; r < ranks(); ++r) holder(last, r).store(old, std::memory_order_relaxed);
      for (std::uint32_t w = 0; w < work_words(ranks()); ++w) {
        work(last, w).store(old, std::memory_order_relaxed);
      }
      tickets(last).drawn.store(old, std::memory_order_relaxed);
      release(last).count.store(old, std::memory_order_relaxed);
      claim(last).leader.store(old, std::memory_order_relaxed);
      failure(last).state.store(old, std::memory_order_relaxed);
    }
  }

  int ranks() const noexcept { return static_cast<int>(ranks_); }
  std::size_t chunk_bytes() const noexcept { return chunk_; }

  Abort& abort() const noexcept { return at<Abort>(0); }
  Left& left(int r) const noexcept { return of(r).left; }
  Reading& reading(int r) const noexcept { return of(r).reading; }
  Arrivals& arrivals(int r) const noexcept { return of(r).arrivals; }
  Processors& processors(int r) const noexcept { return of(r).processors; }
  /// The word of rank r's chunk buffers, in all epoch slots.
  Reserved& chunk_buffers_reserved(int r) const noexcept { return of(r).chunk_buffers_reserved; }
  Claim& claim(std::uint32_t e) const noexcept { return head(e).claim; }
  /// The leader's header: small results travel with the count that releases them.
  Header& release(std::uint32_t e) const noexcept { return head(e).release; }
  Failure& failure(std::uint32_t e) const noexcept { return head(e).failure; }
  Tickets& tickets(std::uint32_t e) const noexcept { return head(e).tickets; }
  /// The word of the result's chunk buffer `chunk`, in that epoch slot.
  Reserved& result_buffer_reserved(std::uint32_t e, std::uint32_t chunk) const noexcept {
    return head(e).result_buffer_reserved[chunk % results];
  }
  Header& header(std::uint32_t e, int r) const noexcept {
    return at<Header>(epoch_slot(e) + sizeof(EpochSlotHead), r);
  }
  Progress& progress(std::uint32_t e, int r) const noexcept {
    return at<Progress>(epoch_slot(e) + sizeof(EpochSlotHead) + ranks_ * sizeof(Header), r);
  }
  Holder& holder(std::uint32_t e, int ticket) const noexcept {
    return at<Holder>(epoch_slot(e) + holders_offset(ranks_), ticket);
  }
  WorkWord& work(std::uint32_t e, std::uint32_t w) const noexcept {
    return at<WorkWord>(epoch_slot(e) + holders_offset(ranks_) + in_lines(ranks_ * sizeof(Holder)),
                        w);
  }
  /// A chunk buffer of rank r; that of the next chunk follows it, but for the last.
  std::byte* chunk_buffer(std::uint32_t e, int r, std::uint32_t chunk) const noexcept {
    return buffers_ + static_cast<std::size_t>(r) * rank_buffers_ + e % epoch_slots * skew_ +
           (e % epoch_slots * buffers + chunk % buffers) * chunk_;
  }
  /// A chunk buffer of the result, on pages that no other is on.
  std::byte* result_buffer(std::uint32_t e, std::uint32_t chunk) const noexcept {
    return buffers_ + ranks_ * rank_buffers_ + e % epoch_slots * skew_ +
           std::size_t{e % epoch_slots * results + chunk % results} * result_buffer_;
  }
  /// Bytes of a rank's chunk buffers of all epoch slots: whole pages.
  std::size_t rank_buffers_bytes() const noexcept { return rank_buffers_; }

 private:
  /// A rank's, of the whole control block.
  struct RankWords {
    Left left;
    Reading reading;
    Arrivals arrivals;
    Processors processors;
    alignas(cache_line) Reserved chunk_buffers_reserved;
  };
  /// All ranks', of an epoch slot.
  struct EpochSlotHead {
    Claim claim;
    Header release;
    Failure failure;
    Tickets tickets;
    Reserved result_buffer_reserved[std::size_t{Results}];
  };

  static constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) noexcept {
    return (bytes + unit - 1) / unit * unit;
  }
  static constexpr std::size_t in_lines(std::size_t bytes) noexcept {
    return round_up(bytes, cache_line);
  }
  /// Returns how much farther from the beginning of a page an epoch slot's buffers begin than those
  /// of the one before. With one place for all, two ranks' buffers of four chunk buffers would use
  /// all eight lines that a nearest cache has for it.
  static constexpr std::size_t skew(std::size_t page) noexcept {
    constexpr std::size_t period = 4096;  // of the places in a nearest cache
    return (page < period ? page : period) / epoch_slots / cache_line * cache_line;
  }
  static std::size_t whole_rank_buffers(std::size_t chunk, std::size_t page) noexcept {
    return round_up(std::size_t{epoch_slots} * buffers * chunk + (epoch_slots - 1) * skew(page),
                    page);
  }
  static std::size_t whole_result_buffer(std::size_t chunk, std::size_t page) noexcept {
    return round_up(chunk + (epoch_slots - 1) * skew(page), page);
  }
  static std::size_t head_bytes(std::size_t ranks) noexcept {
    return sizeof(Abort) + ranks * sizeof(RankWords);
  }
  // In an epoch slot: its head, headers, progress words, holders of tickets, work words.
  static std::size_t holders_offset(std::size_t ranks) noexcept {
    return sizeof(EpochSlotHead) + ranks * (sizeof(Header) + sizeof(Progress));
  }
  static std::size_t epoch_slot_bytes(std::size_t ranks) noexcept {
    return holders_offset(ranks) + in_lines(ranks * sizeof(Holder)) +
           in_lines(work_words(static_cast<int>(ranks)) * sizeof(WorkWord));
  }
  std::size_t epoch_slot(std::uint32_t e) const noexcept {
    return head_ + (e % epoch_slots) * epoch_slot_;
  }
  RankWords& of(int r) const noexcept { return at<RankWords>(sizeof(Abort), r); }
  EpochSlotHead& head(std::uint32_t e) const noexcept { return at<EpochSlotHead>(epoch_slot(e)); }
  template <class T> T& at(std::size_t offset, std::integral auto i) const noexcept {
    return at<T>(offset + static_cast<std::size_t>(i) * sizeof(T));
  }
  template <class T> T& at(std::size_t offset) const noexcept {
    return *std::launder(reinterpret_cast<T*>(words_ + offset));
  }

  std::byte* words_ = nullptr;
  std::byte* buffers_ = nullptr;
  std::size_t ranks_ = 1;
  std::size_t head_ = 0;        ///< bytes before the first epoch slot
  std::size_t epoch_slot_ = 0;  ///< bytes of an epoch slot
  std::size_t chunk_ = 0;       ///< bytes of a chunk buffer, a multiple of cache_line
  std::size_t skew_ = 0;
  std::size_t rank_buffers_ = 0;   ///< see rank_buffers_bytes()
  std::size_t result_buffer_ = 0;  ///< bytes from one of a result to the next
};

using NodeControlBlock = BasicControlBlock<SharedAccess>;

}  // namespace papcoll::inline PAPCOLL_ABI

namespace papcoll::inline PAPCOLL_ABI::detail {

/// The control block of a node.
[[gnu::cold]] inline NodeControlBlock control_block_of(const Node& node,
                                                       std::size_t chunk_bytes) noexcept {
  return {node.control, node.buffers, node.size, chunk_bytes, page_bytes()};
}
/// Bytes of its buffers: whole pages.
inline std::size_t chunk_buffers_bytes(int ranks, std::size_t chunk_bytes) noexcept {
  return NodeControlBlock::buffers_bytes(ranks, chunk_bytes, page_bytes());
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
