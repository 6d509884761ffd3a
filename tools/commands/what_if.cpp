// SPDX-License-Identifier: BSD-3-Clause
// `papcoll what-if`: what calls whose arrivals were recorded would have taken by other algorithms.

#include <papcoll/base/collective.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/pattern/trace.hpp>
#include <papcoll/report/read.hpp>
#include <papcoll/report/report.hpp>
#include <papcoll/report/symbols.hpp>
#include <papcoll/simulate/quantity_text.hpp>
#include <papcoll/simulate/simulated_text.hpp>
#include <papcoll/simulate/virtual_node.hpp>
#include <papcoll/statistics/median.hpp>
#include <papcoll/tools/command.hpp>
#include <papcoll/tools/common.hpp>
#include <papcoll/tools/files/model_file.hpp>
#include <papcoll/tools/files/output_file.hpp>
#include <papcoll/tools/files/topology_file.hpp>
#include <papcoll/tools/options/json_option.hpp>
#include <papcoll/tools/options/named_schedule.hpp>
#include <papcoll/tools/options/node_costs_option.hpp>
#include <papcoll/tools/recordings/arrivals_file.hpp>
#include <papcoll/tools/recordings/recorded_places.hpp>
#include <papcoll/tools/recordings/replay.hpp>
#include <papcoll/tools/recordings/what_if_text.hpp>
#include <papcoll/what_if/answer.hpp>
#include <papcoll/what_if/recorded.hpp>
#include <papcoll/what_if/simulated.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {
namespace {

/// The command's options, and what follows from them.
class WhatIfCommand final : public Command {
 public:
  explicit WhatIfCommand(Catalogue catalogue) : catalogue_(catalogue) {}

  void add_to(CLI::App& app) {
    command_ = app.add_subcommand(
        "what-if", "What calls of recorded arrivals would have taken by other algorithms");
    auto* const traces = command_
                             ->add_option("DIR", traces_,
                                          "What papcoll-profile recorded: asks of its dearest\n"
                                          "places, or of one by --call-site")
                             ->check(not_empty())
                             ->type_name("DIR");
    command_
        ->add_option("--call-site", place_,
                     "A part of what papcoll report calls a place, as solver.c:88")
        ->needs(traces)
        ->check(not_empty());
    command_
        ->add_option("--arrival", arrival_,
                     "Without DIR: when ranks arrived; in the file, a line a call, a column a\n"
                     "rank, seconds")
        ->excludes(traces)
        ->check(not_empty())
        ->type_name("trace:FILE");
    command_
        ->add_option("--durations", durations_,
                     "How long they were in the call: a file like it; then it says what is saved")
        ->excludes(traces)
        ->check(not_empty())
        ->type_name("FILE");
    command_->add_option("--collective", collective_, "Of --arrival: allreduce, bcast, …")
        ->excludes(traces)
        ->check(not_empty());
    bytes_option_ = command_
                        ->add_option("--bytes", bytes_,
                                     "Of --arrival, but for barrier. Of the call, as it counts:\n"
                                     "8, 64k, 4M; of a block for allgather, gather, scatter,\n"
                                     "alltoall and reduce_scatter")
                        ->excludes(traces)
                        ->transform(as_bytes());
    root_option_ = command_->add_option("--root", root_, "Of bcast, reduce, gather and scatter")
                       ->excludes(traces)
                       ->transform(rank_number())
                       ->capture_default_str();
    command_
        ->add_option("--link-costs", topology_,
                     "A JSON file that says which ranks are on a node, as for `papcoll simulate`\n"
                     "(default: all are on one)")
        ->check(not_empty())
        ->type_name("FILE");
    command_
        ->add_option("--model", model_,
                     "Of static schedules: what messages cost, as for `papcoll simulate`")
        ->check(not_empty())
        ->type_name("FILE");
    costs_.add_to(*command_);
    auto* const simulate = command_->add_flag("--simulate", simulate_, "In virtual time");
    command_
        ->add_flag("--replay", replay_,
                   "On this machine, by papcoll-bench (the default where it has a processor for\n"
                   "each rank)")
        ->excludes(simulate);
    command_->add_option("--launcher", launcher_, "What starts papcoll-bench, with options")
        ->capture_default_str()
        ->check(not_empty())
        ->type_name("COMMAND");
    command_
        ->add_option("--calls", most_calls_,
                     "Of a longer trace, so many calls are simulated, in stretches")
        ->transform(whole(1, std::uint64_t{1} << 32U))
        ->capture_default_str();
    command_->add_flag("--all", all_, "All algorithms, not only the best");
    json_.add_to(*command_, "an object; of DIR an array, an object for each place");
    command_->footer(examples(
        {"what-if papcoll-profile --simulate",
         "what-if --arrival trace:arrivals.txt --collective allreduce --bytes 4k --simulate"}));
  }

