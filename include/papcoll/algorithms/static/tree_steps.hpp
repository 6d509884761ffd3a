#pragma once

#include <papcoll/algorithms/static/tree_shapes.hpp>
#include <papcoll/schedule/builder.hpp>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// Up a k-nomial tree; small subtrees, which are done first, are taken first.
inline void knomial_reduce(auto& b, int radix) {
  const KNomialTree tree{radix, b.size()};
  const int me = b.position();
  tree.for_children_up(me, [&b](int child) { b.reduce(child, b.whole()); });
  if (me != 0) b.send(tree.parent(me), b.whole());
}

/// Down a k-nomial tree; large subtrees, which have the longest way to go, are served first.
inline void knomial_bcast(auto& b, int radix) {
  const KNomialTree tree{radix, b.size()};
  const int me = b.position();
  if (me != 0) b.receive(tree.parent(me), b.whole());
  tree.for_children_down(me, [&b](int child) { b.send(child, b.whole()); });
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
