// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include "option_kinds.hpp"
#include "timing/quantities.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <papcoll/pattern/generators.hpp>
#include <papcoll/tools/options/misspelt.hpp>
#include <papcoll/tools/options/whole_number.hpp>
#include <papcoll/tools/options/written.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {
namespace {

/// What may be measured instead of a collective.
enum class MeasuredThing { tuning, model, links, node_costs };

using papcoll::tool::no_option;
using papcoll::tool::whole;

constexpr std::array<std::string_view, 2> delay_names{"busy", "sleep"};
constexpr std::array<std::string_view, 2> start_names{"barrier", "clock"};
/// What --measure takes, in the order of MeasuredThing.
constexpr std::array<std::string_view, 4> measured_names{"tuning", "model", "links", "node-costs"};

/// A collective, or its form whose blocks differ in length.
struct Form {
  std::string name;
  Collective collective;
  bool irregular;
};

const std::vector<Form>& forms() {
  static const std::vector<Form> all = [] {
    std::vector<Form> found;
    for (const bool irregular : {false, true}) {
      for (std::size_t i = 0; i < papcoll::collective_count; ++i) {
        const auto c = static_cast<Collective>(i);
        if (!irregular || has_irregular_form(c))
          found.push_back({name_of_form(c, irregular), c, irregular});
      }
    }
    return found;
  }();
  return all;
}

CLI::Option* add_form(CLI::App& app, Options& options) {
  const auto listed = [](const char* separator) {
    std::vector<std::string> names;
    for (const Form& form : forms()) names.push_back(form.name);
    return fmt::format("{}", fmt::join(names, separator));
  };
  const auto assign = [&options, listed](const std::string& text) {
    const std::string plain = papcoll::tool::plain_name(text);
    const auto at = std::find_if(forms().begin(), forms().end(),
                                 [&](const Form& form) { return form.name == plain; });
    if (at == forms().end()) {
      throw CLI::ValidationError("COLLECTIVE",
                                 fmt::format("'{}' is none of {}", text, listed(", ")));
    }
    options.collective = at->collective;
    options.irregular = at->irregular;
  };
  return app.add_option_function<std::string>("COLLECTIVE,--collective", assign, "What to time")
      ->type_name(listed("|"));
}

/// One size, of which papcoll says if it will do.
std::size_t parse_chunk(const std::string& text) {
  const std::vector<std::size_t> sizes = parse_sizes(text);
  if (sizes.size() != 1) throw std::invalid_argument(fmt::format("'{}' is not one size", text));
  const papcoll::Options wanted{.chunk_bytes = sizes.front()};
  if (const std::string problem = wanted.problem(); !problem.empty()) {
    throw std::invalid_argument(problem);
  }
  return sizes.front();
}

/// Options that say where elements lie.
void check_layout(const Options& options) {
  const auto fail = [](const std::string& text) { throw CLI::ValidationError(text); };
  const std::string name = name_of_form(options.collective, options.irregular);
  const bool packs = std::find(options.algorithms.begin(), options.algorithms.end(),
                               packed_native) != options.algorithms.end();
  if (!options.layout.is_noncontiguous()) {
    if (packs)
      fail(fmt::format("{} packs what is not contiguous: it needs --layout", packed_native));
    return;
  }
  if (options.irregular || !papcoll::has_data(options.collective)) {
    fail(fmt::format("--layout: {} has none", name));
  }
  for (const std::size_t size : options.sizes) {
    const std::size_t elements = size / size_of(options.type);
    if (elements % options.layout.block == 0) continue;
    fail(fmt::format("--bytes: {} bytes are no whole number of blocks of {} {}s", size,
                     options.layout.block, name_of(options.type)));
  }
}

/// What CLI11 cannot know: options that need or exclude each other.
void check_together(Options& options, bool sizes_given) {
  const auto fail = [](const std::string& text) { throw CLI::ValidationError(text); };
  if (!papcoll::has_data(options.collective)) {
    if (sizes_given) fail("--bytes: a barrier moves no data");
    options.sizes = {0};
  }
  if (papcoll::has_one_buffer(options.collective)) options.in_place = true;
  if (options.in_place && !papcoll::has_data(options.collective)) {
    fail("--in-place: a barrier has no buffers");
  }

  const std::size_t element = size_of(options.type);
  for (const std::size_t size : options.sizes) {
    if (size % element != 0) {
      fail(fmt::format("--bytes: {} bytes are no whole number of {}", size, name_of(options.type)));
    }
  }
  check_layout(options);

  if (options.is_trace()) {
    if (options.trace_file().empty()) fail("--arrival: write trace:FILE");
  } else {
    try {
      papcoll::pattern::shape_named(options.arrival);
    } catch (const papcoll::argument_error& error) {
      fail(fmt::format("--arrival: {}, or trace:FILE", error.what()));
    }
    const bool has_spread = options.mif || options.spread;
    if (options.is_balanced() && has_spread)
      fail("balanced arrivals have neither --mif nor --spread");
    if (!options.is_balanced() && !has_spread) {
      fail(fmt::format("--arrival {} needs --mif or --spread", options.arrival));
    }
  }
}

/// Beside each of papcoll's own, the same made persistent.
void add_persistent(std::vector<std::string>& algorithms) {
  std::vector<std::string> all;
  for (const std::string& name : algorithms) {
    all.push_back(name);
    if (!is_native(name)) all.push_back(std::string(persistent_prefix) + name);
  }
  algorithms = std::move(all);
}

/// The file of -o is that of what is measured.
void take_file(Options& options, MeasuredThing measured) {
  std::string file = std::exchange(options.output, {});
  switch (measured) {
    case MeasuredThing::tuning: options.tune = std::move(file); break;
    case MeasuredThing::model: options.fit = std::move(file); break;
    case MeasuredThing::links:
      options.measures_links = true;
      options.links = std::move(file);
      break;
    case MeasuredThing::node_costs: options.node_costs = std::move(file); break;
  }
}

}  // namespace