  /// The exit status; throws argument_error and system_error.
  int run() override {
    if (!traces_.empty()) return run_places();
    constexpr std::string_view form = "trace:";
    if (arrival_.size() <= form.size() || !arrival_.starts_with(form)) {
      throw argument_error(
          "papcoll: name what papcoll-profile recorded, DIR, or --arrival trace:FILE");
    }
    trace_ = arrival_.substr(form.size());
    if (collective_.empty()) throw argument_error("papcoll: --collective is required");
    const what_if::Recorded recorded = read_record();
    const what_if::Answer answer = find(recorded);
    if (json_.write([&] { return what_if_json(recorded, answer); })) return all_well;
    print(what_if_text(recorded, answer, all_ ? answer.outcomes.size() : 12));
    if (!answer.replayed && !costs_text_.empty()) print(costs_text_ + "\n");
    return all_well;
  }

 private:
  /// What each of several places would have taken, and where another algorithm saves most.
  int run_places() {
    report::Run traces = report::read_run(traces_);
    report::symbolise(traces);
    const report::Report r = report::report_of(std::move(traces));
    constexpr std::size_t most_places = 5;
    const std::vector<std::uint32_t> places =
        place_.empty() ? dearest_places(r, most_places)
                       : std::vector<std::uint32_t>{place_named(r, place_, "--call-site")};
    basis_.most_calls = most_calls_;
    if (!model_.empty()) basis_.messages = read_model(model_);
    if (!topology_.empty())
      throw argument_error("papcoll: --link-costs: the traces have their own");
    Json all = Json::array();
    std::string text;
    std::string best;
    double most = 0;
    for (const std::uint32_t place : places) {
      const std::string name = report::place_text(r.run, place);
      text += (text.empty() ? "" : "\n") + name + ": ";
      try {
        const what_if::Recorded recorded = recorded_at(r, place);
        recorded.require_sense();
        const what_if::Answer answer = find(recorded);
        text += what_if_text(recorded, answer, all_ ? answer.outcomes.size() : few);
        Json one = what_if_json(recorded, answer);
        one["place"] = name;
        all.push_back(std::move(one));
        const auto calls = static_cast<double>(recorded.arrivals.calls());
        const double saved = answer.best().saved * calls;
        if (saved <= most) continue;
        most = saved;
        best = answer.best().name + " at " + name +
               " would have saved most: " + detail::duration_text(saved) + " of " +
               detail::duration_text(answer.recorded_in_call * calls) +
               " that each rank was in these calls";
      } catch (const argument_error& e) {
        if (!place_.empty()) throw;
        text += std::string(e.what()) + "\n";
      }
    }
    if (places.empty()) text = "no call was recorded that several ranks made\n";
    if (json_.write([&] { return all; })) return all_well;
    print(text);
    if (!costs_text_.empty()) print("\n" + costs_text_ + "\n");
    if (places.size() > 1) {
      print(best.empty() ? "\nNo other algorithm would have saved time\n" : "\n" + best + "\n");
    }
    return all_well;
  }

  what_if::Recorded read_record() {
    what_if::Recorded recorded;
    recorded.arrivals = read_trace(trace_);
    constexpr std::size_t most_ranks = 1U << 14U;
    if (recorded.arrivals.ranks > most_ranks) {
      throw argument_error("papcoll: " + trace_ + ": more than " + std::to_string(most_ranks) +
                           " ranks are too many");
    }
    if (!durations_.empty()) {
      const pattern::Trace durations = read_trace(durations_);
      if (durations.ranks != recorded.arrivals.ranks ||
          durations.calls() != recorded.arrivals.calls()) {
        throw argument_error("papcoll: " + durations_ + ": it has " +
                             std::to_string(durations.calls()) + " lines of " +
                             std::to_string(durations.ranks) + " times, and " + trace_ + " " +
                             std::to_string(recorded.arrivals.calls()) + " of " +
                             std::to_string(recorded.arrivals.ranks));
      }
      recorded.durations = durations.seconds;
    }
    Shape& shape = recorded.shape;
    shape.collective = collective_meant(
        "papcoll", [](Collective) { return true; }, collective_);
    const bool has_data = papcoll::has_data(shape.collective);
    if (has_data && bytes_option_->count() == 0) {
      throw argument_error(
          "papcoll: --bytes is required: write how large the call is, as --bytes 64k");
    }
    if (!has_data && bytes_option_->count() > 0) {
      throw argument_error("papcoll: --bytes: a barrier moves no data");
    }
    shape.size = static_cast<int>(recorded.arrivals.ranks);
    require_root(shape.collective, root_, root_option_->count() > 0, shape.size);
    set_bytes(shape, bytes_);
    shape.root = root_;
    if (!model_.empty()) basis_.messages = read_model(model_);
    if (!topology_.empty()) {
      basis_.links = read_topology(topology_, shape.size, basis_.messages);
      recorded.nodes = read_nodes(topology_, shape.size);
    }
    basis_.most_calls = most_calls_;
    recorded.require_sense();
    return recorded;
  }

