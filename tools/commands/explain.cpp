// SPDX-License-Identifier: BSD-3-Clause
// `papcoll explain`: what a call would run, and why, or why not, by the code that
// answers papcoll::explain(comm, …) in a program. It needs no MPI.

#include <papcoll/base/text.hpp>
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/choice/names/explain_choice.hpp>
#include <papcoll/choice/selection/choose.hpp>
#include <papcoll/choice/selection/learned_file.hpp>
#include <papcoll/choice/selection/learner.hpp>
#include <papcoll/choice/selection/selection_file.hpp>
#include <papcoll/choice/selection/selection_state.hpp>
#include <papcoll/core.hpp>
#include <papcoll/gpu/on_device.hpp>
#include <papcoll/runtime/setup/selection_texts.hpp>
#include <papcoll/tools/command.hpp>
#include <papcoll/tools/common.hpp>
#include <papcoll/tools/device_rows.hpp>
#include <papcoll/tools/options/json_option.hpp>
#include <papcoll/tools/options/named_schedule.hpp>
#include <papcoll/tools/options/written.hpp>
#include <papcoll/topology/processor_set.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
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
class ExplainCommand final : public Command {
 public:
  explicit ExplainCommand(Catalogue catalogue) : catalogue_(catalogue) {}

  void add_to(CLI::App& app) {
    command_ = app.add_subcommand("explain", "What a call would run, and why, without running it");
    command_
        ->add_option("COLLECTIVE,--collective", collective_,
                     "allreduce, reduce, bcast, …; also allgatherv, gatherv, scatterv, alltoallv")
        ->required();
    command_
        ->add_option("--algorithm", algorithm_,
                     "That the call names: what it requires, and whether it can run it")
        ->check(not_empty())
        ->type_name("NAME");
    constexpr int most_ranks = (1 << 20) - 1;
    command_->add_option("--ranks", ranks_, "Ranks of the communicator")
        ->required()
        ->transform(whole(1, most_ranks));
    command_->add_option("--nodes", nodes_, "Nodes that they are on")
        ->transform(whole(1, most_ranks))
        ->capture_default_str();
    bytes_option_ =
        command_
            ->add_option("--bytes", bytes_,
                         "REQUIRED but for barrier. Of the call, as it counts: 8, 64k,\n"
                         "4M; of a block for allgather, gather, scatter, alltoall and\n"
                         "reduce_scatter; in the mean, where blocks differ")
            ->transform(as_bytes());
    command_->add_option("--type", type_, "double, float, int32, int64 or uint8")
        ->capture_default_str();
    command_
        ->add_option("--op", op_, "A built-in operator, or other: one that is not known to commute")
        ->capture_default_str();
    command_
        ->add_option(
            "--buffers", buffers_,
            "Where they lie: private, arena, registered, or device: in memory of GPUs, for\n"
            "papcoll::gpu")
        ->check(CLI::IsMember({"private", "arena", "registered", "device"}))
        ->capture_default_str();
    auto* const oversubscribed = command_->add_flag(
        "--oversubscribed", oversubscribed_, "There are more ranks than processors on a node");
    auto* const wait = command_->add_option(
        "--mean-wait", wait_,
        "How long a rank waits for the last one, in the mean, as 20us; 0us: balanced\n"
        "(the default)");
    wait->transform(as_duration())->check(CLI::Range(0.0, 1e6));
    auto* const contract = command_->add_option("--contract", contract_, contract_choices());
    contract->capture_default_str();
    command_->add_flag("--nonblocking", non_blocking_, "iallreduce, …");
    auto* const tuning = command_->add_option(
        "--tuning", tuning_,
        "A selection file (default: the one that PAPCOLL_TUNING names, if any)");
    tuning->check(not_empty());
    on_host_ = {oversubscribed, wait, contract, tuning, command_->get_option("--algorithm")};
    json_.add_to(*command_, "an object");
    command_->footer(examples({"explain allreduce --ranks 4 --bytes 64k",
                               "explain alltoallv --ranks 64 --nodes 4 --bytes 1k --algorithm "
                               "Bruck --json"}));
  }

