#pragma once

#include <papcoll/call.hpp>
#include <papcoll/catalogue/algorithm.hpp>
#include <papcoll/collective.hpp>

#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI {

/// Completes a selection that names no algorithm: by bytes, ranks, collective and operator, which
/// are the same on all ranks. `non_blocking` calls stay on the plan floor. `oversubscribed`: there
/// are more ranks than processors on the node.
template <Collective C>
void choose(Selection& s, const Call& call, int size, bool oversubscribed, std::size_t chunk_bytes,
            bool non_blocking);

/// What choose<C> is to code that does not know C.
using Choose = void(Selection&, const Call&, int size, bool oversubscribed, std::size_t chunk_bytes,
                    bool non_blocking);

}  // namespace papcoll::inline PAPCOLL_ABI
