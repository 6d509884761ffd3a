// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The options of `papcoll simulate` and `papcoll draw` that describe a call, and what follows from
// them.

#include <papcoll/algorithms/static/suara.hpp>
#include <papcoll/arrival/policies.hpp>
#include <papcoll/arrival/predictions.hpp>
#include <papcoll/arrival/predictor.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/choice/names/name_parser.hpp>
#include <papcoll/model/log_gops.hpp>
#include <papcoll/pattern/generators.hpp>
#include <papcoll/pattern/trace.hpp>
#include <papcoll/simulate/hierarchical_schedule.hpp>
#include <papcoll/simulate/link_costs.hpp>
#include <papcoll/simulate/simulate.hpp>
#include <papcoll/tools/common.hpp>
#include <papcoll/tools/files/model_file.hpp>
#include <papcoll/tools/files/topology_file.hpp>
#include <papcoll/tools/machines/machine_named.hpp>
#include <papcoll/tools/options/named_schedule.hpp>
#include <papcoll/tools/options/placement_option.hpp>
#include <papcoll/tools/options/placements.hpp>
#include <papcoll/tools/simulation/suara_grid.hpp>
#include <papcoll/topology/mapping/map_positions.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// A schedule and all that simulate() wants.
struct SimulatedCase {
  std::string name;  ///< as it may be given
  AnySchedule schedule;
  Shape shape;
  Order order = Order::identity(1);
  std::string chosen{};  ///< what Suara alone takes
  std::string grid{};    ///< that Suara's ranks make
};

/// The options that describe a call and a machine.
class SimulatedCall {
 public:
  /// `most_ranks` for the command. Without `default_bytes`, --bytes must be given.
  void add_to(CLI::App& command, int most_ranks, std::size_t default_bytes) {
    bytes_ = default_bytes;
    command.add_option("--ranks", ranks_, "Ranks of the communicator")
        ->required()
        ->transform(whole(1, static_cast<std::uint64_t>(most_ranks)));
    bytes_option_ =
        command
            .add_option("--bytes", bytes_,
                        std::string(default_bytes == 0 ? "REQUIRED but for barrier. O" : "O") +
                            "f the call, as it counts: 8, 64k, 4M;\n"
                            "of a block for allgather, gather, scatter, alltoall and\n"
                            "reduce_scatter" +
                            (default_bytes == 0 ? "" : " (default 1M)"))
            ->transform(as_bytes());
    command
        .add_option("--collective", collective_,
                    "allreduce, bcast, … (default: the first that the algorithm serves of\n"
                    "allreduce, bcast, reduce, …)")
        ->check(not_empty());
    root_option_ = command.add_option("--root", root_, "Of bcast, reduce, gather and scatter")
                       ->transform(rank_number())
                       ->capture_default_str();
    command
        .add_option("--model", model_,
                    "A JSON file with what messages and work cost: latency, overhead and\n"
                    "gap in seconds, gap_per_byte, … in seconds a byte, or one that\n"
                    "papcoll-bench --measure model wrote\n"
                    "(default: 1.5 µs, 16 GB/s, 0.2 ns to combine a byte)")
        ->check(not_empty())
        ->type_name("FILE");
    command
        .add_option("--link-costs", topology_,
                    "A JSON file that says which ranks are on a node and what messages\n"
                    "within and between nodes cost")
        ->check(not_empty())
        ->type_name("FILE");
    auto* const machine = command
                              .add_option("--machine", machine_spec_,
                                          std::string("Where ranks are: ") + machine_forms)
                              ->check(not_empty())
                              ->type_name("SPEC")
                              ->excludes("--link-costs");
    command
        .add_option("--placement", placement_,
                    "Where the ranks are on it: by-core, by-node (in turn to all nodes),\n"
                    "by-socket (in turn to the packages of a node) or random")
        ->check(as_placement())
        ->capture_default_str()
        ->needs(machine);
    command
        .add_option("--order", order_,
                    "rank: position p is rank p, after the root; machine: as OnTopology finds\n"
                    "(PredictedOrder has an order of its own)")
        ->check(CLI::IsMember({"rank", "machine"}))
        ->capture_default_str();
    command
        .add_option("--hop-latency", hop_latency_,
                    "What each hop of the machine's network adds to a latency (default 150ns)")
        ->transform(as_duration())
        ->check(CLI::Range(0.0, 1.0))
        ->needs(machine);
    command
        .add_option("--ports", ports_,
                    "exclusive: messages of a rank go one after the other; shared: they share\n"
                    "its bandwidth, and a model's gap means nothing")
        ->check(CLI::IsMember({"exclusive", "shared"}))
        ->capture_default_str();
    command
        .add_option("--pipeline-depth", pipeline_depth_, "Blocks of a pipeline in flight at once")
        ->transform(whole(1, 1U << 20U))
        ->capture_default_str();
    command
        .add_option("--arrival", arrival_,
                    "balanced, uniform, normal, one-late, one-early, ascending, descending,\n"
                    "two-groups, same-late or trace:FILE, of which the first line counts")
        ->type_name("PATTERN")
        ->capture_default_str();
    auto* const mif =
        command
            .add_option("--mif", mif_,
                        "Spread of the arrivals in one-way times of a message of --bytes")
            ->check(between(0, 1e12));
    command.add_option("--spread", spread_, "Spread of the arrivals: 100us, 2ms, …")
        ->transform(as_duration())
        ->check(CLI::Range(0.0, 1e6))
        ->excludes(mif);
    command.add_option("--seed", seed_, "Of arrivals that are drawn by lot")
        ->transform(whole(0, std::numeric_limits<std::int64_t>::max()))
        ->capture_default_str();
    command.add_flag("--no-size-limit", any_size_,
                     "Also what takes more than 4 GB of memory, or about half an hour");
  }

