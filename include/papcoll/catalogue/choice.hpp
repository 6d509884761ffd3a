#pragma once

#include <papcoll/call.hpp>
#include <papcoll/catalogue/algorithm.hpp>
#include <papcoll/collective.hpp>

namespace papcoll::inline PAPCOLL_ABI {

struct Situation;

/// Completes a selection that names no algorithm.
template <Collective C>
void choose(Selection& s, const Call& call, const Situation& situation);

/// What choose<C> is to code that does not know C.
using Choose = void(Selection&, const Call&, const Situation&);

}  // namespace papcoll::inline PAPCOLL_ABI
