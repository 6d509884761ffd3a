#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/topology/mapping/cost.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Which rank plays which position of a schedule on a machine, and what that gains.
struct MappedOrder {
  /// Why positions stay in rank order, or not.
  enum class Verdict : unsigned char {
    mapped,
    all_talk_to_all,  ///< or nearly so: see traffic_of()
    gains_nothing,
    links_unknown,  ///< MappingHint::by_traffic_in_trees, and the network is by hops
    worse,          ///< in bytes × hops or on the heaviest link
  };

  Order order = Order::identity(1);  ///< a root is position 0
  Verdict verdict = Verdict::gains_nothing;
  MappingCost in_rank_order{};
  MappingCost arranged{};  ///< of the best mapping hint, used or not
};

}  // namespace papcoll::inline PAPCOLL_ABI
