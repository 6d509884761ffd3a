// SPDX-License-Identifier: BSD-3-Clause
// `papcoll simulate`: how long a call takes by a static schedule, and what its time consists of; or
// by an algorithm that decides by who arrives when, on one node.

#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/simulate/path_costs.hpp>
#include <papcoll/simulate/quantity_text.hpp>
#include <papcoll/simulate/simulate.hpp>
#include <papcoll/simulate/simulated_text.hpp>
#include <papcoll/tools/command.hpp>
#include <papcoll/tools/common.hpp>
#include <papcoll/tools/options/json_option.hpp>
#include <papcoll/tools/options/named_schedule.hpp>
#include <papcoll/tools/options/node_costs_option.hpp>
#include <papcoll/tools/options/placements.hpp>
#include <papcoll/tools/simulation/closed_form_of.hpp>
#include <papcoll/tools/simulation/simulate_on_node.hpp>
#include <papcoll/tools/simulation/simulated_call.hpp>
#include <papcoll/topology/mapping/mapped_order.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {
namespace {

/// The parts of a path, with what they are called in text and in JSON.
std::array<std::pair<std::array<std::string_view, 2>, double>, 7> parts_of(const PathCosts& c) {
  return {{{{"late arrival", "late_arrival"}, c.late_arrival},
           {{"latency", "latency"}, c.latency},
           {{"bytes on their way", "bytes"}, c.bytes},
           {{"overhead of messages", "overhead"}, c.overhead},
           {{"combining", "combining"}, c.combining},
           {{"copying", "copying"}, c.copying},
           {{"waiting for a busy port or processor", "waiting"}, c.waiting}}};
}

class SimulateCommand final : public Command {
 public:
  explicit SimulateCommand(Catalogue catalogue) : catalogue_(catalogue) {}

  void add_to(CLI::App& app) {
    command_ =
        app.add_subcommand("simulate", "How long a call takes by an algorithm, and why so long");
    command_
        ->add_option("ALGORITHM,--algorithm", names_,
                     "REQUIRED. A static schedule, as KNomial:5 or PredictedOrder+Ring, a\n"
                     "hierarchy of them on the nodes of a machine, as Hierarchical:Linear,Ring, or "
                     "one\n"
                     "that decides by who arrives when, on one node, as DynamicLeader. Several:\n"
                     "a table, the fastest first; all, behind one: those that serve the collective")
        ->type_name("NAME")
        ->check(one_name());
    constexpr int most_ranks = 1 << 14;
    call_.add_to(*command_, most_ranks, 0);
    costs_.add_to(*command_);
    command_->add_flag("--full-path", full_path_, "All steps of the critical path");
    json_.add_to(*command_, "an object, of several algorithms an array; times in seconds");
    command_->footer(
        std::string(
            "\"by formula\" (JSON: closed_form) is what the schedule's closed form says, of those "
            "in\n"
            "papcoll/model/closed_forms.hpp. It is there if the schedule has one, all ranks "
            "arrive\n"
            "at once, all links are alike, --ports is exclusive and overhead_per_byte is 0. Where\n"
            "the time is another, messages overlap that the form counts one after the other, or\n"
            "wait for what it does not count.\n\n") +
        examples({"simulate Ring --ranks 16 --bytes 1M",
                  "simulate Hierarchical:Linear,Ring all --ranks 16 --bytes 64k --machine "
                  "nodes=4,cores=4 --arrival one-late --spread 100us"}));
  }

  bool is_given() const override { return command_->parsed(); }

  /// The exit status; throws argument_error and system_error.
  int run() override {
    if (names_.empty()) {
      throw argument_error("papcoll: ALGORITHM is required; see papcoll simulate --help");
    }
    name_ = names_.front();
    if (name_ == "all") {
      throw argument_error("papcoll: all: write an algorithm before it, as Ring all");
    }
    others_.assign(names_.begin() + 1, names_.end());
    const ParsedName named = algorithm_named(name_, catalogue_);
    if (decides_by_arrivals(named)) return run_on_node(named);
    const ParsedName algorithm = schedule_to("simulate", name_, catalogue_);
    call_.prepare(call_.collective(algorithm.plan));
    if (!others_.empty()) return compare(algorithm);
    call_.require_effect_of_order(algorithm);
    const SimulatedCase c = call_.by(algorithm);
    SimulateOptions options = call_.options();
    options.keep_path = true;
    const Simulated run = simulate(c.schedule, c.shape, c.order, call_.model(), options);
    const PathCosts costs = path_costs(run, call_.model(), options);
    const bool written = json_.write([&] {
      Json all = reported(c, run);
      all["critical_path"] = reported(run, costs);
      return all;
    });
    if (!written) print(described(c, run, costs));
    return all_well;
  }

