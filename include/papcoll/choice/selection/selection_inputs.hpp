// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/arrival_monitor.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/node/peer_probe.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// What a choice depends on where nothing was measured: the network as closed forms see it, and the
/// sizes at which one algorithm takes over from another. Equal on all ranks, as a choice must be. A
/// selection file (selection_file.hpp, written by `papcoll-bench --measure tuning`) overrides them
/// by the names of their group and their own.
struct Thresholds {
  /// Calls by messages.
  struct Network {
    // The network of the closed forms, which say what is tried first by messages: by default the
    // published one of a Cray XC40 (see Hockney), with the gap that MPI libraries have.
    // `papcoll-bench --measure tuning` measures yours.
    std::size_t alpha_ns = 1500;       ///< of a message, in nanoseconds
    std::size_t gap_ns = 300;          ///< how much of that keeps its port
    std::size_t beta_as = 62500000;    ///< of a byte sent, in attoseconds
    std::size_t gamma_as = 200000000;  ///< of a byte combined, in attoseconds

    /// The last node of an allreduce comes after the others by so many hundredths of the call's own
    /// time: then it is tried first by nodes, with StragglAR if it is the same one again. To find
    /// it anew: allreduces of 1 MB with one node late, under `papcoll-bench --arrival one-late`.
    std::size_t late_percent = 30;

    /// What passes the heaviest link in rank order, in hundredths of what passes it in the order of
    /// the machine, from which calls between nodes run in that: by MappingCost.
    std::size_t order_percent = 110;

    friend bool operator==(const Network&, const Network&) = default;
  } network;

  friend bool operator==(const Thresholds&, const Thresholds&) = default;
};

/// A threshold by its name. All are of the group "network".
struct ThresholdField {
  std::string_view name;
  std::size_t Thresholds::Network::*at;

  std::size_t of(const Thresholds& t) const noexcept { return t.network.*at; }
  /// "network.alpha_ns"
  std::string full_name() const { return detail::joined({"network.", name}); }
};

