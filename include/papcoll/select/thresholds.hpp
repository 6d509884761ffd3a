#pragma once

#include <papcoll/base/joined.hpp>
#include <papcoll/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// Where one algorithm gives way to the next, in bytes of the call unless it says otherwise: the
/// first is taken up to the threshold, the second above. The same on every rank: a choice must be.
/// A tuning file (tuning.hpp, written by `papcoll-bench --tune`) overrides them by the names of
/// their group and their own.
struct Thresholds {
  struct Allreduce {
    // Balanced, on one node, µs per call (doubles, Zen 4, Intel MPI), near | apart:
    //   2 pinned ranks   1 KB  Exchange 0.23 | 0.54, MultiLeader 0.26 | 0.58
    //                    2 KB  Exchange 0.35 | 1.2,  MultiLeader 0.29 | 0.82
    //   4 ranks, 2 cores 512 B Exchange 3.9 | 4.9,  Accumulator 4.0 | 4.9
    //                    1 KB  Exchange 4.2 | 5.5,  Accumulator 4.1 | 5.1
    //                    8 KB  Exchange 6.8 | 15,   Accumulator 5.1 | 8.0, DynamicLeader 8.0 |
    //                    16 KB Exchange 10 |,       Accumulator 8.0 |,     DynamicLeader 9.6 |
    //                    1 MB  Accumulator 127 | 251, SplitTail 181 | 790, MultiLeader 220 | 750
    //   8 ranks, 2 cores 1 KB  Exchange 11 | 17,    Accumulator 10 | 15
    //                    8 KB  Exchange 14 | 27,    Accumulator 11 | 19, DynamicLeader 15 |
    //                    1 MB  Accumulator 230 | 310, SplitTail 550 | 1170, MultiLeader 570 | 1580
    //   in the arena, 4  8 KB  Accumulator 5.1 | 8.1, PeerSlices 8.3 | 9.5
    //                    32 KB Accumulator 10 | 15,   PeerSlices 11 | 12
    //   in the arena, 8  8 KB  Accumulator 12 | 19,   PeerSlices 19 | 22
    //                    32 KB Accumulator 17 | 23,   PeerSlices 22 | 23
    std::size_t exchange_two_ranks = 1024;
    std::size_t exchange_more_ranks = 1024;
    /// Exchange, then Accumulator, in the arena up to the next threshold, and then PeerSlices.
    std::size_t exchange_oversubscribed = 512;
    std::size_t accumulator_arena = 16384;
    /// The same in rank order: Exchange, then PeerSlices in the arena, else DynamicLeader, and from
    /// the next threshold on MultiLeader, PeerSlices.
    std::size_t exchange_oversubscribed_ordered = 8192;
    std::size_t leader_oversubscribed = 65536;
    /// MultiLeader, then PeerSlices, which goes on as MultiLeader where ranks do not see each
    /// other's buffers. 2 pinned ranks, 64 KB: 7.1 µs as MultiLeader, and 2.5 in the arena.
    std::size_t multi_leader = 8192;
    /// The same where all buffers have been in the arena. Prototype, 2 pinned ranks, 8 KB: 2.7 µs
    /// through slots, 0.6 in place.
    std::size_t multi_leader_arena = 4096;

    // Imbalanced, on one node. Of two ranks one has nothing to combine until the other comes, so
    // they take what they take when balanced. One late, 2 pinned ranks, Zen 4, time after the last
    // arrival, µs, near | apart; private: MultiLeader, Accumulator, SplitTail; arena:
    // PeerSlices, SplitTail:
    //   private   64 KB    3.8,  4.4,  9.7 |   6.4,   9.9,  22      arena   2.1,  5.9 |  2.9,  20
    //             256 KB    14,   14,   22 |    27,    33,  118             7.9,   21 |   11,  71
    //             1 MB      70,   76,  137 |   103,   163,  405              45,   55 |   48, 252
    /// In bytes of all ranks together: Exchange, then DynamicLeader. Not measured yet: after the
    /// last arrival Exchange combines all contributions, at 0.05 ns a byte, and DynamicLeader hands
    /// one result over, at 0.2 µs.
    std::size_t late_exchange = 4096;
    /// DynamicLeader, then, from 64 KB on, Accumulator, or in the arena SplitTail, which shares
    /// pieces of 16 KB out: with few there is little to share. Measured with two ranks, one 2 ms
    /// late, 64 KB, time after its arrival, µs: DynamicLeader 41, Accumulator 22.6, SplitTail 27.6.
    std::size_t late_leader = 65535;
    /// The same with CombiningTree, for operators that do not commute.
    std::size_t late_leader_ordered = 65535;

