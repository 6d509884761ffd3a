#pragma once

// The policy Hierarchical<Intra, Inter>: one algorithm within each node, another among one
// representative of each.
#include <papcoll/algorithms/hierarchical/hierarchical.hpp>
#include <papcoll/choice/policies/hierarchical.hpp>

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/choice/selection/run_hierarchical.hpp>
#endif