  /// Reads the files and decides what can be decided without an algorithm. Throws argument_error
  /// and system_error.
  void prepare(Collective collective) {
    shape_.collective = collective;
    shape_.size = ranks_;
    require_sense();
    std::size_t element = 8;
    while (bytes_ % element != 0) element /= 2;
    shape_.root = root_;
    shape_.element_size = has_data(collective) ? element : 1;
    shape_.count = has_data(collective) ? bytes_ / element : 1;
    if (!model_.empty()) costs_ = read_model(model_);
    options_.ports = ports_ == "shared" ? Ports::shared : Ports::exclusive;
    options_.pipeline_depth = pipeline_depth_;
    if (any_size_) {
      options_.most_steps = options_.most_memory = std::numeric_limits<std::size_t>::max();
    }
    if (!topology_.empty()) options_.links = read_topology(topology_, ranks_, costs_);
    if (!machine_spec_.empty()) {
      machine_ = placed(machine_named(machine_spec_), placement_named(placement_), ranks_);
      options_.links = links_of_machine();
    } else if (order_ == "machine") {
      throw argument_error("papcoll: --order machine: which one? Write --machine, too");
    }
    options_.arrivals = arrivals();
  }

  /// The collective that is meant with this algorithm. Throws argument_error if it does not serve
  /// it.
  Collective collective(const AnySchedule& schedule) const {
    return collective_meant(schedule, collective_);
  }

  /// The collective that is meant with an arrival-driven algorithm.
  Collective collective(const CatalogueRow& row) const {
    return collective_meant(std::string(row.name), row.serves, collective_);
  }

  /// Refuses --order machine for one that has an order of its own. Throws argument_error.
  void require_effect_of_order(const ParsedName& algorithm) const {
    if (order_ == "machine" && algorithm.row->is_hierarchical) {
      throw argument_error("papcoll: --order machine: " + algorithm.text() +
                           " follows the machine by its nodes: leave --order out");
    }
    if (order_ != "machine" || algorithm.arrival != PredictedOrder<>::name) return;
    throw argument_error("papcoll: --order machine: the order of " + algorithm.text() +
                         " is that of the arrivals, and follows the machine where ranks are "
                         "expected at the same time: leave --order out");
  }

