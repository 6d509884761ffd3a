// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/simulate/node_costs.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Measures what the work of a node's ranks costs, on the first processor that this process could
/// use with the next one and with the last one, in about two seconds. Fills `same_l3` or
/// `cross_l3`, as a signal shows which of them two processors are, or both if there are such. Other
/// work on the machine makes the costs wrong. Throws argument_error if there is one processor.
NodeCosts measure_node_costs();

}  // namespace papcoll::inline PAPCOLL_ABI
