#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/policies/algorithm.hpp>

namespace papcoll {
inline namespace PAPCOLL_ABI {

struct SelectionInputs;

/// Completes a selection that names no algorithm.
template <Collective C>
void choose(AlgorithmSpec& s, const Call& call, const SelectionInputs& inputs);

/// What choose<C> is to code that does not know C.
using Choose = void(AlgorithmSpec&, const Call&, const SelectionInputs&);

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
