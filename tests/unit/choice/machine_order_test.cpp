// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"
#include "machines.hpp"

#include <papcoll/choice/selection/choose.hpp>
#include <papcoll/runtime/setup/machine_orders.hpp>
#include <papcoll/schedule/make_plan.hpp>

#include <cstddef>
#include <memory>

using namespace papcoll;

namespace {

/// What a call between nodes is chosen by, and an allreduce to choose for.
struct Between {
  explicit Between(Machine machine)
      : orders(papcoll::detail::make_shared<const MachineOnDemand>(std::move(machine))) {
    inputs.size = orders.machine()->get().size();
    inputs.thresholds = &thresholds;
    inputs.orders = &orders;
    inputs.plans = &plans;
    call.collective = Collective::allreduce;
    call.count = 1 << 17;
    call.reducer.size = sizeof(double);
    call.reducer.commutative = true;
  }

  template <Collective C, class S> OrderSource order() {
    call.collective = C;
    return detail::choose_order(AnySchedule::of<S>(), call, inputs);
  }

  Thresholds thresholds;
  MachineOrders orders;
  PlanCache plans;
  SelectionInputs inputs;
  Call call;
};

}  // namespace

TEST_CASE("calls between nodes run along the machine where that gains", "[select]") {
  Between dealt{machines::dealt_by_node(64, 8)};
  CHECK(dealt.order<Collective::allreduce, Ring>().map() == &map_positions);
  CHECK(dealt.order<Collective::allreduce, Rabenseifner>());
  CHECK(dealt.order<Collective::allgather, Bruck>());
  // At a power of two every order is as good.
  CHECK_FALSE(dealt.order<Collective::allreduce, RecursiveDoubling>());
  CHECK_FALSE(dealt.order<Collective::alltoall, Pairwise>());
  CHECK_FALSE(dealt.order<Collective::barrier, Dissemination>());

  Between by_core{Machine::of_cores(8, 2, 1, 4)};
  CHECK_FALSE(by_core.order<Collective::allreduce, Ring>());
  CHECK(by_core.order<Collective::allgather, RecursiveDoubling>());
}

TEST_CASE("a root is remembered when its call begins, not when it is asked for", "[select]") {
  MachineOrders orders{nullptr};
  CHECK_FALSE(orders.repeats_root(Collective::bcast, 3));
  CHECK_FALSE(orders.repeats_root(Collective::bcast, 3));
  orders.begins(Collective::bcast, 3);
  CHECK(orders.repeats_root(Collective::bcast, 3));
  CHECK_FALSE(orders.repeats_root(Collective::bcast, 2));  // of a call that will not match
  CHECK(orders.repeats_root(Collective::bcast, 3));
  CHECK_FALSE(orders.repeats_root(Collective::reduce, 3));
}

TEST_CASE("by how much the model must gain is a threshold", "[select]") {
  Between dealt{machines::dealt_by_node(64, 8)};
  dealt.thresholds.network.order_percent = 100'000;
  CHECK_FALSE(dealt.order<Collective::allreduce, Ring>());
}

TEST_CASE("what depends on the order of ranks keeps it", "[select]") {
  Between dealt{machines::dealt_by_node(64, 8)};
  dealt.call.rank_order = true;  // Reproducible, or an operator that does not commute
  CHECK_FALSE(dealt.order<Collective::allreduce, Ring>());
  CHECK(dealt.order<Collective::allgather, Ring>());
  CHECK_FALSE(dealt.order<Collective::scan, RecursiveDoubling>());
}

TEST_CASE("a root has an order of its own once it repeats", "[select]") {
  Between dealt{machines::dealt_by_node(64, 8)};
  for (const int root : {0, 3, 5}) {
    dealt.call.root = root;
    CHECK_FALSE(dealt.order<Collective::bcast, Binomial>());
    dealt.orders.begins(Collective::bcast, root);
    CHECK(dealt.order<Collective::bcast, Binomial>());
    const MappedOrder& m = dealt.orders.of(AnySchedule::of<Binomial>(), Collective::bcast, root,
                                           AlongMachine::by(map_positions), dealt.plans);
    CHECK(m.order.rank(0) == root);
  }
}

TEST_CASE("a team keeps eight orders, and drops the plans of the oldest", "[select]") {
  Between dealt{machines::dealt_by_node(64, 8)};
  const auto of = [&](int root) -> const MappedOrder& {
    return dealt.orders.of(AnySchedule::of<Binomial>(), Collective::bcast, root,
                           AlongMachine::by(map_positions), dealt.plans);
  };
  Shape shape;
  shape.collective = Collective::bcast;
  shape.size = 64;
  shape.count = 4;
  const Order first = of(0).order;
  static_cast<void>(dealt.plans.get(AnySchedule::of<Binomial>(), shape, first));
  CHECK(of(0).order.is_akin(first));
  for (int root = 1; root < 8; ++root) of(root);
  CHECK(of(0).order.is_akin(first));  // used again
  of(8);
  CHECK(of(0).order.is_akin(first));  // root 1 went
  CHECK(dealt.plans.size() == 1);
  for (int root = 9; root < 17; ++root) of(root);
  CHECK_FALSE(of(0).order.is_akin(first));
  CHECK(dealt.plans.size() == 0);
}
