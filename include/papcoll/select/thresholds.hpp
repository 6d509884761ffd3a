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
    /// By messages: RecursiveDoubling, then Rabenseifner (2 and 4 ranks over MPI's shared memory).
    std::size_t recursive_doubling = 8192;

    friend bool operator==(const Allreduce&, const Allreduce&) = default;
  } allreduce;

  struct Reduce {
    std::size_t binomial = 65536;  ///< by messages, then ReduceScatterGather

    friend bool operator==(const Reduce&, const Reduce&) = default;
  } reduce;

  struct Bcast {
    std::size_t binomial = 65536;  ///< by messages, then ScatterAllgather

    friend bool operator==(const Bcast&, const Bcast&) = default;
  } bcast;

  struct Allgather {
    std::size_t bruck = 4096;  ///< by messages, all contributions together: Bruck, then Ring

    friend bool operator==(const Allgather&, const Allgather&) = default;
  } allgather;

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
    PAPCOLL_THRESHOLD(allreduce, recursive_doubling),
    PAPCOLL_THRESHOLD(reduce, binomial),
    PAPCOLL_THRESHOLD(bcast, binomial),
    PAPCOLL_THRESHOLD(allgather, bruck),
    PAPCOLL_THRESHOLD(alltoall, batch),
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
