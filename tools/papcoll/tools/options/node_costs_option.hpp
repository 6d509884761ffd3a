// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/error.hpp>
#include <papcoll/simulate/measure_node_costs.hpp>
#include <papcoll/simulate/node_costs.hpp>
#include <papcoll/simulate/quantity_text.hpp>
#include <papcoll/tools/common.hpp>
#include <papcoll/tools/files/node_costs_file.hpp>

#include <CLI/CLI.hpp>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// Where the costs of a node come from: a file, or this machine, which is measured.
class NodeCostsOption {
 public:
  void add_to(CLI::App& command) {
    command
        .add_option("--node-costs", file_,
                    "Of arrival-driven algorithms: a JSON file with what signals, copies and\n"
                    "combinations cost, which papcoll-bench --measure node-costs wrote\n"
                    "(default: measured now, in about a second)")
        ->check(not_empty())
        ->type_name("FILE");
  }

  bool is_file() const noexcept { return !file_.empty(); }

  /// Throws argument_error and system_error.
  NodeCosts costs() const { return is_file() ? read_node_costs(file_) : measure_node_costs(); }

  /// "costs: as in FILE; a tail may be wrong by 25 %".
  std::string about(const NodeCosts& costs) const {
    const std::string kind = costs.same_l3.known && costs.cross_l3.known ? "near and apart"
                             : costs.same_l3.known                       ? "near only"
                                                                         : "apart only";
    return "costs " + (is_file() ? "as in " + file_ : std::string("measured now")) + " (" + kind +
           "); a tail may be wrong by " + detail::decimal(100 * costs.error, 0) + " %";
  }

 private:
  std::string file_;
};

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
