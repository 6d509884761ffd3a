// SPDX-License-Identifier: BSD-3-Clause
// `papcoll draw`: a picture of a static schedule and of its simulation.

#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/draw/draw.hpp>
#include <papcoll/tools/command.hpp>
#include <papcoll/tools/common.hpp>
#include <papcoll/tools/files/picture_file.hpp>
#include <papcoll/tools/options/named_schedule.hpp>
#include <papcoll/tools/simulation/simulated_call.hpp>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <memory>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {
namespace {

class DrawCommand final : public Command {
 public:
  explicit DrawCommand(Catalogue catalogue) : catalogue_(catalogue) {}

  void add_to(CLI::App& app) {
    command_ = app.add_subcommand(
        "draw", "A picture (SVG) of a static schedule: its trees or rounds, and its simulation");
    command_
        ->add_option("ALGORITHM,--algorithm", name_,
                     "As KNomial:5, PredictedOrder+Ring or Hierarchical:Linear,Ring")
        ->required();
    constexpr int most_ranks = 128;
    constexpr std::size_t usual_bytes = std::size_t{1} << 20U;
    call_.add_to(*command_, most_ranks, usual_bytes);
    command_
        ->add_option("-o,--output", output_, "Where to write it, as x.svg; -: to standard output")
        ->required()
        ->check(not_empty())
        ->check(svg_name())
        ->type_name("FILE.svg");
    command_->footer(examples({"draw Bruck --ranks 8 --collective allgather -o bruck.svg",
                               "draw Hierarchical:KNomial:4,Ring --ranks 16 --machine "
                               "nodes=4,cores=4 -o nodes.svg"}));
  }

  bool is_given() const override { return command_->parsed(); }

  /// The exit status; throws argument_error and system_error.
  int run() override {
    const ParsedName algorithm = schedule_to("draw", name_, catalogue_);
    call_.prepare(call_.collective(algorithm.plan));
    call_.require_effect_of_order(algorithm);
    const SimulatedCase c = call_.by(algorithm);
    const std::string picture =
        draw(c.schedule, c.shape, c.order, {call_.model(), call_.options(), c.name});
    write_picture(output_, picture);
    if (output_ == "-") return all_well;
    print(output_ + ": " + detail::call_text(c.name, c.shape) + "\n");
    return all_well;
  }

 private:
  Catalogue catalogue_;
  CLI::App* command_ = nullptr;
  SimulatedCall call_;
  std::string name_;
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> make_draw(CLI::App& app, Catalogue catalogue) {
  auto command = std::make_unique<DrawCommand>(catalogue);
  command->add_to(app);
  return command;
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