  bool is_given() const override { return command_->parsed(); }

  /// The exit status; throws argument_error and system_error.
  int run() override {
    CallTraits traits;
    const Collective collective = read_collective(traits.irregular);
    traits.element_size = type_sizes[place_of(type_, type_names, "--type")];
    traits.commutative = place_of(op_, op_names, "--op") + 1 < op_names.size();
    traits.non_blocking = non_blocking_;
    traits.contract =
        static_cast<NumericalContract>(place_of(contract_, contract_names, "--contract"));
    require_sense(collective, traits.element_size);
    ParsedName named;
    if (!algorithm_.empty()) {
      named = algorithm_named(algorithm_, catalogue_);
      traits.algorithm = algorithm(algorithm_, catalogue_);
    }
    if (buffers_ == "device") return show_on_device(collective, traits.commutative);
    const Call call = detail::described_call(collective, bytes_, traits);
    Options options;
    options.tuning_file = tuning_;
    const std::string files = detail::read_selection_files(options);
    detail::KeptChoices kept;
    const SelectionFile tuning =
        files.empty() ? SelectionFile{} : kept.take(detail::SelectionTexts{files});
    TeamFacts team = facts(tuning, named.transport == transport(false).name);
    team.inputs.must_pass_messages |= static_cast<bool>(named.order);
    CallLearner learner;
    if (!kept.calls.empty()) take_learned(kept, call, learner, team.inputs);
    Explanation e = detail::explain_choice(team, call, traits);
    e.kept = kept.note;
    show({collective, non_blocking_, traits.irregular}, call, e);
    return all_well;
  }

 private:
  static constexpr auto collective_names = [] {
    std::array<std::string_view, collective_count> names{};
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = name_of(static_cast<Collective>(i));
    return names;
  }();
  static constexpr std::array<std::string_view, 5> type_names{"double", "float", "int32", "int64",
                                                              "uint8"};
  static constexpr std::array<std::size_t, 5> type_sizes{8, 4, 4, 8, 1};
  /// All but the last commute.
  static constexpr std::array<std::string_view, 15> op_names{
      "sum",        "prod",        "min",    "max",     "min_number",
      "max_number", "bit_and",     "bit_or", "bit_xor", "logical_and",
      "logical_or", "logical_xor", "minloc", "maxloc",  "other"};

  /// Without the MPI_ before it, what MPI calls a type or operator that has another name here.
  static constexpr std::pair<std::string_view, std::string_view> mpi_names[] = {
      {"int", "int32"},       {"int32_t", "int32"}, {"long", "int64"},       {"int64_t", "int64"},
      {"long_long", "int64"}, {"byte", "uint8"},    {"uint8_t", "uint8"},    {"band", "bit_and"},
      {"bor", "bit_or"},      {"bxor", "bit_xor"},  {"land", "logical_and"}, {"lor", "logical_or"},
      {"lxor", "logical_xor"}};

  static constexpr auto contract_names = [] {
    std::array<std::string_view, contracts.size()> names;
    std::transform(contracts.begin(), contracts.end(), names.begin(),
                   [](const ContractTraits& c) { return c.name; });
    return names;
  }();

  /// `irregular`: it is that of blocks that differ.
  Collective read_collective(bool& irregular) const {
    std::string name = plain_name(collective_);
    for (const Collective c :
         {Collective::allgather, Collective::gather, Collective::scatter, Collective::alltoall}) {
      irregular = name == std::string(name_of(c)) + "v";
      if (irregular) return c;
    }
    return static_cast<Collective>(place_of(collective_, collective_names, "collective"));
  }

  template <std::size_t N>
  static std::size_t place_of(const std::string& written,
                              const std::array<std::string_view, N>& names, const char* what) {
    std::string plain = plain_name(written);
    for (const auto& [by_mpi, name] : mpi_names) {
      if (plain == by_mpi) plain = name;
    }
    const auto at = std::find_if(names.begin(), names.end(), [&plain](std::string_view name) {
      return plain_name(name) == plain;
    });
    if (at != names.end()) return static_cast<std::size_t>(at - names.begin());
    throw argument_error("papcoll: " + std::string(what) + ": there is no " + written + ": " +
                         detail::similar_names(plain, {names.begin(), names.end()}));
  }

