#pragma once

// `papcoll draw`: a picture of a static schedule and of its simulation.

#include <papcoll/draw/draw.hpp>
#include <papcoll/error.hpp>
#include <papcoll/names/row.hpp>
#include <papcoll/tools/common.hpp>
#include <papcoll/tools/named_schedule.hpp>
#include <papcoll/tools/simulated_call.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace tool {

class DrawCommand {
 public:
  explicit DrawCommand(Catalogue catalogue) : catalogue_(catalogue) {}

  void add_to(CLI::App& app) {
    command_ = app.add_subcommand(
        "draw", "A picture (SVG) of a static schedule: its trees or rounds, and its simulation");
    command_->add_option("ALGORITHM", name_, "As KNomial:5 or PredictedOrder+Ring")->required();
    constexpr int most_ranks = 128;
    constexpr std::size_t usual_bytes = std::size_t{1} << 20U;
    call_.add_to(*command_, most_ranks, usual_bytes);
    command_
        ->add_option("-o,--output", output_, "Where to write it, as x.svg; -: to standard output")
        ->required()
        ->check(not_empty())
        ->check(svg_name())
        ->type_name("FILE.svg");
  }

  bool is_given() const { return command_->parsed(); }

  /// The exit status; throws argument_error and system_error.
  int run() {
    const ParsedName algorithm = schedule_to("draw", name_, catalogue_);
    call_.prepare(call_.collective(algorithm.plan));
    const SimulatedCase c = call_.by(algorithm);
    const std::string picture =
        draw(c.schedule, c.shape, c.order, {call_.model(), call_.options()});
    if (output_ == "-") {
      print(picture);
      return all_well;
    }
    errno = 0;
    std::ofstream out{output_, std::ios::binary};
    out << picture << std::flush;
    if (!out) {
      const int why = errno;
      throw system_error(
          "papcoll: cannot write the picture to " + output_ + ": " + std::strerror(why), why);
    }
    print(output_ + ": " + detail::call_text(c.schedule, c.shape) + "\n");
    return all_well;
  }

 private:
  /// Refuses names of other kinds of pictures, which viewers would go by.
  static CLI::Validator svg_name() {
    const auto look = [](std::string& file) -> std::string {
      constexpr std::array<std::string_view, 12> others{
          "png", "jpg", "jpeg", "gif", "pdf", "ps", "eps", "bmp", "webp", "tif", "tiff", "html"};
      const std::size_t dot = file.rfind('.');
      if (dot == std::string::npos) return {};
      std::string kind = file.substr(dot + 1);
      for (char& c : kind) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      if (std::find(others.begin(), others.end(), kind) == others.end()) return {};
      const std::string svg = file.substr(0, dot) + ".svg";
      const bool converts = kind == "png" || kind == "pdf" || kind == "ps" || kind == "eps";
      return file + ": the picture is SVG: name it " + svg +
             (converts
                  ? ", and then convert it: rsvg-convert " + svg + " -f " + kind + " -o " + file
                  : "");
    };
    return {look, ""};
  }

  Catalogue catalogue_;
  CLI::App* command_ = nullptr;
  SimulatedCall call_;
  std::string name_;
  std::string output_;
};

}  // namespace tool
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