    /// By messages: RecursiveDoubling, then Rabenseifner (2 and 4 ranks over MPI's shared memory).
    std::size_t recursive_doubling = 8192;

    friend bool operator==(const Allreduce&, const Allreduce&) = default;
  } allreduce;

  struct Reduce {
    /// On one node, private buffers: Exchange, of two ranks always, then Accumulator, or what
    /// `slices` decides in rank order. Mean µs in a call, 4 ranks on 2 processors, 16 KB: Exchange
    /// 3.7, PeerSlices 4.0, Accumulator 4.8; 64 KB: 10.0, Accumulator 10.3, DynamicLeader 13.8;
    /// 1 MB: 296, 159, 396; 2 pinned ranks, 1 MB: Exchange 127, Accumulator 140, DynamicLeader 174.
    std::size_t exchange = 16384;
    /// In rank order: DynamicLeader, then PeerSlices.
    std::size_t slices = (std::size_t{1} << 20U) - 1;
    /// Where all buffers have been in the arena: DynamicLeader, then PeerSlices, or Accumulator
    /// with more ranks than processors; as Allreduce::multi_leader_arena.
    std::size_t slices_arena = 4096;
    /// Imbalanced: Exchange, then Accumulator, then Chain, of two ranks at once, or in rank order
    /// CombiningTree; in all of them ranks get away that have given what they have. Mean µs in a
    /// call, one 1 to 3 ms late, 4 ranks on 2 processors, 64 KB: Exchange 213, Accumulator 212,
    /// Chain 287, DynamicLeader 395; 1 MB: Accumulator 382, Chain 594, Exchange 1065; 4 MB: Chain
    /// 1827, Accumulator 3393, whose accumulators do not hold all of it.
    std::size_t late_exchange = 65536;
    std::size_t late_accumulator = std::size_t{1} << 20U;
    std::size_t binomial = 65536;  ///< by messages, then ReduceScatterGather

    friend bool operator==(const Reduce&, const Reduce&) = default;
  } reduce;

  struct Bcast {
    std::size_t slices = (std::size_t{1} << 20U) - 1;  ///< as those of Reduce
    std::size_t slices_arena = 4096;
    std::size_t binomial = 65536;  ///< by messages, then ScatterAllgather

    friend bool operator==(const Bcast&, const Bcast&) = default;
  } bcast;

  struct Allgather {
    std::size_t slices = (std::size_t{1} << 20U) - 1;  ///< on one node: Exchange, then PeerSlices
    std::size_t slices_arena = 4096;
    std::size_t bruck = 4096;  ///< by messages, all contributions together: Bruck, then Ring

    friend bool operator==(const Allgather&, const Allgather&) = default;
  } allgather;

  struct ReduceScatter {
    /// On one node with buffers in the arena, all blocks together: Exchange, then PeerSlices.
    /// Elsewhere always Exchange, since PeerSlices goes by slots there, too. Medians in µs, near, a
    /// block of so many bytes, Exchange | PeerSlices | by messages, Pairwise; 2 pinned ranks: 512 B
    /// 0.22 | 0.30 | 0.46; 2 KB 0.49 | 0.35 | 0.75; 64 KB 10.4 | 2.6 | 13.6.
    std::size_t slices_arena = 2048;
    /// The same with more ranks than processors. 8 ranks on 2: 8 B 8.0 | 15.2 | 28; 16 KB 23.8 |
    /// 25.5 | 55.9; 64 KB 148 | 67 | 184.
    std::size_t slices_arena_oversubscribed = 131072;

    friend bool operator==(const ReduceScatter&, const ReduceScatter&) = default;
  } reduce_scatter;

