// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/base/collective.hpp>
#include <papcoll/choice/selection/choose.hpp>

#include <cstddef>
#include <initializer_list>

// When calls on several nodes of several ranks are tried first by nodes, and when flat.

using papcoll::Call;
using papcoll::Collective;
using papcoll::SelectionInputs;
using papcoll::Thresholds;

namespace {

struct Nodes {
  Thresholds thresholds{};
  SelectionInputs inputs{};

  Nodes(int nodes, int ranks_of_each) {
    inputs.size = nodes * ranks_of_each;
    inputs.nodes = nodes;
    inputs.largest_node = ranks_of_each;
    inputs.grouped = true;
    inputs.thresholds = &thresholds;
  }

  papcoll::Shortlist list(const Call& call) const {
    const auto& all = papcoll::detail::chooser_of(call.collective).by_messages;
    return shortlist(all, papcoll::detail::MessageLoad{call, inputs});
  }
  /// Is it tried by nodes first?
  bool goes(const Call& call) const {
    const auto& all = papcoll::detail::chooser_of(call.collective).by_messages;
    return all[list(call).ids[0]].by_nodes != nullptr;
  }
  bool goes(Collective c, std::size_t bytes) const {
    Call call;
    call.collective = c;
    call.count = bytes;
    return goes(call);
  }
};

}  // namespace

TEST_CASE("short calls of several nodes are tried by nodes first, long ones flat", "[select]") {
  for (const int nodes : {4, 16, 64}) {
    for (const int each : {2, 8, 32}) {
      const Nodes several{nodes, each};
      CAPTURE(nodes, each);
      for (const Collective c : {Collective::allreduce, Collective::reduce, Collective::bcast,
                                 Collective::allgather, Collective::scan, Collective::barrier}) {
        CAPTURE(name_of(c));
        CHECK(several.goes(c, 8));
      }
      CHECK_FALSE(several.goes(Collective::allreduce, std::size_t{4} << 20U));
      CHECK(several.goes(Collective::alltoall, 1));
      CHECK_FALSE(several.goes(Collective::alltoall, 65536));
    }
  }
}

TEST_CASE("what cannot go by nodes does not", "[select]") {
  Nodes several{4, 4};
  for (const Collective c : {Collective::reduce_scatter, Collective::gather, Collective::scatter}) {
    CHECK_FALSE(several.goes(c, 8));
  }
  CHECK(several.goes(Collective::scan, 8));
  several.inputs.nodes_in_order = false;
  CHECK_FALSE(several.goes(Collective::scan, 8));
  several.inputs.nodes_in_order = true;
  several.inputs.must_pass_messages = true;
  CHECK_FALSE(several.goes(Collective::allreduce, 8));
  several.inputs.must_pass_messages = false;
  const std::size_t counts[32] = {};
  Call irregular;
  irregular.collective = Collective::alltoall;
  irregular.count = 1;
  irregular.counts = counts;
  CHECK_FALSE(several.goes(irregular));
}

TEST_CASE("where bits must not depend on what is measured, one candidate is listed", "[select]") {
  const Nodes several{4, 4};
  for (const Collective c : {Collective::allreduce, Collective::reduce, Collective::scan,
                             Collective::reduce_scatter, Collective::bcast}) {
    Call call;
    call.collective = c;
    call.count = 1000;
    CHECK(several.list(call).count > 1);
    call.contract = papcoll::NumericalContract::reproducible;
    call.rank_order = true;
    CHECK((several.list(call).count == 1) == is_reduction(c));
  }
}