/// All thresholds. Code that reads, writes or names thresholds uses this table.
#define PAPCOLL_THRESHOLD(member) \
  ThresholdField { #member, &Thresholds::Network::member }
inline constexpr std::array threshold_fields{
    PAPCOLL_THRESHOLD(alpha_ns), PAPCOLL_THRESHOLD(gap_ns),       PAPCOLL_THRESHOLD(beta_as),
    PAPCOLL_THRESHOLD(gamma_as), PAPCOLL_THRESHOLD(late_percent), PAPCOLL_THRESHOLD(order_percent),
};
#undef PAPCOLL_THRESHOLD
static_assert(sizeof(Thresholds) == threshold_fields.size() * sizeof(std::size_t));

/// Returns the threshold of that name; does not compile if there is none.
consteval const ThresholdField& threshold(std::string_view name) {
  for (const ThresholdField& f : threshold_fields) {
    if (f.name == name) return f;
  }
  throw "papcoll: there is no such threshold";
}

class CallLearner;
class LateNodeCache;
class MachineOrders;
class PlanCache;
class SuaraCache;
struct SelectionRule;

/// What else decides how a call runs: the same on all ranks of the team.
struct SelectionInputs {
  int size = 1;
  int nodes = 1;                ///< or groups
  bool oversubscribed = false;  ///< more ranks than processors on the node
  int processors = 0;           ///< of the node that the ranks may run on; 0: unknown
  bool grouped = false;         ///< several nodes, or groups, at least one of several ranks
  int largest_node = 1;         ///< of them: ranks of the largest
  bool nodes_in_order = true;   ///< of a scan: ranks of each are consecutive
  int cache_groups = 0;         ///< on one node: groups that share caches; 0: all do, or unknown
  bool must_pass_messages = false;  ///< non-blocking, or in predicted order
  bool between_nodes = false;       ///< every rank is on a node of its own
  bool pulls = false;               ///< ranks may copy from each other's memory by the kernel
  bool prefers_pulls = false;       ///< and do, wherever that serves
  std::size_t chunk_bytes = 0;
  std::size_t near_chunk_bytes = 0;      ///< of calls that go by cache_groups; 0: none may
  const CallLearner* learner = nullptr;  ///< null: nothing is tried
  std::uint32_t epoch = 0;  ///< the number of the call, among those of the node or of the team
  Imbalance imbalance;      ///< of calls of this size
  const Thresholds* thresholds = nullptr;
  const detail::Vector<SelectionRule>* rules = nullptr;  ///< before all else; null: none
  int ranks_per_node = 1;                                ///< of the node that has most
  const PeerCosts* costs = &usual_peer_costs;
  LateNodeCache* late_node = nullptr;  ///< what was made for it before; null: it is not looked for
  SuaraCache* suara = nullptr;         ///< what was found before; null: nothing
  MachineOrders* orders = nullptr;     ///< along the machine; null: it has one node, or is unknown
  PlanCache* plans = nullptr;          ///< in these orders

  /// The mean wait for the last rank above which a call of so many bytes is imbalanced, in
  /// nanoseconds.
  std::uint64_t imbalanced_from(std::size_t bytes) const noexcept {
    const std::uint64_t own =
        imbalance.own != 0 ? imbalance.own : costs->own_time(bytes, size, oversubscribed);
    return own * costs->late_percent / 100;
  }
};

/// Candidates for a call by their numbers, the most promising first.
struct Shortlist {
  static constexpr std::size_t most = 4;

  std::array<std::uint8_t, most> ids{};
  std::uint8_t count = 0;
  std::uint16_t allowed = 0;  ///< bit i: candidate i may run, listed or not
  static_assert(CallTrial::most_candidates <= 16, "allowed has a bit for each");
  static_assert(most <= CallTrial::most_tried);

  void add(std::uint8_t id) noexcept {
    allowed |= static_cast<std::uint16_t>(1U << id);
    if (count < most && !has(id)) ids[count++] = id;
  }
  /// Adds those of which least is expected, the best first, and none of which several times as much
  /// is. `expected` is used up; what is infinite may not run.
  void add_promising(std::span<double> expected, std::size_t at_most = most) noexcept {
    constexpr double too_much = 4;
    constexpr double never = std::numeric_limits<double>::infinity();
    const double least = *std::min_element(expected.begin(), expected.end());
    while (count < at_most) {
      const auto next = std::min_element(expected.begin(), expected.end());
      if (*next == never || *next > too_much * least) return;
      add(static_cast<std::uint8_t>(next - expected.begin()));
      *next = never;
    }
  }
  bool has(std::uint8_t id) const noexcept {
    return std::find(ids.begin(), ids.begin() + count, id) != ids.begin() + count;
  }
  /// Bit i: candidate i is listed.
  std::uint16_t listed() const noexcept {
    unsigned bits = 0;
    for (std::size_t i = 0; i < count; ++i) bits |= 1U << ids[i];
    return static_cast<std::uint16_t>(bits);
  }
};

/// The properties by which calls are of one kind: calls of a kind share one choice.
struct CallKind {
  bool imbalanced = false;
  bool in_arena = false;  ///< all buffers, of calls that do not go by messages
  bool by_messages = false;
  bool non_blocking = false;    ///< of calls by messages: what blocks is of another kind
  std::size_t block_bytes = 0;  ///< of calls whose ranks know their own blocks only, in the mean

  using Bits = std::uint16_t;
  static constexpr Bits by_messages_bit = 1U << 10U;
  static constexpr Bits imbalanced_bit = 16;
  static constexpr Bits in_arena_bit = 8;
  static constexpr Bits non_blocking_bit = in_arena_bit;  ///< one bit for both, as no call is both
  static constexpr Bits rank_order_bit = 4;
  static constexpr Bits reproducible_bit = 2;
  static constexpr Bits irregular_bit = 1;
  static constexpr Bits all_bits = 31;
  static constexpr Bits size_bits = 31U << 5U;

  Bits key(const Call& call) const noexcept {
    return key_of(call.collective, call.local_counts ? block_bytes : call.bytes(),
                  static_cast<Bits>((by_messages ? by_messages_bit : 0U) |
                                    (imbalanced ? imbalanced_bit : 0U) |
                                    (in_arena || non_blocking ? in_arena_bit : 0U) |
                                    (call.rank_order ? rank_order_bit : 0U) |
                                    (call.by_arrivals() ? 0U : reproducible_bit) |
                                    (call.is_irregular() ? irregular_bit : 0U)));
  }
  /// Never 0. From 1 GB on sizes are of one kind.
  static Bits key_of(Collective c, std::size_t bytes, Bits bits) noexcept {
    const auto size = std::min(static_cast<unsigned>(std::bit_width(bytes)), 31U);
    return static_cast<Bits>(0x8000U | static_cast<unsigned>(c) << 11U | size << 5U | bits);
  }
  static Collective collective_of(Bits key) noexcept {
    return static_cast<Collective>(key >> 11U & 15U);
  }
  /// The least bytes of a call of that kind.
  static std::size_t bytes_of(Bits key) noexcept {
    const unsigned size = key >> 5U & 31U;
    return size == 0 ? 0 : std::size_t{1} << (size - 1);
  }
  /// Calls of a kind until a pool, which they use in turns, has been used all over by those half of
  /// them that do: until then its pages and lines are cold.
  static std::uint32_t calls_to_warm_up(Bits key) noexcept {
    constexpr Bits not_by_pools = by_messages_bit | in_arena_bit;
    constexpr std::size_t pool = std::size_t{4} << 20U;
    constexpr std::size_t most = 128;
    constexpr std::size_t pooled_from = 4096;
    if ((key & not_by_pools) != 0) return 0;
    const std::size_t bytes = bytes_of(key);
    if (bytes < pooled_from) return 0;
    return static_cast<std::uint32_t>(std::min(pool / bytes, most));
  }
  static_assert(collective_count <= 16);
};

}  // namespace papcoll::inline PAPCOLL_ABI
