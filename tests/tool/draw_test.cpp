// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/schedule/make_plan.hpp>

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "catch.hpp"
#include "run_tool.hpp"
#include "svg_reader.hpp"
#include "temporary_directory.hpp"

using namespace papcoll;

namespace {

/// Messages of one block of the call that `papcoll draw --bytes 64k` makes of these.
std::size_t planned_messages(const AnySchedule& schedule, Collective c, int ranks) {
  Shape shape;
  shape.collective = c;
  shape.size = ranks;
  shape.count = c == Collective::barrier ? 1 : 65536 / 8;
  shape.element_size = c == Collective::barrier ? 1 : 8;
  std::size_t sends = 0;
  for (shape.rank = 0; shape.rank < ranks; ++shape.rank) {
    const BlockedPlan plan = make_plan(schedule, shape, static_order(shape));
    for (const Step& s : plan.full.steps()) sends += s.kind == OpKind::send ? 1 : 0;
  }
  return sends;
}

}  // namespace

TEST_CASE("draw: every static schedule, every collective it serves") {
  for (const CatalogueRow& row : catalogue()) {
    if (row.plan == nullptr) continue;
    const AnySchedule schedule = row.plan();
    for (std::size_t i = 0; i < collective_count; ++i) {
      const auto c = static_cast<Collective>(i);
      if (!schedule.serves(c)) continue;
      const std::string name{row.name};
      const std::string collective{name_of(c)};
      for (const int ranks : {1, 2, 5, 8}) {
        const std::string n = std::to_string(ranks);
        INFO(name << " " << collective << " " << ranks);
        std::vector<const char*> words{"draw",    name.c_str(), "--collective", collective.c_str(),
                                       "--ranks", n.c_str(),    "-o",           "-"};
        if (c != Collective::barrier) words.insert(words.end(), {"--bytes", "64k"});
        const Outcome o = run(words);
        REQUIRE(o.err == "");
        REQUIRE(o.status == 0);
        std::string problem;
        std::size_t shown = 0;
        try {
          const svg::Reader reader{o.out};
          shown = svg::messages(reader.elements());
        } catch (const std::runtime_error& e) {
          problem = e.what();
        }
        CHECK(problem == "");
        CHECK(shown == planned_messages(schedule, c, ranks));
        CHECK(contains(o.out, ", " + n + (ranks == 1 ? " rank" : " ranks")));
      }
    }
  }
}

TEST_CASE("draw: a hierarchy is drawn whole, whatever it serves") {
  for (std::size_t i = 0; i < collective_count; ++i) {
    const std::string collective{name_of(static_cast<Collective>(i))};
    std::vector<const char*> words{"draw",         "Hierarchical:Linear,Ring",
                                   "--collective", collective.c_str(),
                                   "--ranks",      "7",
                                   "--machine",    "nodes=3,cores=3",
                                   "--placement",  "by-node",
                                   "-o",           "-"};
    if (collective != "barrier") words.insert(words.end(), {"--bytes", "64"});
    const Outcome o = run(words);
    INFO(collective << o.err);
    REQUIRE(o.status == 0);
    CHECK(contains(o.out, "Hierarchical:Linear,Ring " + collective));
    CHECK(svg::messages(svg::Reader{o.out}.elements()) >= 6);
  }
}

TEST_CASE("draw: into a file") {
  const std::string file = "/tmp/papcoll_draw_test." + std::to_string(getpid()) + ".svg";
  const Outcome o =
      run({"draw", "KNomial:3", "--ranks", "9", "--root", "2", "--collective", "bcast", "--arrival",
           "one-late", "--spread", "200us", "-o", file.c_str()});
  std::ifstream in{file};
  const std::string picture{std::istreambuf_iterator<char>{in}, {}};
  std::remove(file.c_str());
  CHECK(o.status == 0);
  CHECK(o.out == file + ": KNomial:3 bcast of 1 MB, 9 ranks, root 2\n");
  CHECK(picture.starts_with("<svg "));
  CHECK(contains(picture, "KNomial:3 bcast of 1 MB, 9 ranks, root 2"));
  CHECK(contains(picture, "tail (from the last arrival)"));
  const svg::Reader reader{picture};
  CHECK(svg::messages(reader.elements()) == 8);
}

TEST_CASE("draw: an output replaces no input") {
  const TemporaryDirectory directory;
  const std::string model = directory.write("model.svg", R"({"latency": 1e-6})");
  refused({"draw", "Ring", "--ranks", "4", "--model", model.c_str(), "-o", model.c_str()},
          "model.svg is read here: write the output to another file");
  CHECK(std::filesystem::file_size(model) > 0);
}

TEST_CASE("draw: refusals") {
  refused({"draw", "Ring", "--ranks", "4"}, "--output is required");
  refused({"draw", "Ring", "-o", "-"}, "--ranks");
  refused({"draw", "Ring", "--ranks", "1000", "-o", "-"}, "--ranks");
  refused({"draw", "Rnig", "--ranks", "4", "-o", "-"}, "did you mean Ring");
  refused({"draw", "DynamicLeader", "--ranks", "4", "-o", "-"},
          "decides by who arrives when, so it has no plan to draw: name a static schedule");
  refused({"draw", "Hierarchical", "--ranks", "4", "-o", "-"},
          "Hierarchical: which ranks are on a node? Write --machine");
  refused({"draw", "Ring+ShmTransport", "--ranks", "4", "-o", "-"}, "write Ring+MpiTransport");
  refused({"draw", "MpiTransport", "--ranks", "4", "-o", "-"}, "names no schedule to draw");
  refused({"draw", "Ring", "--ranks", "4", "-o", "a.b/x.PNG"},
          "--output: a.b/x.PNG: the picture is SVG: name it a.b/x.svg, and then convert it: "
          "rsvg-convert a.b/x.svg -f png -o a.b/x.PNG");
  refused({"draw", "Ring", "--ranks", "4", "-o", "x.jpg"}, "the picture is SVG: name it x.svg");
  refused({"draw", "Ring", "--ranks", "4", "-o", ""}, "--output: it is empty");
  refused({"draw", "Ring", "--ranks", "4", "-o", "/nonexistent/x.svg"},
          "cannot write /nonexistent/x.svg: No such file or directory");
}