  void require_sense(Collective collective, std::size_t element_size) const {
    const auto refuse = [](const std::string& why) { throw argument_error("papcoll: " + why); };
    const bool has_data = papcoll::has_data(collective);
    if (has_data && bytes_option_->count() == 0)
      refuse("--bytes is required: write how large the call is, as --bytes 64k");
    if (!has_data && bytes_ != 0) refuse("--bytes: a barrier moves no data");
    if (bytes_ % element_size != 0) {
      refuse("--bytes: " + std::to_string(bytes_) + " bytes are no whole number of " + type_);
    }
    if (nodes_ > ranks_) {
      refuse("--nodes " + std::to_string(nodes_) + ": there are " + std::to_string(ranks_) +
             " ranks");
    }
  }

  /// A transport as choices see it: none is connected here.
  static const TransportTable& transport(bool one_node) {
    static constexpr TransportTable messages{transport_names[0].name, transport_names[0].offers,
                                             false, nullptr, nullptr};
    static constexpr TransportTable memory{
        transport_names[1].name,       transport_names[1].offers, true, nullptr, nullptr, nullptr,
        ContextType::of<NodeContext>()};
    static_assert(messages.name == "MpiTransport" && memory.name == "ShmTransport");
    return one_node ? memory : messages;
  }

  /// `by_messages`: the call names a transport that passes them.
  TeamFacts facts(const SelectionFile& tuning, bool by_messages) const {
    const bool one_node = nodes_ == 1;
    TeamFacts f;
    f.transport = &transport(one_node && !by_messages);
    f.on_one_node = one_node;
    if (!one_node) f.why_no_shared_memory = "the ranks are on " + std::to_string(nodes_) + " nodes";
    f.memory = one_node ? std::string("shared by all ranks; buffers are ") +
                              (in_arena() ? "in the arena" : "private")
                        : "messages: " + f.why_no_shared_memory;
    SelectionInputs& inputs = f.inputs;
    inputs.size = ranks_;
    inputs.oversubscribed = oversubscribed_;
    inputs.processors = std::max(ranks_ / 4, 1);  // where they share them
    inputs.grouped = nodes_ > 1 && nodes_ < ranks_;
    inputs.nodes = nodes_;
    inputs.largest_node = (ranks_ + nodes_ - 1) / nodes_;
    inputs.must_pass_messages = non_blocking_;
    inputs.between_nodes = !one_node && !inputs.grouped;
    inputs.chunk_bytes = Options{}.chunk_bytes;
    inputs.imbalance.waiting = static_cast<std::uint64_t>(std::llround(wait_ * 1e9));
    inputs.imbalance.in_arena = in_arena();
    inputs.thresholds = &tuning.thresholds;
    if (!tuning.rules.empty()) inputs.rules = &tuning.rules;
    inputs.ranks_per_node = inputs.largest_node;
    return f;
  }

  /// Takes into account what is known of such calls: of a team on the processors of this process,
  /// as a program that is started here would be.
  void take_learned(detail::KeptChoices& kept, const Call& call, CallLearner& learner,
                    SelectionInputs& inputs) const {
    const auto size = [](int n) { return static_cast<std::size_t>(n); };
    const int here = ProcessorSet::of_this_thread().count();
    if ((inputs.largest_node > here) != oversubscribed_) {
      return kept.say({"but none counts, since ", inputs.largest_node, " ranks on a node",
                       (oversubscribed_ ? " do not share" : " share"), " the ", here,
                       " processors here: ", (oversubscribed_ ? "leave out" : "add"),
                       " --oversubscribed"});
    }
    const TeamLikeness like{size(inputs.size), size(inputs.largest_node), size(here)};
    const CallKind::Bits kind = detail::kept_kind(call, nodes_ == 1, non_blocking_);
    const Chooser& chooser = detail::chooser_of(call.collective);
    for (const LearnedCall& c : kept.calls) {
      inputs.pulls = inputs.pulls || (c.team == like && detail::kept_algorithms[c.best].find(
                                                            "kernel") != std::string_view::npos);
    }
    const std::uint32_t before = learner.changes();
    kept.teach(learner, like, kind, call, detail::names_of(chooser, kind));
    const PeerCosts* const costs = kept.costs_of(like);
    if (costs != nullptr && nodes_ == 1 && call.by_conditions()) inputs.costs = costs;
    inputs.learner = &learner;
    if (learner.changes() == before) {
      kept.say({"but none is of such calls of ", inputs.size, " ranks, ", inputs.largest_node,
                " on a node, on ", here, " processors"});
    }
  }