  /// After prepare(): the call by this algorithm. In predicted order, the ranks' arrivals are as
  /// predicted; those that arrive at the same time are in the machine's order. Throws
  /// argument_error for a transport that passes no messages.
  SimulatedCase by(const ParsedName& algorithm) const {
    require_messages(algorithm);
    SimulatedCase c{algorithm.plan.name(), algorithm.plan, shape_, static_order(shape_)};
    if (c.schedule == AnySchedule(AnySuara{})) {
      c.chosen = c.schedule.resolved(shape_.size, bytes_).name();
    }
    c.grid = suara_grid_text(c.schedule, shape_.size, bytes_);
    if (const auto* const hierarchy = c.schedule.target<HierarchicalSchedule>()) {
      c.schedule = on_nodes(*hierarchy);
      c.order = Order::identity(shape_.size);
      return c;
    }
    constexpr std::string_view predicted = PredictedOrder<>::name;
    const bool along = order_ == "machine" || algorithm.arrival == OnTopology::name;
    if (along && machine_spec_.empty()) {
      throw argument_error("papcoll: " + algorithm.text() +
                           ": along which machine? Write --machine, too");
    }
    if (algorithm.arrival == OnTopology::name)
      c.name = std::string(OnTopology::name) + "+" + c.name;
    if (along && algorithm.arrival != predicted && !is_prefix_reduction(shape_.collective)) {
      c.order = map_positions(c.schedule.resolved(shape_.size, bytes_), shape_.collective, machine_,
                              shape_.root)
                    .order;
    }
    if (algorithm.arrival != predicted) return c;
    if (algorithm.row->arrival != predicted) c.name = std::string(predicted) + "+" + c.name;
    std::vector<std::int64_t> ns;
    for (const double a : options_.arrivals) ns.push_back(std::llround(a * 1e9));
    c.order = ArrivalForecast{ns, machine_.order()}.order(shape_);
    return c;
  }

  int ranks() const noexcept { return ranks_; }
  /// Returns where the ranks are, if --machine says so; else null.
  const Machine* machine() const noexcept { return machine_spec_.empty() ? nullptr : &machine_; }
  const Shape& shape() const noexcept { return shape_; }
  const LogGops& model() const noexcept { return costs_; }
  const SimulateOptions& options() const noexcept { return options_; }

 private:
  /// A hierarchy on the nodes of the machine: of more than two levels, on its leaf switches, too.
  HierarchicalSchedule on_nodes(HierarchicalSchedule hierarchy) const {
    const std::size_t levels = hierarchy.parts.size() - 1;
    if (machine_spec_.empty() && (topology_.empty() || levels > 1)) {
      throw argument_error("papcoll: " + AnySchedule(hierarchy).name() +
                           ": which ranks are on a node? Write " +
                           (levels > 1 ? "--machine" : "--machine or --link-costs") + ", too");
    }
    if (machine_spec_.empty()) {
      hierarchy.groups = {read_nodes(topology_, ranks_)};
    } else if (levels == 1) {
      hierarchy.groups = machine_.groups({Level::node});
    } else if (levels == 2) {
      hierarchy.groups = machine_.groups({Level::node, Level::leaf_switch});
    } else {
      throw argument_error("papcoll: " + AnySchedule(hierarchy).name() +
                           ": a machine has levels for three algorithms: within nodes, among those "
                           "of a leaf switch, and among leaf switches");
    }
    hierarchy.pipeline_depth = pipeline_depth_;
    return hierarchy;
  }