  struct Alltoall {
    // One call, a rank a node, simulated by benchmarks/reproduce/alltoall.py (1.5 µs a message, 0.3
    // of it on processors, 1/16 ns a byte), µs, Bruck:8 | of the best radix | Linear | Pairwise:
    //   64 ranks   8 B    4.9 |  8: 4.9 |  19 |  95     256 ranks  8 B    6.9 |  8: 6.9 | 77 | 383
    //              512 B  7.0 |  8: 7.0 |  19 |  97                256 B   15 | 16: 11  | 77 | 387
    //              2 KB    18 | 32: 16  |  19 | 103                2 KB   105 | 16: 66  | 77 | 415
    //              8 KB    76 | 16: 61  |  37 | 127
    //              128 KB 937 | 16: 909 | 518 | 601, SpreadOut:8 527
    /// By messages Bruck is weighed against every block by itself with the network's numbers below
    /// (alltoall_choice.hpp). Of these as many are under way at once as keep the port for so many
    /// times the latency that passes between batches: all but a part in so many of the time is
    /// used.
    std::size_t batch = 32;

    friend bool operator==(const Alltoall&, const Alltoall&) = default;
  } alltoall;

  /// When a call is imbalanced, on one node.
  struct Arrivals {
    /// Its ranks wait for the last one, in the mean, for so many hundredths of the call's own time:
    /// what such calls took, or before that is known the estimate below. Not measured yet: ranks of
    /// a balanced loop of calls leave, and so arrive, up to one call's own time apart, a quarter of
    /// it waited for in the mean; and what is done before the last arrival is worth something from
    /// one own time on.
    std::size_t late_percent = 150;
    /// The own time of a call, for each rank: 2 pinned ranks, 8 bytes: 0.26 µs; 8 ranks on 2
    /// processors: 8.3 µs;
    std::size_t own_ns = 130;
    std::size_t own_ns_oversubscribed = 1000;
    /// and for each rank and byte: 2 pinned ranks, 64 KB: 7.1 µs; 4 MB: 410 µs; 8 ranks on 2
    /// processors, 64 KB: 50 µs.
    std::size_t own_ps_a_byte = 55;

    friend bool operator==(const Arrivals&, const Arrivals&) = default;
  } arrivals;

  /// One node whose ranks share several L3 caches, or packages: small allreduces, reduces and
  /// barriers go by these groups, with leaders by arrival. Not measured, for want of a machine with
  /// several L3 caches: by what a line costs within a cache (a signal of 45 ns) and from another
  /// (180 ns, some four of them at once), Exchange among P ranks in groups of k takes about
  /// (P−k)·45 ns longer than within one cache, and two more phases within a cache some 400 ns.
  struct Node {
    std::size_t caches = 256;       ///< at most so many bytes
    std::size_t caches_ranks = 16;  ///< and at least so many ranks

    friend bool operator==(const Node&, const Node&) = default;
  } node;

  /// Several nodes, any collective.
  struct Network {
    // Long vectors: TwoTreeComplete or Suara where the closed forms of model/ find it clearly
    // quicker than what runs otherwise. The network as they see it (papcoll-bench --tune measures
    // it where every rank is on a node of its own), by default the published one of a Cray XC40
    // (see Hockney), and a gap that nothing was measured for: MPI libraries have some 0.3 µs.
    std::size_t alpha_ns = 1500;       ///< of a message, in nanoseconds
    std::size_t gap_ns = 300;          ///< how much of that keeps its port
    std::size_t beta_as = 62500000;    ///< of a byte sent, in attoseconds
    std::size_t gamma_as = 200000000;  ///< of a byte combined, in attoseconds
    /// The time of what runs otherwise in hundredths of theirs, from which it is one of them.
    std::size_t percent = 115;