  static pattern::Trace read_trace(const std::string& file) {
    const std::string text = read_text(file, "trace");
    try {
      return pattern::parse_trace(text);
    } catch (const pattern::trace_error& e) {
      throw argument_error("papcoll: " + file + ": " + e.what());
    }
  }

  what_if::Answer find(const what_if::Recorded& recorded) {
    what_if::Answer answer = found(recorded);
    if (recorded.left_out > 0) {
      answer.remarks.push_back(
          "left out: " + std::to_string(recorded.left_out) +
          " other calls at this place: of another size, root or communicator, non-blocking, or "
          "without records of all ranks");
    }
    answer.remarks.emplace_back(
        "left out: how ranks that leave earlier would come to what follows");
    if (answer.knows_durations && recorded.clocks > answer.recorded_in_call / 2) {
      answer.remarks.push_back("clocks are compared up to " +
                               detail::duration_text(recorded.clocks) + " only, and ranks were " +
                               detail::duration_text(answer.recorded_in_call) +
                               " in the call: who waited for whom is not known, and so none of "
                               "this is");
    }
    return answer;
  }

  what_if::Answer found(const what_if::Recorded& recorded) {
    std::string why_simulated;
    if (!simulate_) {
      const Replay replay{launcher_};
      const std::string why_not = replay.why_not(recorded);
      if (why_not.empty()) {
        what_if::Answer answer = replay.run(recorded, catalogue_, seconds_each);
        compare_with_record(recorded, answer);
        return answer;
      }
      if (replay_) throw argument_error("papcoll: --replay: " + why_not + ": write --simulate");
      why_simulated = "it is not replayed here: " + why_not;
    }
    if (traces_.empty() && topology_.empty() && recorded.arrivals.ranks > VirtualNode::most_ranks) {
      throw argument_error("papcoll: " + std::to_string(recorded.arrivals.ranks) +
                           " ranks on one node are simulated to " +
                           std::to_string(VirtualNode::most_ranks) +
                           " at most: write --link-costs, which says which ranks are on a node");
    }
    basis_.node = costs_.costs();
    costs_text_ = costs_.about(basis_.node);
    what_if::Answer answer = what_if::simulated_answer(recorded, basis_, catalogue_);
    if (!why_simulated.empty()) answer.remarks.push_back(why_simulated);
    if (model_.empty()) {
      answer.remarks.emplace_back(
          "static schedules pass messages of the default model, and not this machine's: see "
          "--model");
    }
    return answer;
  }

  /// Of all calls that were recorded, since all are replayed: medians, as of the replay.
  static void compare_with_record(const what_if::Recorded& recorded, what_if::Answer& answer) {
    if (recorded.durations.empty()) return;
    answer.knows_durations = true;
    std::vector<double> in_call;
    std::vector<double> tails;
    const std::size_t ranks = recorded.arrivals.ranks;
    for (std::size_t call = 0; call < recorded.arrivals.calls(); ++call) {
      const auto arrivals = recorded.arrivals.recorded(call);
      double last_exit = arrivals[0] + recorded.durations[call * ranks];
      double sum = 0;
      for (std::size_t r = 0; r < ranks; ++r) {
        last_exit = std::max(last_exit, arrivals[r] + recorded.durations[call * ranks + r]);
        sum += recorded.durations[call * ranks + r];
      }
      in_call.push_back(sum / static_cast<double>(ranks));
      tails.push_back(last_exit - *std::max_element(arrivals.begin(), arrivals.end()));
    }
    answer.recorded_in_call = median(std::move(in_call));
    answer.recorded_tail = median(std::move(tails));
    for (what_if::Outcome& o : answer.outcomes) o.saved = answer.recorded_in_call - o.in_call;
  }

  /// Seconds for each algorithm in a replay.
  static constexpr double seconds_each = 0.5;
  /// Algorithms that are shown of each of several places.
  static constexpr std::size_t few = 4;

  Catalogue catalogue_;
  CLI::Option* bytes_option_ = nullptr;
  CLI::Option* root_option_ = nullptr;
  std::string traces_;
  std::string place_;
  std::string arrival_;
  std::string trace_;  ///< the file that it names
  std::string durations_;
  std::string collective_;
  std::size_t bytes_ = 0;
  int root_ = 0;
  std::string topology_;
  std::string model_;
  NodeCostsOption costs_;
  bool simulate_ = false;
  bool replay_ = false;
  std::string launcher_ = "mpirun";
  std::size_t most_calls_ = what_if::Basis{}.most_calls;
  bool all_ = false;
  JsonOption json_;
  what_if::Basis basis_;
  std::string costs_text_;
};

}  // namespace

std::unique_ptr<Command> make_what_if(CLI::App& app, Catalogue catalogue) {
  return made<WhatIfCommand>(app, catalogue);
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
