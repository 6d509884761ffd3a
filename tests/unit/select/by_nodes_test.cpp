#include "catch.hpp"

#include <papcoll/automatic.hpp>
#include <papcoll/model/closed_forms/alltoall.hpp>

#include <algorithm>
#include <cstddef>

using papcoll::Call;
using papcoll::Collective;
using papcoll::HockneyWithGap;
using papcoll::SelectionInputs;
using papcoll::Thresholds;

namespace {

/// The network of the default thresholds, whose link the k ranks of a node share.
HockneyWithGap link_of_node(const Thresholds& t, int k) {
  HockneyWithGap h = papcoll::detail::link_of(t);
  h.beta *= k;
  return h;
}

/// The shorter of Bruck and Pairwise, with so many bytes for all; `far`: of how many others.
double flat_alltoall(const HockneyWithGap& h, int ranks, int far, double bytes) {
  const double each = bytes / ranks;
  return std::min(papcoll::closed_form::bruck_alltoall(h, ranks, bytes, 2),
                  h.alpha - h.gap + far * h.port(each));
}

/// By nodes of k ranks: two phases within them, four copies by one rank.
double alltoall_by_nodes(const Thresholds& t, int k, int nodes, double bytes) {
  constexpr double phase = 0.5e-6;
  constexpr double copy_of_a_byte = 0.1e-9;
  return 2 * phase + 4 * k * bytes * copy_of_a_byte +
         flat_alltoall(papcoll::detail::link_of(t), nodes, nodes - 1, k * bytes);
}

}  // namespace

TEST_CASE("by nodes an alltoall takes no longer where Auto takes it there", "[select]") {
  const Thresholds t;
  const auto most = static_cast<double>(t.network.alltoall);
  for (const int k : {4, 8, 16}) {
    for (int nodes = 4; nodes <= 64; nodes *= 2) {
      const int ranks = k * nodes;
      CAPTURE(k, nodes);
      const double flat = flat_alltoall(link_of_node(t, k), ranks, ranks - k, most);
      const double by_nodes = alltoall_by_nodes(t, k, nodes, most);
      CHECK(by_nodes < 1.02 * flat);
      const double flat_of_longer = flat_alltoall(link_of_node(t, k), ranks, ranks - k, 4 * most);
      CHECK(alltoall_by_nodes(t, k, nodes, 4 * most) > flat_of_longer);
    }
  }
}

TEST_CASE("short alltoalls and scans of several nodes go by nodes", "[select]") {
  SelectionInputs s;
  const Thresholds t;
  s.thresholds = &t;
  s.size = 16;
  s.nodes = 4;
  s.grouped = true;
  s.largest_node = 4;
  Call call;
  call.collective = Collective::alltoall;
  const auto alltoall_goes = [&](std::size_t bytes) {
    call.count = bytes;
    return papcoll::detail::goes_by_nodes(call, s);
  };
  CHECK(alltoall_goes(64));
  CHECK_FALSE(alltoall_goes(65));
  s.largest_node = 3;
  CHECK_FALSE(alltoall_goes(8));
  s.largest_node = 4;
  s.by_messages = true;
  CHECK_FALSE(alltoall_goes(8));
  s.by_messages = false;
  const std::size_t counts[32] = {};
  call.counts = counts;
  CHECK_FALSE(alltoall_goes(1));

  Call prefix;
  prefix.collective = Collective::scan;
  prefix.count = t.network.hierarchical;
  CHECK(papcoll::detail::goes_by_nodes(prefix, s));
  CHECK(papcoll::detail::goes_by_nodes(prefix, s));
  s.nodes_in_order = false;
  CHECK_FALSE(papcoll::detail::goes_by_nodes(prefix, s));
  s.nodes_in_order = true;
  ++prefix.count;
  CHECK_FALSE(papcoll::detail::goes_by_nodes(prefix, s));
}
