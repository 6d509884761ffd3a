// SPDX-License-Identifier: BSD-3-Clause
// `papcoll map`: what an order along a machine gains a static schedule, by the model alone, and
// what B. Kitor's heuristic and SCOTCH would gain.

#include <papcoll/arrival/policies.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/baselines/greedy.hpp>
#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/choice/names/name_parser.hpp>
#include <papcoll/draw/mapping.hpp>
#include <papcoll/simulate/quantity_text.hpp>
#include <papcoll/tools/command.hpp>
#include <papcoll/tools/common.hpp>
#include <papcoll/tools/files/picture_file.hpp>
#include <papcoll/tools/machines/machine_named.hpp>
#include <papcoll/tools/optional_parts.hpp>
#include <papcoll/tools/options/json_option.hpp>
#include <papcoll/tools/options/named_schedule.hpp>
#include <papcoll/tools/options/placement_option.hpp>
#include <papcoll/tools/options/placements.hpp>
#include <papcoll/topology/mapping/map_positions.hpp>
#include <papcoll/topology/mapping/mapped_order.hpp>
#include <papcoll/topology/mapping/read_traffic.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {
namespace {

class MapCommand final : public Command {
 public:
  explicit MapCommand(Catalogue catalogue) : catalogue_(catalogue) {}

  void add_to(CLI::App& app) {
    command_ = app.add_subcommand(
        "map", "What an order of ranks along a machine gains a static schedule (OnTopology)");
    command_->add_option("ALGORITHM,--algorithm", name_, "As KNomial:5 or Ring")->required();
    command_->add_option("--machine", machine_, std::string("Which one: ") + machine_forms)
        ->required()
        ->check(not_empty())
        ->type_name("SPEC");
    constexpr int most_ranks = 1 << 14;
    ranks_option_ =
        command_
            ->add_option("--ranks", ranks_, "Ranks of the communicator (default: a rank a core)")
            ->transform(whole(1, most_ranks));
    command_
        ->add_option("--placement", placement_,
                     "Where the ranks are: by-core, by-node (in turn to all nodes), by-socket\n"
                     "(in turn to the packages of a node) or random")
        ->check(as_placement())
        ->capture_default_str();
    command_->add_option("--seed", seed_, "Of --placement random")
        ->transform(whole(0, std::numeric_limits<std::uint32_t>::max()))
        ->capture_default_str();
    command_
        ->add_option("--collective", collective_,
                     "allreduce, bcast, … (default: the first that the algorithm serves of\n"
                     "allreduce, bcast, reduce, …)")
        ->check(not_empty());
    root_option_ = command_->add_option("--root", root_, "Of bcast, reduce, gather and scatter")
                       ->transform(rank_number())
                       ->capture_default_str();
    command_->add_option("--bytes", bytes_, "Of the vector, for what chooses by it (default 1M)")
        ->transform(as_bytes());
    command_
        ->add_option("--draw", picture_,
                     "A picture (SVG) of who talks to whom before and after; -: to standard\n"
                     "output, instead of the text")
        ->check(not_empty())
        ->check(svg_name())
        ->type_name("FILE.svg");
    json_.add_to(*command_, "an object");
    command_->footer(
        std::string("Bytes are in multiples of the vector's. Bytes x hops is the sum over all "
                    "messages of a\n"
                    "call; heaviest link is what passes, one way, the link of which that is most; "
                    "inside is\n"
                    "bytes x distance within nodes: 3 between packages, 2 between NUMA domains, 1 "
                    "between L3\n"
                    "caches.\n\n") +
        examples({"map Ring --machine nodes=4,cores=8 --placement by-node",
                  "map Binomial --machine nodes=4,cores=8 --placement random --draw map.svg"}));
  }

