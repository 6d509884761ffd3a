#pragma once

#include <papcoll/arrival/arrival_monitor.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/choice/selection/thresholds.hpp>
#include <papcoll/node/peer_probe.hpp>

#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

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
  bool nodes_in_order = true;   ///< of a scan: ranks of each are neighbours in rank order
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