    /// Several nodes with several ranks each: Hierarchical, then a flat schedule while arrivals are
    /// balanced. P. Alizadeh, MASc thesis, Queen's University 2021, ch. 6: flat is better for large
    /// balanced messages, Hierarchical by 20 to 29 % (64 KB to 64 MB) for imbalanced ones.
    std::size_t hierarchical = 65536;
    /// The same of an alltoall: at most so many bytes of all blocks that a rank sends, and at least
    /// so many ranks of the largest node. Not measured: by closed forms, with the network above,
    /// for P ranks in N nodes of k and blocks of b bytes. Flat: the shorter of Bruck and Pairwise,
    /// whose bytes k ranks send through one link. By nodes: the same among N ranks with blocks of
    /// k²b bytes, two phases within the node of 0.5 µs, and four copies of kPb bytes by one rank,
    /// at 0.1 ns a byte. Both take as long at Pb of 1.0 to 2.4 KB where k is 4 to 16 and N 4 to 64
    /// (tests/unit/select/by_nodes_test.cpp), and nowhere at more than 1.3 KB where k is 2.
    std::size_t alltoall = 1024;
    std::size_t alltoall_ranks = 4;
    // What follows is for an allreduce: a virtual cluster of 4 nodes with 2 ranks each, joined at
    // 500 Mbit/s (TCP, Open MPI), ms in the call.
    /// A byte takes more than so many picoseconds: then calls longer than `hierarchical` go
    /// by nodes, balanced or not, since what nodes do within takes next to nothing and one rank of
    /// each fills its link. Here it takes 25000 to 40000, and Rabenseifner flat and among the nodes
    /// 8.2 and 8.6 (256 KB), 45 and 40 (1 MB), 170 and 165 (4 MB). None between 500 Mbit/s and
    /// those for which flat is better was measured.
    std::size_t slow_ps_a_byte = 8000;
    /// Those calls, in bytes for each node: what is taken otherwise, then Ring among the nodes:
    /// 35 (1 MB), 134 (4 MB), 485 (16 MB), where Rabenseifner there takes 40, 165, 689.
    std::size_t ring = 65536;
    /// The last node comes after the others by so many hundredths of the call's own time: then
    /// long calls go by nodes, with StragglAR if it is the same one again. In the least that was
    /// measured, 45 hundredths (1 MB, 20 ms late), it takes 36, Rabenseifner and Ring 52 to 62;
    /// in time it takes 44, the others 35 to 48: by these numbers it is worth it from 30 on.
    std::size_t late_percent = 30;

    /// What passes the heaviest link in rank order, in hundredths of what passes it in the order of
    /// the machine, from which calls between nodes run in that: by the model of mapping/cost.hpp.
    std::size_t order_percent = 110;

    friend bool operator==(const Network&, const Network&) = default;
  } network;

  friend bool operator==(const Thresholds&, const Thresholds&) = default;

  /// Estimate of the time that a balanced call of so many bytes takes, in nanoseconds.
  std::uint64_t own_time(std::size_t bytes, int ranks, bool oversubscribed) const noexcept {
    const std::uint64_t each = oversubscribed ? arrivals.own_ns_oversubscribed : arrivals.own_ns;
    const std::size_t ps_a_byte = arrivals.own_ps_a_byte;
    return static_cast<std::uint64_t>(ranks) *
           (each + bytes / 1000 * ps_a_byte + bytes % 1000 * ps_a_byte / 1000);
  }
};

/// A threshold by the names of its group and of itself.
struct ThresholdField {
  std::string_view group;
  std::string_view name;
  std::size_t at;  ///< in Thresholds, in bytes

  std::size_t& in(Thresholds& t) const noexcept {
    return *reinterpret_cast<std::size_t*>(reinterpret_cast<std::byte*>(&t) + at);
  }
  std::size_t of(const Thresholds& t) const noexcept { return in(const_cast<Thresholds&>(t)); }
  /// "allreduce.multi_leader"
  std::string full_name() const { return detail::joined({group, ".", name}); }
};