  /// Returns true if peers can read the buffers in place.
  bool in_arena() const { return buffers_ == "arena" || buffers_ == "registered"; }

  int show_on_device(Collective collective, bool commutative) const {
    for (const CLI::Option* const given : on_host_) {
      if (given->count() == 0) continue;
      throw argument_error("papcoll: --buffers device: leave " + given->get_name() + " out");
    }
    const DeviceChoice choice = choose_on_device(collective, commutative, bytes_);
    if (choice.algorithm.empty()) {
      throw argument_error("papcoll: papcoll::gpu has no " + std::string(name_of(collective)) +
                           ": leave --buffers device out");
    }
    const std::string algorithm = std::string(choice.algorithm) + "+CudaIpcTransport";
    const std::string memory =
        "of GPUs: messages are pulled from it" +
        std::string(nodes_ > 1 ? "; between nodes they go through the host" : "");
    const bool written = json_.write([&] {
      return Json{{"collective", name_of(collective)},
                  {"ranks", ranks_},
                  {"nodes", nodes_},
                  {"bytes", bytes_},
                  {"algorithm", algorithm},
                  {"reason", choice.reason},
                  {"memory", memory}};
    });
    if (written) return all_well;
    std::string text = algorithm + "\n  because    " + std::string(choice.reason) +
                       "\n  memory     " + memory + "\n";
    for (const CatalogueRow& row : device_rows) {
      if (row.serves(collective)) {
        text += "  by name    " + std::string(row.name) + ": " + std::string(row.sentence) + "\n";
      }
    }
    print(text);
    return all_well;
  }

  void show(CallLabel label, const Call& call, const Explanation& e) const {
    const bool written = json_.write([&] {
      return Json{{"collective", label.name()},
                  {"ranks", ranks_},
                  {"nodes", nodes_},
                  {"bytes", call.bytes()},
                  {"algorithm", e.algorithm},
                  {"reason", e.reason},
                  {"refusal", e.refusal},
                  {"required", e.required},
                  {"mean_wait_us", static_cast<double>(e.imbalance.waiting) / 1000},
                  {"imbalanced_above_us", static_cast<double>(e.imbalanced_from) / 1000},
                  {"memory", e.memory},
                  {"kept", e.kept},
                  {"refused", e.refused}};
    });
    if (!written) print(e.text());
  }

  Catalogue catalogue_;
  CLI::App* command_ = nullptr;
  CLI::Option* bytes_option_ = nullptr;
  std::string collective_;
  std::string algorithm_;
  int ranks_ = 1;
  int nodes_ = 1;
  std::size_t bytes_ = 0;
  std::string type_ = "double";
  std::string op_ = "sum";
  std::string buffers_ = "private";
  std::vector<const CLI::Option*> on_host_;  ///< what means nothing of buffers of GPUs
  bool oversubscribed_ = false;
  double wait_ = 0;  ///< in seconds
  std::string contract_ = "RankConsistent";
  bool non_blocking_ = false;
  std::string tuning_;
  JsonOption json_;
};

}  // namespace

std::unique_ptr<Command> make_explain(CLI::App& app, Catalogue catalogue) {
  auto command = std::make_unique<ExplainCommand>(catalogue);
  command->add_to(app);
  return command;
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
