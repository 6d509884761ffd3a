// SPDX-License-Identifier: BSD-3-Clause
#include "machine/node_costs.hpp"

#include "timing/contest.hpp"
#include "timing/quiet.hpp"
#include "timing/together.hpp"

#include <fmt/format.h>
#include <papcoll/simulate/measure_node_costs.hpp>
#include <papcoll/tools/files/node_costs_file.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>

namespace bench {
namespace {

void print(const char* where, const papcoll::PairCosts& pair) {
  if (!pair.known) return;
  fmt::print("{:<6} signal {:.0f} ns, line {:.0f} ns, 4 KB read {:.2f} µs, written {:.2f} µs\n",
             where, pair.signal * 1e9, pair.fetch * 1e9, pair.read(4096) * 1e6,
             pair.write(4096) * 1e6);
}

}  // namespace

void measure_node_costs(const Options& options, const Placement& placement) {
  const std::string& file = options.node_costs;
  papcoll::NodeCosts before;
  papcoll::NodeCosts costs;
  std::string problem;
  if (placement.rank() == 0) {
    try {
      require_writable(file);
      std::error_code none;
      if (std::filesystem::is_regular_file(file, none) && !std::filesystem::is_empty(file)) {
        before = papcoll::tool::read_node_costs(file);
      }
      costs = papcoll::measure_node_costs();
    } catch (const std::exception& e) {
      problem = papcoll::detail::bare(e.what());
    }
  }
  quiet_barrier(placement.comm());
  together(placement.comm(), [&] {
    if (!problem.empty()) throw usage_error(problem);
    if (placement.rank() != 0) return;
    if (!costs.same_l3.known) costs.same_l3 = before.same_l3;
    if (!costs.cross_l3.known) costs.cross_l3 = before.cross_l3;
    print("near", costs.same_l3);
    print("apart", costs.cross_l3);
    write_file(file, papcoll::tool::node_costs_json(costs).dump(2) + "\n");
  });
}

}  // namespace bench