 private:
  int run_on_node(const ParsedName& algorithm) {
    require_node_memory(algorithm);
    call_.prepare(call_.collective(*algorithm.row));
    const std::vector<ParsedName> all = compared_on_node(algorithm);
    const SimulatedOnNode node{*command_, call_, costs_};
    if (others_.empty()) {
      const Simulated run = node.run(algorithm);
      if (!json_.write([&] { return node.reported(algorithm, run); })) {
        print(node.described(algorithm, run));
      }
      return all_well;
    }
    std::vector<std::pair<ParsedName, Simulated>> runs;
    for (const ParsedName& one : all) runs.emplace_back(one, node.run(one));
    std::stable_sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) {
      return a.second.time() < b.second.time();
    });
    const bool written = json_.write([&] {
      Json list = Json::array();
      for (const auto& [one, run] : runs) list.push_back(node.reported(one, run));
      return list;
    });
    if (written) return all_well;
    const std::string call = detail::call_text(name_, call_.shape());
    std::string text = call.substr(call.find(' ') + 1) + " on one node\n  " +
                       padded("algorithm", 20, false) + padded("time", 12, true) +
                       padded("tail", 12, true) + padded("in call", 12, true) + "\n";
    for (const auto& [one, run] : runs) {
      text += "  " + padded(std::string(one.row->name), 20, false) +
              padded(detail::duration_text(run.time()), 12, true) +
              padded(detail::duration_text(run.tail()), 12, true) +
              padded(detail::duration_text(SimulatedOnNode::in_call(run)), 12, true) + "\n";
    }
    print(text + node.about());
    return all_well;
  }

  /// The algorithm and the others, each once.
  std::vector<ParsedName> compared_on_node(const ParsedName& first) const {
    std::vector<ParsedName> all{first};
    const auto add = [&](const ParsedName& one) {
      const auto same = [&](const ParsedName& other) { return other.row == one.row; };
      if (std::none_of(all.begin(), all.end(), same)) all.push_back(one);
    };
    const Collective collective = call_.shape().collective;
    for (const std::string& name : others_) {
      if (name == "all") {
        for (const CatalogueRow& row : catalogue_) {
          const bool runs = row.algorithm != nullptr && row.serves(collective) &&
                            call_.ranks() <= row.algorithm->most_ranks &&
                            find_virtual_algorithm(row.name) != nullptr;
          if (runs) add(parse_name(std::string(row.name), catalogue_));
        }
        continue;
      }
      const ParsedName one = parse_name(name, catalogue_);
      if (!decides_by_arrivals(one)) {
        throw argument_error("papcoll: " + name + " passes messages, and " + name_ +
                             " runs in the memory of a node: name others that decide by who "
                             "arrives when, or all; `papcoll what-if` compares both kinds");
      }
      require_node_memory(one);
      collective_meant(std::string(one.row->name), one.row->serves,
                       std::string(name_of(collective)));
      add(one);
    }
    return all;
  }

  /// Throws argument_error for a transport without it.
  static void require_node_memory(const ParsedName& algorithm) {
    if (algorithm.transport.empty() || algorithm.transport == "ShmTransport" ||
        algorithm.transport == "ThreadTransport") {
      return;
    }
    throw argument_error("papcoll: " + algorithm.text() +
                         ": the simulator has the memory of a node for it, and not " +
                         algorithm.transport + ": leave that out");
  }

  int compare(const ParsedName& first) {
    std::vector<std::pair<SimulatedCase, Simulated>> runs;
    const auto add = [&](const ParsedName& algorithm) {
      const SimulatedCase c = call_.by(algorithm);
      const auto same = [&c](const auto& run) { return run.first.name == c.name; };
      if (std::any_of(runs.begin(), runs.end(), same)) return;
      Simulated run = simulate(c.schedule, c.shape, c.order, call_.model(), call_.options());
      // The quickest first; those as quick as each other in the order they were named.
      const auto slower = std::upper_bound(
          runs.begin(), runs.end(), run.time(),
          [](const auto& time, const auto& other) { return time < other.second.time(); });
      runs.emplace(slower, c, std::move(run));
    };
    add(first);
    for (const std::string& name : others_) {
      if (name == "all") {
        for (const CatalogueRow& row : catalogue_) {
          if (row.plan == nullptr || !row.serves(call_.shape().collective)) continue;
          add(schedule_to("simulate", std::string(row.name), catalogue_));
        }
        continue;
      }
      const ParsedName algorithm = schedule_to("simulate", name, catalogue_);
      if (!algorithm.plan.serves(call_.shape().collective)) {
        throw argument_error("papcoll: " + algorithm.plan.name() + " does not serve " +
                             std::string(name_of(call_.shape().collective)) +
                             ": leave it out, or see `papcoll list " +
                             std::string(name_of(call_.shape().collective)) + "`");
      }
      add(algorithm);
    }
    const bool written = json_.write([&] {
      Json all = Json::array();
      for (const auto& [c, run] : runs) all.push_back(reported(c, run));
      return all;
    });
    if (!written) print(table(runs));
    return all_well;
  }

  static std::string label(const SimulatedCase& c) {
    return c.chosen.empty() ? c.name : c.name + " = " + c.chosen;
  }

  std::string table(const std::vector<std::pair<SimulatedCase, Simulated>>& runs) const {
    std::size_t names = 9;
    for (const auto& [c, run] : runs) names = std::max(names, label(c).size());
    const auto line = [names](const std::string& name, const std::string& time,
                              const std::string& tail, const std::string& messages,
                              const std::string& times) {
      return "  " + padded(name, names, false) + padded(time, 12, true) + padded(tail, 12, true) +
             padded(messages, 11, true) + padded(times, 14, true) + "\n";
    };
    const std::string call = detail::call_text(runs.front().first.name, runs.front().first.shape);
    std::string text = call.substr(call.find(' ') + 1) + "\n";
    text += line("algorithm", "time", "tail", "messages", "of the best");
    const double best = runs.front().second.time();
    for (const auto& [c, run] : runs) {
      const double times = best > 0 ? run.time() / best : 1;
      std::array<char, 32> factor{};
      static_cast<void>(std::snprintf(factor.data(), factor.size(), "%.2f", times));
      text += line(label(c), detail::duration_text(run.time()), detail::duration_text(run.tail()),
                   std::to_string(run.messages), factor.data());
    }
    for (const auto& [c, run] : runs) {
      if (!c.grid.empty()) text += "grid of " + c.name + ": " + c.grid + "\n";
    }
    if (call_.model().overhead == 0 && call_.model().gap == 0) {
      text +=
          "To start a message costs its rank nothing here (overhead and gap are 0), which "
          "flatters\n"
          "those that send many short ones at once, as Linear does: see --model.\n";
    }
    return text;
  }

  std::string described(const SimulatedCase& c, const Simulated& run,
                        const PathCosts& costs) const {
    std::string text = detail::call_text(c.name, c.shape) + "\n";
    const auto line = [&text](const std::string& title, const std::string& value,
                              const std::string& what) {
      text += "  " + padded(title, 10, false) + padded(value, 10, true) +
              (what.empty() ? "" : "  " + what) + "\n";
    };
    if (!c.chosen.empty()) line("it takes", "", c.chosen + " (for the published network)");
    if (!c.grid.empty()) line("grid", "", c.grid);
    line("time", detail::duration_text(run.time()), "from the first arrival to the last exit");
    line("tail", detail::duration_text(run.tail()), "from the last arrival to the last exit");
    if (const std::optional<double> seconds = closed_form(c)) {
      line("by formula", detail::duration_text(*seconds), "what the schedule's closed form says");
    }
    line("messages", std::to_string(run.messages), "");
    if (c.order.size() > 1 && !c.order.is_identity()) {
      line("order", "",
           c.order.is_permutation() ? detail::order_text(c.order)
                                    : "position 0 is rank " + std::to_string(c.order.rank(0)));
    }
    text += "what the time consists of, on the critical path\n";
    for (const auto& [names, seconds] : parts_of(costs)) {
      if (!takes_time(seconds, run)) continue;
      const double percent = seconds / run.time() * 100;
      text += "  " + padded(detail::duration_text(seconds), 10, true) +
              padded(detail::decimal(percent, percent < 10 ? 1 : 0) + " %", 9, true) + "  " +
              std::string(names[0]) + "\n";
    }
    return text + steps(run);
  }

  std::optional<double> closed_form(const SimulatedCase& c) const {
    const AnySchedule played =
        c.schedule.resolved(c.shape.size, c.shape.count * c.shape.element_size);
    return closed_form_of(played, c.shape, call_.model(), call_.options());
  }

  /// More than sums of other terms may differ by.
  static bool takes_time(double seconds, const Simulated& run) {
    constexpr double part = 1e-9;
    return seconds > part * run.time();
  }

  /// The steps of the critical path that take time, their middle left out if they are many.
  std::string steps(const Simulated& run) const {
    std::vector<SimulatedStep> path;
    for (const SimulatedStep& s : run.critical_path) {
      if (takes_time(s.end - s.start, run)) path.push_back(s);
    }
    if (path.empty()) return "";
    constexpr std::size_t in_full = 16;
    constexpr std::size_t ends = 5;
    const double first = *std::min_element(run.arrivals.begin(), run.arrivals.end());
    const bool all = full_path_ || path.size() <= in_full;
    std::string text = "its " + std::to_string(path.size()) +
                       (path.size() == 1 ? " step, from" : " steps, from") +
                       " the first arrival on\n";
    for (std::size_t i = 0; i < path.size(); ++i) {
      if (!all && i == ends) {
        i = path.size() - ends;
        text += "           … " + std::to_string(path.size() - 2 * ends) +
                " more (--full-path shows them)\n";
      }
      const SimulatedStep& s = path[i];
      text += "  " + padded(detail::duration_text(s.start - first), 10, true) + "  for " +
              padded(detail::duration_text(s.end - s.start), 10, false) + "  " +
              detail::step_text(s) + "\n";
    }
    return text;
  }

  Json reported(const SimulatedCase& c, const Simulated& run) const {
    Json all{{"algorithm", c.name},
             {"collective", name_of(c.shape.collective)},
             {"ranks", c.shape.size},
             {"bytes", has_data(c.shape.collective) ? c.shape.count * c.shape.element_size : 0}};
    if (!c.chosen.empty()) all["chosen"] = c.chosen;
    if (!c.grid.empty()) all["grid"] = c.grid;
    if (is_rooted(c.shape.collective)) all["root"] = c.shape.root;
    all["time"] = run.time();
    all["tail"] = run.tail();
    if (const std::optional<double> seconds = closed_form(c)) all["closed_form"] = *seconds;
    all["messages"] = run.messages;
    all["arrivals"] = run.arrivals;
    all["exits"] = run.exits;
    return all;
  }

  static Json reported(const Simulated& run, const PathCosts& costs) {
    static constexpr std::array<std::string_view, 4> acts{"send", "receive", "reduce", "copy"};
    Json parts;
    for (const auto& [names, seconds] : parts_of(costs)) parts[std::string(names[1])] = seconds;
    Json steps = Json::array();
    for (const SimulatedStep& s : run.critical_path) {
      Json one{{"rank", s.rank},   {"act", acts[static_cast<std::size_t>(s.kind)]},
               {"block", s.block}, {"bytes", s.bytes},
               {"start", s.start}, {"end", s.end}};
      if (s.peer >= 0) one["peer"] = s.peer;
      steps.push_back(std::move(one));
    }
    return {{"parts", std::move(parts)}, {"steps", std::move(steps)}};
  }

  Catalogue catalogue_;
  CLI::App* command_ = nullptr;
  SimulatedCall call_;
  NodeCostsOption costs_;
  std::vector<std::string> names_;
  std::string name_;                 ///< the first of them
  std::vector<std::string> others_;  ///< and the others
  bool full_path_ = false;
  JsonOption json_;
};

}  // namespace

std::unique_ptr<Command> make_simulate(CLI::App& app, Catalogue catalogue) {
  auto command = std::make_unique<SimulateCommand>(catalogue);
  command->add_to(app);
  return command;
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