/// All of them. Whoever reads, writes, hashes or speaks of thresholds goes by this table.
#define PAPCOLL_THRESHOLD(group, member) \
  ThresholdField { #group, #member, offsetof(Thresholds, group.member) }
inline constexpr std::array threshold_fields{
    PAPCOLL_THRESHOLD(allreduce, exchange_two_ranks),
    PAPCOLL_THRESHOLD(allreduce, exchange_more_ranks),
    PAPCOLL_THRESHOLD(allreduce, exchange_oversubscribed),
    PAPCOLL_THRESHOLD(allreduce, accumulator_arena),
    PAPCOLL_THRESHOLD(allreduce, exchange_oversubscribed_ordered),
    PAPCOLL_THRESHOLD(allreduce, leader_oversubscribed),
    PAPCOLL_THRESHOLD(allreduce, multi_leader),
    PAPCOLL_THRESHOLD(allreduce, multi_leader_arena),
    PAPCOLL_THRESHOLD(allreduce, late_exchange),
    PAPCOLL_THRESHOLD(allreduce, late_leader),
    PAPCOLL_THRESHOLD(allreduce, late_leader_ordered),
    PAPCOLL_THRESHOLD(allreduce, recursive_doubling),
    PAPCOLL_THRESHOLD(reduce, exchange),
    PAPCOLL_THRESHOLD(reduce, slices),
    PAPCOLL_THRESHOLD(reduce, slices_arena),
    PAPCOLL_THRESHOLD(reduce, late_exchange),
    PAPCOLL_THRESHOLD(reduce, late_accumulator),
    PAPCOLL_THRESHOLD(reduce, binomial),
    PAPCOLL_THRESHOLD(bcast, slices),
    PAPCOLL_THRESHOLD(bcast, slices_arena),
    PAPCOLL_THRESHOLD(bcast, binomial),
    PAPCOLL_THRESHOLD(allgather, slices),
    PAPCOLL_THRESHOLD(allgather, slices_arena),
    PAPCOLL_THRESHOLD(allgather, bruck),
    PAPCOLL_THRESHOLD(reduce_scatter, slices_arena),
    PAPCOLL_THRESHOLD(reduce_scatter, slices_arena_oversubscribed),
    PAPCOLL_THRESHOLD(alltoall, batch),
    PAPCOLL_THRESHOLD(arrivals, late_percent),
    PAPCOLL_THRESHOLD(arrivals, own_ns),
    PAPCOLL_THRESHOLD(arrivals, own_ns_oversubscribed),
    PAPCOLL_THRESHOLD(arrivals, own_ps_a_byte),
    PAPCOLL_THRESHOLD(node, caches),
    PAPCOLL_THRESHOLD(node, caches_ranks),
    PAPCOLL_THRESHOLD(network, alpha_ns),
    PAPCOLL_THRESHOLD(network, gap_ns),
    PAPCOLL_THRESHOLD(network, beta_as),
    PAPCOLL_THRESHOLD(network, gamma_as),
    PAPCOLL_THRESHOLD(network, percent),
    PAPCOLL_THRESHOLD(network, hierarchical),
    PAPCOLL_THRESHOLD(network, alltoall),
    PAPCOLL_THRESHOLD(network, alltoall_ranks),
    PAPCOLL_THRESHOLD(network, slow_ps_a_byte),
    PAPCOLL_THRESHOLD(network, ring),
    PAPCOLL_THRESHOLD(network, late_percent),
    PAPCOLL_THRESHOLD(network, order_percent),
};
#undef PAPCOLL_THRESHOLD
static_assert(sizeof(Thresholds) == threshold_fields.size() * sizeof(std::size_t));

/// The threshold of those names; null if there is none.
constexpr const ThresholdField* threshold_named(std::string_view group,
                                                std::string_view name) noexcept {
  for (const ThresholdField& f : threshold_fields) {
    if (f.group == group && f.name == name) return &f;
  }
  return nullptr;
}

/// One that there is.
consteval const ThresholdField* threshold(std::string_view group, std::string_view name) {
  const ThresholdField* const f = threshold_named(group, name);
  return f != nullptr ? f : throw "papcoll: there is no such threshold";
}

/// A number that is the same on ranks whose thresholds are.
inline std::uint64_t hash_of(const Thresholds& t) noexcept {
  std::uint64_t h = 14695981039346656037U;
  for (const ThresholdField& f : threshold_fields) h = (h ^ f.of(t)) * 1099511628211U;
  return h;
}

}  // namespace papcoll::inline PAPCOLL_ABI
