// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/simulate/measure/measure_call_costs.hpp>

#include <papcoll/algorithms/arrival/all.hpp>
#include <papcoll/barrier.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/op.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/node/node_context.hpp>
#include <papcoll/node/waiting/doorbells.hpp>
#include <papcoll/simulate/measure/work_timer.hpp>
#include <papcoll/simulate/node_costs.hpp>
#include <papcoll/simulate/virtual_node.hpp>
#include <papcoll/thread_team.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI::detail {
namespace {

/// One rank's calls of an algorithm, on papcoll's own site, without a team.
template <class Run> double running(const WorkTimer& timer, const Call& call) {
  constexpr std::size_t chunk = 65536;
  LazyMemory memory{NodeControlBlock::bytes(1, chunk) + Doorbells::bytes(1)};
  Doorbells::initialise(memory.data(), 1);
  NodeContext site{NodeControlBlock{memory.data() + Doorbells::bytes(1), 1, chunk},
                   Doorbells{memory.data(), 1}, 0};
  return timer.each_of(1000, [&](std::size_t) {
    site.begin(CallFingerprint::of(call.count, call.collective, 1, 0, 0), call.reducer);
    while (!site.enter()) {
    }
    Run run;
    while (!run.step(site, call)) {
    }
    site.leave();
  });
}

template <class Driven>
void measure_code(const WorkTimer& timer, const NodeCosts& costs,
                  std::map<std::string, double, std::less<>>& code) {
  double number = 1;
  double result = 0;
  Call call;
  call.in = reinterpret_cast<const std::byte*>(&number);
  call.out = reinterpret_cast<std::byte*>(&result);
  call.count = 1;
  call.reducer = reducer<double>(papcoll::sum);
  for (std::size_t i = 0; i < collective_count; ++i) {
    call.collective = static_cast<Collective>(i);
    if (!Driven::Schedule::serves(call.collective)) continue;
    Shape shape;
    shape.collective = call.collective;
    shape.size = 1;
    shape.count = 1;
    shape.element_size = sizeof number;
    const double known =
        simulate_on_node(*find_virtual_algorithm(Driven::name), shape, costs).tail();
    code[std::string(Driven::name)] =
        std::max(0.0, running<typename Driven::Run>(timer, call) - known);
    return;
  }
}

template <class... Listed>
void measure_codes(const WorkTimer& timer, NodeCosts& costs, ArrivalAlgorithmList<Listed...>) {
  costs.call = 0;
  NodeCosts measured = costs;  // while `costs` has no code
  (measure_code<ArrivalDriven<typename Listed::Arrival, typename Listed::Schedule>>(timer, costs,
                                                                                    measured.code),
   ...);
  costs = std::move(measured);
}

}  // namespace

void measure_call_costs(NodeCosts& costs, const WorkTimer& timer) {
  measure_codes(timer, costs, ArrivalAlgorithms{});
  ThreadTeam team{1};
  double in_team = 0;
  team.run([&](ThreadTeam::Rank& me) {
    in_team = timer.each_of(1000, [&](std::size_t) { barrier<Exchange, ThreadTransport>(me); });
  });
  std::byte token{};
  costs.call = std::max(0.0, in_team - running<Exchange::Run>(timer, barrier_call(&token)));
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