  /// The exit status; throws papcoll::error.
  int run() override {
    const ParsedName algorithm = schedule_to("map", name_, catalogue_);
    if (algorithm.row->is_hierarchical) {
      throw argument_error("papcoll: " + algorithm.text() +
                           " follows the machine by its nodes: map those of its parts that are "
                           "schedules");
    }
    require_no_other_order(algorithm);
    Case c{
        algorithm.plan.name(), algorithm.plan, collective_meant(algorithm.plan, collective_), {}};
    const Machine all = machine_named(machine_);
    require_places(all);
    if (ranks_option_->count() == 0) ranks_ = all.size();
    require_root(c.collective, root_, root_option_->count() > 0, ranks_);
    c.machine = placed(all, placement_named(placement_), ranks_, seed_);
    c.schedule = c.schedule.resolved(ranks_, bytes_);
    if (is_prefix_reduction(c.collective)) {
      throw argument_error("papcoll: " + std::string(name_of(c.collective)) +
                           " combines in the order of the ranks, which nothing may change");
    }
    const std::vector<Found> found = orders(c);
    if (!picture_.empty()) {
      draw_it(c, found);
      if (picture_ == "-") return all_well;
    }
    if (!json_.write([&] { return reported(c, found); })) print(described(c, found));
    return all_well;
  }

 private:
  struct Case {
    std::string name;      ///< of what is asked for
    AnySchedule schedule;  ///< that it takes
    Collective collective;
    Machine machine;
  };
  /// An order, by whom.
  struct Found {
    std::string by;
    MappedOrder mapped;
  };

  static void require_no_other_order(const ParsedName& algorithm) {
    if ((algorithm.plan.needs() & capability::forecast) != 0) {
      throw argument_error("papcoll: " + std::string(algorithm.row->name) +
                           " orders its ranks by their predicted arrivals, and runs in no other "
                           "order: map another schedule, such as Ring");
    }
    if (algorithm.arrival != algorithm.row->arrival && algorithm.arrival != OnTopology::name) {
      throw argument_error("papcoll: " + algorithm.text() + ": " + algorithm.arrival +
                           " orders the ranks by itself, and map is about orders along the "
                           "machine: write " +
                           algorithm.plan.name() + " or " + std::string(OnTopology::name) + "+" +
                           algorithm.plan.name());
    }
  }

  /// papcoll's first.
  std::vector<Found> orders(const Case& c) const {
    std::vector<Found> all{{"papcoll", map_positions(c.schedule, c.collective, c.machine, root_)}};
    if (all.front().mapped.verdict == MappedOrder::Verdict::all_talk_to_all) return all;
    if (greedy_order(c.schedule, c.machine, root_)) {
      all.push_back({"greedy", map_greedily(c.schedule, c.collective, c.machine, root_)});
    }
    if (const auto by_scotch = optional_parts().map_by_scotch; by_scotch != nullptr) {
      all.push_back({"SCOTCH", by_scotch(c.schedule, c.collective, c.machine, root_)});
    }
    return all;
  }

  static bool is_used(const MappedOrder& m) { return m.verdict == MappedOrder::Verdict::mapped; }

  static std::string why(const MappedOrder& m) {
    switch (m.verdict) {
      case MappedOrder::Verdict::mapped: return "used";
      case MappedOrder::Verdict::gains_nothing: return "not used: it gains nothing";
      case MappedOrder::Verdict::links_unknown:
        return "no order: in a network by hops it is not known which messages share a link";
      case MappedOrder::Verdict::all_talk_to_all:
        return "no order: everybody talks to everybody, or nearly so";
      case MappedOrder::Verdict::worse: break;
    }
    constexpr double rounding = 1 + 1e-6;  // as MappingCost has it
    const bool longer = m.arranged.byte_hops > m.in_rank_order.byte_hops * rounding;
    return std::string("not used: ") +
           (longer ? "its bytes x hops are more" : "its heaviest link bears more") +
           " than in rank order";
  }

  std::string call(const Case& c) const {
    int nodes = 0;
    for (const std::vector<int>& colours : c.machine.groups({Level::node})) {
      nodes = 1 + *std::max_element(colours.begin(), colours.end());
    }
    const std::string played = c.schedule.name();
    return (c.name == played ? c.name : c.name + " = " + played) + " " +
           std::string(name_of(c.collective)) + ", " + std::to_string(ranks_) +
           (ranks_ == 1 ? " rank " : " ranks ") + placement_ + " on " + std::to_string(nodes) +
           (nodes == 1 ? " node" : " nodes") +
           (is_rooted(c.collective) ? ", root " + std::to_string(root_) : "");
  }

