#pragma once

#include <papcoll/arrival/arrival_monitor.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/node/peer_probe.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// What a choice depends on where nothing was measured: the network as closed forms see it, and the
/// sizes at which one algorithm takes over from another. Equal on all ranks, as a choice must be. A
/// selection file (selection_file.hpp, written by `papcoll-bench --tune`) overrides them by the
/// names of their group and their own.
struct Thresholds {
  /// Calls by messages.
  struct Network {
    // What is tried first by messages depends on the closed forms, for a network as these numbers
    // describe it. Default: the published one of a Cray XC40 (see Hockney), and a gap as MPI
    // libraries have. `papcoll-bench --measure tuning` measures them.
    std::size_t alpha_ns = 1500;       ///< of a message, in nanoseconds
    std::size_t gap_ns = 300;          ///< how much of that keeps its port
    std::size_t beta_as = 62500000;    ///< of a byte sent, in attoseconds
    std::size_t gamma_as = 200000000;  ///< of a byte combined, in attoseconds

    /// If the last node of an allreduce comes later than the others by this many hundredths of the
    /// call's own time, the call is tried first by nodes, and with StragglAR if it is the same node
    /// again.
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

/// One that there is.
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
  bool by_messages = false;     ///< non-blocking, or in predicted order
  bool between_nodes = false;   ///< every rank is on a node of its own
  bool pulls = false;           ///< ranks may copy from each other's memory by the kernel
  bool prefers_pulls = false;   ///< and do, wherever that serves
  std::size_t chunk_bytes = 0;
  std::size_t near_chunk_bytes = 0;      ///< of calls that go by cache_groups; 0: none may
  const CallLearner* learner = nullptr;  ///< null: nothing is tried
  std::uint32_t epoch = 0;  ///< the number of the call, on the board of a node or among all
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

}  // namespace papcoll::inline PAPCOLL_ABI