  /// A latency of its own for each pair of ranks, by the hops between them.
  LinkCosts links_of_machine() const {
    constexpr int most = 2048;
    if (ranks_ > most) {
      throw argument_error("papcoll: --machine: the latencies between more than " +
                           std::to_string(most) +
                           " ranks are too many: write --ranks 2048 or less");
    }
    std::vector<LinkCost> costs;
    costs.reserve(static_cast<std::size_t>(ranks_) * static_cast<std::size_t>(ranks_));
    for (int from = 0; from < ranks_; ++from) {
      for (int to = 0; to < ranks_; ++to) {
        costs.push_back(
            {costs_.latency + hop_latency_ * machine_.hops(from, to), costs_.gap_per_byte});
      }
    }
    return LinkCosts::matrix(ranks_, std::move(costs));
  }

  void require_sense() const {
    const auto refuse = [](const std::string& why) { throw argument_error("papcoll: " + why); };
    const bool has_data = papcoll::has_data(shape_.collective);
    if (has_data && bytes_ == 0 && bytes_option_->count() == 0) {
      refuse("--bytes is required: write how large the call is, as --bytes 64k");
    }
    if (!has_data && bytes_option_->count() > 0) refuse("--bytes: a barrier moves no data");
    require_root(shape_.collective, root_, root_option_->count() > 0, ranks_);
  }

  std::vector<double> arrivals() const {
    std::vector<double> times(static_cast<std::size_t>(ranks_), 0);
    constexpr std::string_view trace = "trace:";
    const bool has_spread = mif_ >= 0 || spread_ >= 0;
    if (arrival_.starts_with(trace)) {
      const std::string file = arrival_.substr(trace.size());
      pattern::Trace t = parsed_trace(file);
      if (t.ranks != times.size()) {
        throw argument_error("papcoll: arrival trace " + file + ": it has " +
                             std::to_string(t.ranks) + " columns, a column a rank, and there are " +
                             std::to_string(ranks_) + " ranks: change --ranks or the trace");
      }
      if (has_spread) t = t.scaled_to(spread());
      t(0, times);
      return times;
    }
    const pattern::Shape shape = shape_named(arrival_);
    if ((shape == pattern::Shape::balanced) == has_spread) {
      throw argument_error("papcoll: --arrival " + arrival_ +
                           (has_spread ? ": leave --mif and --spread out"
                                       : ": it needs --mif or --spread, as --spread 100us"));
    }
    if (has_spread) pattern::Generator{shape, spread(), seed_}(0, times);
    return times;
  }

  static pattern::Trace parsed_trace(const std::string& file) {
    const std::string text = read_text(file, "arrival trace");
    try {
      return pattern::parse_trace(text);
    } catch (const pattern::trace_error& e) {
      throw argument_error("papcoll: " + file + ": " + e.what());
    }
  }

  static pattern::Shape shape_named(const std::string& name) {
    try {
      return pattern::shape_named(name);
    } catch (const argument_error& e) {
      throw argument_error("papcoll: --arrival: " + std::string(e.what()) + " or trace:FILE");
    }
  }

  /// In seconds; as papcoll-bench has it, but that a message takes what the model says.
  double spread() const {
    if (spread_ >= 0) return spread_;
    const auto bytes = static_cast<double>(bytes_);
    return mif_ * (costs_.latency + 2 * costs_.overhead +
                   bytes * (costs_.gap_per_byte + 2 * costs_.overhead_per_byte));
  }

  CLI::Option* bytes_option_ = nullptr;
  CLI::Option* root_option_ = nullptr;
  int ranks_ = 1;
  std::size_t bytes_ = 0;
  std::string collective_;
  int root_ = 0;
  std::string model_;
  std::string topology_;
  std::string machine_spec_;
  std::string placement_ = "by-core";
  std::string order_ = "rank";
  double hop_latency_ = 150e-9;
  Machine machine_;
  std::string ports_ = "exclusive";
  std::size_t pipeline_depth_ = Options{}.pipeline_depth;
  std::string arrival_ = "balanced";
  double mif_ = -1;
  double spread_ = -1;
  std::uint64_t seed_ = 1;
  bool any_size_ = false;
  Shape shape_;
  LogGops costs_;
  SimulateOptions options_;
};

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