  std::string described(const Case& c, const std::vector<Found>& found) const {
    const MappedOrder& ours = found.front().mapped;
    std::string text = call(c) + "\n";
    if (ours.verdict == MappedOrder::Verdict::all_talk_to_all) return text + why(ours) + "\n";
    const auto line = [&text](const std::string& name, const std::string& hops,
                              const std::string& link, const std::string& inside,
                              const std::string& more) {
      text += "  " + padded(name, 12, false) + padded(hops, 14, true) + padded(link, 15, true) +
              padded(inside, 10, true) + (more.empty() ? "" : "  " + more) + "\n";
    };
    const auto costs = [&line](const std::string& name, const MappingCost& cost,
                               const std::string& more) {
      line(name, detail::decimal(cost.byte_hops, 2), detail::decimal(cost.heaviest_link, 2),
           detail::decimal(cost.inside, 2), more);
    };
    line("order", "bytes x hops", "heaviest link", "inside", "");
    costs("rank order", ours.in_rank_order, "");
    for (const Found& f : found) {
      costs(f.by, f.mapped.arranged, &f == &found.front() ? why(f.mapped) : "");
    }
    return text + detail::order_text(ours.order) + "\n";
  }

  Json reported(const Case& c, const std::vector<Found>& found) const {
    const MappedOrder& ours = found.front().mapped;
    const bool has_costs = ours.verdict != MappedOrder::Verdict::all_talk_to_all;
    Json orders = Json::array();
    const auto add = [&orders](const std::string& by, const MappingCost& cost) {
      orders.push_back({{"by", by},
                        {"byte_hops", cost.byte_hops},
                        {"heaviest_link", cost.heaviest_link},
                        {"inside", cost.inside}});
    };
    if (has_costs) {
      add("rank order", ours.in_rank_order);
      for (const Found& f : found) add(f.by, f.mapped.arranged);
    }
    std::vector<int> ranks;
    for (int p = 0; p < ranks_; ++p) ranks.push_back(ours.order.rank(p));
    Json all{{"algorithm", c.name},
             {"collective", name_of(c.collective)},
             {"ranks", ranks_},
             {"initial", placement_}};
    if (const std::string played = c.schedule.name(); played != c.name) all["chosen"] = played;
    if (is_rooted(c.collective)) all["root"] = root_;
    all["used"] = is_used(ours);
    all["why"] = why(ours);
    all["orders"] = std::move(orders);
    all["rank_of_position"] = std::move(ranks);
    return all;
  }

  void draw_it(const Case& c, const std::vector<Found>& found) const {
    constexpr int most_drawn = 512;
    if (ranks_ > most_drawn) {
      throw argument_error("papcoll: --draw: a picture shows at most " +
                           std::to_string(most_drawn) + " ranks");
    }
    const std::optional<Traffic> traffic = traffic_of(c.schedule, c.collective, ranks_);
    if (!traffic) throw argument_error("papcoll: --draw: " + why(found.front().mapped));
    std::vector<DrawnOrder> drawn{{"In rank order", Order::rotation(ranks_, root_)}};
    const MappedOrder& ours = found.front().mapped;
    if (is_used(ours)) drawn.push_back({"Along the machine", ours.order});
    write_picture(picture_, draw_mapping(call(c), *traffic, c.machine, drawn));
  }

  Catalogue catalogue_;
  CLI::Option* ranks_option_ = nullptr;
  CLI::Option* root_option_ = nullptr;
  std::string name_;
  std::string machine_;
  int ranks_ = 1;
  std::string placement_ = "by-core";
  std::uint32_t seed_ = 1;
  std::string collective_;
  int root_ = 0;
  std::size_t bytes_ = std::size_t{1} << 20U;
  std::string picture_;
  JsonOption json_;
};

}  // namespace

std::unique_ptr<Command> make_map(CLI::App& app, Catalogue catalogue) {
  return made<MapCommand>(app, catalogue);
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
