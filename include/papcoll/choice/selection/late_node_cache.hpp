#pragma once

#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/algorithms/static/straggl_ar.hpp>
#include <papcoll/choice/policies/algorithm.hpp>
#include <papcoll/choice/policies/hierarchical_spec.hpp>
#include <papcoll/schedule/schedule.hpp>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// Hierarchical with Ring among the nodes.
inline const HierarchicalSpec& hierarchical_of_ring() {
  static const HierarchicalSpec hierarchical = [] {
    HierarchicalSpec c;
    c.inter.schedule = AnySchedule::of<Ring>();
    c.id = hierarchical_id(c);
    return c;
  }();
  return hierarchical;
}

}  // namespace detail

/// What runs while one node is expected to come last, kept until another is: Hierarchical with
/// StragglAR among the nodes.
class LateNodeCache {
 public:
  const HierarchicalSpec& of(int node) {
    if (node != node_) {
      node_ = -1;  // in case that there is no memory for the other
      spec_.inter.schedule = AnySchedule{StragglAR{.block_bytes = 0, .straggler = node}};
      spec_.id = detail::hierarchical_id(spec_);
      node_ = node;
    }
    return spec_;
  }

 private:
  int node_ = -1;
  HierarchicalSpec spec_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