std::variant<Options, EarlyExit> parse_options(int argc, char** argv) {
  Options options;
  options.sizes = parse_sizes("8:1M");
  CLI::App app{"Times collectives under balanced and imbalanced arrival of the ranks.",
               "papcoll-bench"};
  app.footer(
      "Run it with mpirun. Sizes are count × element as the MPI function counts: the block of a "
      "rank\n"
      "for allgather, reduce_scatter, gather, scatter and alltoall, and the mean of the blocks "
      "where\n"
      "they differ. benchmarks/README.md explains the columns.\n\n"
      "Examples:\n"
      "  mpirun -n 2 papcoll-bench allreduce --bytes 8,64k --time-limit 100ms\n"
      "  mpirun -n 2 papcoll-bench --measure node-costs -o node.json");

  auto* collective = add_form(app, options);
  app.add_option(
         "--algorithm", options.algorithms,
         "Candidates: mpi (the native one), mpi:packed (with --layout: it, between copies),\n"
         "auto (a call without policies) or a name that `papcoll list` shows; repeatable\n"
         "(default: mpi auto)")
      ->type_name("NAME");
  auto* sizes = add_quantity(app, "--bytes", options.sizes, parse_sizes, "SIZES",
                             "Bytes: 8, 64k, 8:64M (doubling), and lists of these by commas "
                             "(default 8:1M)");
  auto* counts =
      add_choice(app, "--counts", options.counts, counts_names,
                 "Of alltoallv, allgatherv, gatherv and scatterv: how blocks, whose mean is the\n"
                 "size, differ in length (default power-law; which block has which: by --seed)");
  auto* gap =
      app.add_option("--gap", options.gap,
                     "Elements between the blocks of these, which nobody writes (default 0)")
          ->transform(whole(0, std::uint64_t{1} << 32U));
  add_quantity(app, "--layout", options.layout, parse_layout, "LAYOUT",
               "Non-contiguous elements: strided:BLOCK:STRIDE, in elements, or column and\n"
               "column:COLUMNS, one column of a matrix that has 64 or so many")
      ->each([&options](const std::string& text) { options.layout_text = text; });
  app.add_option("--arrival", options.arrival,
                 "balanced, uniform, normal, one-late, one-early, ascending, descending, "
                 "two-groups, same-late\n"
                 "or trace:FILE (a line a call, a column a rank, seconds)")
      ->type_name("PATTERN");
  auto* mif = app.add_option("--mif", options.mif,
                             "Spread of the arrivals in one-way times of a message of the size")
                  ->check(CLI::Range(0.0, 1e12));
  add_quantity(app, "--spread", options.spread, parse_duration, "DURATION",
               "Spread of the arrivals: 100us, 2ms …")
      ->excludes(mif);
  add_choice(app, "--delay", options.delay, delay_names,
             "How a rank spends the time before it arrives");
  add_choice(app, "--start", options.start, start_names,
             "barrier: delays count from each rank's exit of papcoll's barrier; clock: from one\n"
             "instant that the ranks agree on, for less skew");
  add_choice(app, "--type", options.type, type_names, "Element type");
  add_choice(app, "--op", options.op, op_names, "Operator of the reductions");
  app.add_option("--root", options.root, "Root of the rooted collectives")
      ->transform(papcoll::tool::rank_number());
  app.add_flag("--persistent", options.persistent,
               "Time each of papcoll's candidates also as a persistent call");
  app.add_flag("--in-place", options.in_place, "One buffer for input and output");
  add_choice(app, "--buffers", options.buffers, buffer_kind_names,
             "Where the buffers of all candidates lie: in each rank's own memory,\n"
             "in papcoll's memory that all ranks of a node see (the arena), or\n"
             "in own memory made such memory (papcoll::Registration)");
  auto* groups =
      app.add_option(
             "--group-size", options.group_size,
             "So many neighbours in rank order are a node to Hierarchical (default: those that\n"
             "share memory)")
          ->transform(whole(1, std::numeric_limits<int>::max()));
  auto* machine =
      app.add_option("--machine", options.machine,
                     "The machine that papcoll is told of (Options::machine), as `papcoll\n"
                     "topology` takes it: a network file, nodes=8,packages=2,cores=16,leaf=4, …")
          ->type_name("SPEC");
  add_choice(app, "--placement", options.placement, papcoll::tool::placement_names,
             "How ranks are dealt out over its places (default by-core; random: by --seed)")
      ->needs(machine);
  if constexpr (papcoll::detail::simulated) {
    app.add_flag("--routes", options.routes,
                 "The hops of that machine are the links between the hosts of the ranks")
        ->needs(machine);
  }
  add_quantity(app, "--chunk-bytes", options.chunk_bytes, parse_chunk, "BYTES",
               "Of a chunk buffer of papcoll's shared memory: Options::chunk_bytes (default 64k)");
  app.add_option("--agreement-period", options.agreement_period,
                 "Calls after which ranks agree on what they have seen of arrivals:\n"
                 "Options::agreement_period (default 16)")
      ->transform(whole(1, std::numeric_limits<std::uint32_t>::max()));
  add_choice(app, "--selection", options.selection, selection_names,
             "By what calls without policies get an algorithm: Options::selection");
  add_choice(app, "--peer-access", options.peer_access, peer_access_names,
             "How papcoll's ranks of a node get at each other's buffers: Options::peer_access");
  add_choice(app, "--copy-method", options.copy_method, papcoll::copy_method_names,
             "How papcoll's ranks copy for others of their node: Options::copy_method");
  app.add_option("--seed", options.seed, "Of arrivals and of the order of the candidates")
      ->transform(whole(0, std::numeric_limits<std::uint64_t>::max()));
  app.add_option("--iterations", options.iterations, "At most so many a size and candidate")
      ->transform(whole(2, 100'000'000));
  app.add_option("--warmup", options.warmup, "Iterations before the clock counts")
      ->transform(whole(0, 100'000'000));
  app.add_option("--precision", options.precision,
                 "Stop when the mean is known to this part of itself, with 95 % confidence\n"
                 "(default 0.025; 0: always do all iterations)")
      ->check(CLI::Range(0.0, 1.0));
  auto* limit = add_quantity(app, "--time-limit", options.time_limit, parse_duration, "DURATION",
                             "At most so long a size and candidate (default 60s)");
  app.add_flag("--check", options.check, "Compare results with locally computed values first");
  std::string json;
  std::string csv;
  auto* const as_json = app.add_flag("--json{-}", json,
                                     "As JSON, an object a line; with =FILE, there, and not to "
                                     "standard output");
  app.add_flag("--csv{-}", csv, "As comma-separated values; with =FILE, there")->excludes(as_json);
  app.add_option("-o,--output", options.output,
                 "Write the table there instead of to standard output; of --measure: the file")
      ->check(no_option())
      ->type_name("FILE");

  MeasuredThing measured{};
  auto* const measure =
      add_choice(app, "--measure", measured, measured_names,
                 "Instead of timing a collective, write to the file that -o names\n"
                 "tuning: the network that papcoll's choices go by between these ranks, for\n"
                 "  Options::tuning_file or PAPCOLL_TUNING (default sizes 64:4M, time limit 2s);\n"
                 "model: the parameters of cost models fitted to what messages, combining and\n"
                 "  schedules take, for `papcoll simulate --model` (default sizes 64k:4M, time\n"
                 "  limit 2s);\n"
                 "links: messages between each pair of nodes, and between ranks of one node at\n"
                 "  each distance, as a network file for Options::machine (-o may be left out);\n"
                 "node-costs: what signals, copies and combinations cost between two processors\n"
                 "  of this node, for `papcoll simulate --node-costs` and `papcoll what-if`");
  auto* const quick =
      app.add_flag("--quick", options.quick,
                   "With --measure tuning, in less than a minute: call each collective until\n"
                   "papcoll has settled on an algorithm for each size, and add what it has\n"
                   "learned to the file (default sizes 8:4M, time limit 1s)");
  quick->needs(measure);

  try {
    app.parse(argc, argv);
    const auto fail = [](const std::string& text) { throw CLI::ValidationError(text); };
    if (as_json->count() > 0) options.format = Format::json;
    if (!csv.empty()) options.format = Format::csv;
    if (const std::string& file = json + csv; !file.empty() && file != "-") {
      if (!options.output.empty())
        fail("-o: --json and --csv have files of their own: leave it out");
      options.output = file;
    }
    if (measure->count() > 0) {
      const std::string what =
          "--measure " + std::string(measured_names.at(static_cast<std::size_t>(measured)));
      if (collective->count() > 0) {
        fail(
            fmt::format("{} times what collectives are made of, or collectives of its own choice: "
                        "leave {} out",
                        what, name_of_form(options.collective, options.irregular)));
      }
      if (options.output.empty() && measured != MeasuredThing::links) {
        fail(what + ": name the file to write: -o FILE");
      }
      if (options.format != Format::table) fail(what + ": leave --json and --csv out");
      if (options.quick && measured != MeasuredThing::tuning)
        fail("--quick: take --measure tuning");
      for (const CLI::Option* const other : {groups, machine}) {
        if (measured == MeasuredThing::links && other->count() > 0) {
          fail(what + ": leave " + other->get_name() + " out");
        }
      }
      take_file(options, measured);
      if (sizes->count() == 0) {
        options.sizes = parse_sizes(options.quick                       ? "8:4M"
                                    : measured == MeasuredThing::tuning ? "64:4M"
                                                                        : "64k:4M");
      }
      if (limit->count() == 0) options.time_limit = options.quick ? 1 : 2;
      // Lines and lowest points are no better than their worst time.
      if (measured == MeasuredThing::model && !options.iterations) options.iterations = 500;
    } else if (collective->count() == 0) {
      throw CLI::RequiredError("COLLECTIVE");
    }
    if (counts->count() + gap->count() > 0 && !options.irregular) {
      throw CLI::ValidationError(
          fmt::format("{}: the blocks of {} do not differ in length: take alltoallv, allgatherv, "
                      "gatherv or scatterv",
                      counts->count() > 0 ? "--counts" : "--gap", name_of(options.collective)));
    }
    check_together(options, sizes->count() > 0);
    if (options.persistent) add_persistent(options.algorithms);
  } catch (const CLI::CallForHelp&) {
    return EarlyExit{0, app.help()};
  } catch (const CLI::ParseError& error) {
    const std::string unknown = papcoll::tool::misspelt(app, app.get_name());
    return EarlyExit{
        2, unknown.empty()
               ? fmt::format("{}\nRun papcoll-bench --help for the options.", error.what())
               : unknown};
  }
  return options;
}

Problem problem_of(const Options& options, std::size_t bytes, int rank, int ranks) {
  Problem problem{.collective = options.collective,
                  .type = options.type,
                  .op = options.op,
                  .count = bytes / size_of(options.type),
                  .root = options.root,
                  .in_place = options.in_place,
                  .rank = rank,
                  .ranks = ranks,
                  .layout = options.layout};
  if (options.irregular) {
    const IrregularSpec spec{.collective = options.collective,
                             .counts = options.counts,
                             .mean = problem.count,
                             .gap = options.gap,
                             .in_place = options.in_place,
                             .seed = options.seed};
    problem.irregular = std::make_shared<const Irregular>(irregular_blocks(spec, rank, ranks));
  }
  return problem;
}

}  // namespace bench
