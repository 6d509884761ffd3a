#pragma once

#include <papcoll/simulate/node_costs.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Measures them on processors of this machine, the first that this process could use with the
/// next one and with the last one, in about two seconds. It fills `near` or `apart`, as a signal
/// shows which of them two processors are, or both if there are such. Other work makes it wrong.
/// Throws argument_error if there is one processor.
NodeCosts measure_node_costs();

}  // namespace papcoll::inline PAPCOLL_ABI
