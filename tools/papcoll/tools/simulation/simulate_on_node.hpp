// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// `papcoll simulate` of algorithms that decide by who arrives when.

#include <papcoll/base/collective.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/choice/names/name_parser.hpp>
#include <papcoll/simulate/quantity_text.hpp>
#include <papcoll/simulate/simulated.hpp>
#include <papcoll/simulate/simulated_text.hpp>
#include <papcoll/simulate/virtual_node.hpp>
#include <papcoll/tools/common.hpp>
#include <papcoll/tools/options/node_costs_option.hpp>
#include <papcoll/tools/simulation/simulated_call.hpp>
#include <papcoll/topology/machine.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// Returns true if the algorithm is arrival-driven, and no static schedule.
inline bool decides_by_arrivals(const ParsedName& algorithm) {
  return algorithm.row != nullptr && algorithm.row->algorithm != nullptr && !algorithm.plan;
}

/// The algorithm in virtual time. Throws argument_error if it is not there.
inline const VirtualAlgorithm& virtual_algorithm(const ParsedName& algorithm) {
  const VirtualAlgorithm* const found = find_virtual_algorithm(algorithm.row->name);
  if (found != nullptr) return *found;
  throw argument_error(
      "papcoll: " + std::string(algorithm.row->name) +
      " is not compiled for virtual time: register it by papcoll::RegisteredArrival of "
      "<papcoll/simulate/virtual_node.hpp>");
}

/// What is simulated of one of them.
class SimulatedOnNode {
 public:
  SimulatedOnNode(const CLI::App& command, const SimulatedCall& call, const NodeCostsOption& option)
      : call_(call), option_(option) {
    for (const char* const name :
         {"--link-costs", "--order", "--hop-latency", "--ports", "--pipeline-depth", "--model"}) {
      const bool matters =
          std::string(name) == "--model" && command.get_option("--mif")->count() > 0;
      if (command.get_option(name)->count() == 0 || matters) continue;
      throw argument_error("papcoll: " + std::string(name) +
                           " is about messages, and an algorithm that decides by who arrives when "
                           "runs in the memory of one node: leave it out");
    }
    options_.colours = colours();
    costs_ = option_.costs();
  }

  Simulated run(const ParsedName& algorithm) const {
    return simulate_on_node(virtual_algorithm(algorithm), call_.shape(), costs_,
                            call_.options().arrivals, options_);
  }

  /// A rank's time in the call, in the mean.
  static double in_call(const Simulated& run) {
    double sum = 0;
    for (std::size_t r = 0; r < run.exits.size(); ++r) sum += run.exits[r] - run.arrivals[r];
    return sum / static_cast<double>(run.exits.size());
  }

  /// Returns where the costs are from, and what is not modelled.
  std::string about() const {
    std::string text = option_.about(costs_) + "\n";
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (processors > 0 && call_.ranks() > processors) {
      text += "as on a node with a processor for each rank; this machine has " +
              std::to_string(processors) + ", and ranks that share one are not modelled\n";
    }
    return text;
  }

  Json reported(const ParsedName& algorithm, const Simulated& run) const {
    const Shape& shape = call_.shape();
    Json all{{"algorithm", algorithm.row->name},
             {"collective", name_of(shape.collective)},
             {"ranks", shape.size},
             {"bytes", has_data(shape.collective) ? shape.count * shape.element_size : 0}};
    if (is_rooted(shape.collective)) all["root"] = shape.root;
    all["time"] = run.time();
    all["tail"] = run.tail();
    all["in_call"] = in_call(run);
    all["error"] = costs_.error;
    all["clock"] = costs_.clock;
    all["arrivals"] = run.arrivals;
    all["exits"] = run.exits;
    return all;
  }

  std::string described(const ParsedName& algorithm, const Simulated& run) const {
    std::string text =
        detail::call_text(std::string(algorithm.row->name), call_.shape()) + " on one node\n";
    const auto line = [&text](const std::string& title, double seconds, const std::string& what) {
      text += "  " + padded(title, 10, false) + padded(detail::duration_text(seconds), 10, true) +
              "  " + what + "\n";
    };
    line("time", run.time(), "from the first arrival to the last exit");
    line("tail", run.tail(), "from the last arrival to the last exit");
    line("in call", in_call(run), "a rank, in the mean");
    constexpr std::size_t most_shown = 16;
    const double first = *std::min_element(run.arrivals.begin(), run.arrivals.end());
    for (std::size_t r = 0; r < std::min(run.exits.size(), most_shown); ++r) {
      line("rank " + std::to_string(r), run.exits[r] - run.arrivals[r],
           "in the call, from " + detail::duration_text(run.arrivals[r] - first) + " on");
    }
    if (run.exits.size() > most_shown) text += "  … (--json shows all ranks)\n";
    return text + about();
  }

 private:
  /// Returns for each rank its last-level cache on the machine that was named.
  std::vector<int> colours() const {
    const Machine* const machine = call_.machine();
    if (machine == nullptr) return {};
    for (int r = 1; r < call_.ranks(); ++r) {
      if (machine->place(r).node == machine->place(0).node) continue;
      throw argument_error(
          "papcoll: --machine: the ranks are on several nodes, and an algorithm that decides by "
          "who arrives when runs in the memory of one: name a machine with more cores a node");
    }
    return machine->groups({Level::l3}).front();
  }

  const SimulatedCall& call_;
  const NodeCostsOption& option_;
  VirtualOptions options_;
  NodeCosts costs_;
};

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
