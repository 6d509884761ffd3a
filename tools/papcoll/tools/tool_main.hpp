#pragma once

// What papcoll_tool.hpp declares.

#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/tools/common.hpp>
#include <papcoll/tools/draw_command.hpp>
#include <papcoll/tools/explain_command.hpp>
#include <papcoll/tools/list_command.hpp>
#include <papcoll/tools/map_command.hpp>
#include <papcoll/tools/misspelt.hpp>
#include <papcoll/tools/report_command.hpp>
#include <papcoll/tools/simulate_command.hpp>
#include <papcoll/tools/topology_command.hpp>
#include <papcoll/tools/tune_command.hpp>
#include <papcoll/tools/verify_command.hpp>
#include <papcoll/tools/what_if_command.hpp>
#include <papcoll/version.hpp>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {

/// The main of the command papcoll, over the algorithms of a catalogue.
inline int tool_main(int argc, const char* const* argv, Catalogue catalogue) {
  const std::string number{version().papcoll};
  CLI::App app{
      "papcoll " + number + ": collectives, listed, proven, simulated, drawn and explained",
      "papcoll"};
  app.set_version_flag("--version", number);
  app.require_subcommand(0, 1);
  tool::ListCommand list{catalogue};
  list.add_to(app);
  tool::VerifyCommand verify{catalogue};
  verify.add_to(app);
  tool::SimulateCommand simulate{catalogue};
  simulate.add_to(app);
  tool::DrawCommand draw{catalogue};
  draw.add_to(app);
  tool::MapCommand map{catalogue};
  map.add_to(app);
  tool::ExplainCommand explain;
  explain.add_to(app);
  tool::TopologyCommand topology;
  topology.add_to(app);
  tool::ReportCommand report;
  report.add_to(app);
  tool::WhatIfCommand what_if{catalogue};
  what_if.add_to(app);
  tool::TuneCommand tune;
  tune.add_to(app);

  try {
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& e) {  // help, version
      const int status = app.exit(e);
      tool::require_written();
      return status;
    }
    const auto status = [&] {
      if (list.is_given()) return list.run();
      if (verify.is_given()) return verify.run();
      if (simulate.is_given()) return simulate.run();
      if (draw.is_given()) return draw.run();
      if (map.is_given()) return map.run();
      if (explain.is_given()) return explain.run();
      if (topology.is_given()) return topology.run();
      if (report.is_given()) return report.run();
      if (what_if.is_given()) return what_if.run();
      if (tune.is_given()) return tune.run();
      throw CLI::RequiredError("A subcommand");
    }();
    tool::require_written();
    return status;
  } catch (const CLI::Error& e) {
    if (const std::string unknown = tool::misspelt(app, "papcoll"); !unknown.empty()) {
      std::fprintf(stderr, "papcoll: %s\n", unknown.c_str());
      return tool::bad_input;
    }
    std::string command = "papcoll";
    for (const CLI::App* given : app.get_subcommands()) command += " " + given->get_name();
    std::fprintf(stderr, "papcoll: %s; see %s --help\n", e.what(), command.c_str());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "papcoll: there is no memory left for what is asked for\n");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
  return tool::bad_input;
}

}  // namespace papcoll::inline PAPCOLL_ABI
