// The main of the command papcoll.

#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/tools/command.hpp>
#include <papcoll/tools/common.hpp>
#include <papcoll/tools/options/misspelt.hpp>
#include <papcoll/tools/papcoll_tool.hpp>
#include <papcoll/version.hpp>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

namespace tool {
namespace {

constexpr MakeCommand* all_commands[] = {make_list,    make_verify,  make_simulate, make_draw,
                                         make_map,     make_explain, make_topology, make_report,
                                         make_what_if, make_tune};

}  // namespace
}  // namespace tool

/// The main of the command papcoll, over the algorithms of a catalogue.
int tool_main(int argc, const char* const* argv, Catalogue catalogue) {
  const std::string number{version().papcoll};
  CLI::App app{
      "papcoll " + number + ": collectives, listed, proven, simulated, drawn and explained",
      "papcoll"};
  app.set_version_flag("--version", number);
  app.require_subcommand(0, 1);
  std::vector<std::unique_ptr<tool::Command>> commands;
  for (tool::MakeCommand* const make : tool::all_commands) commands.push_back(make(app, catalogue));

  try {
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& e) {  // help, version
      const int status = app.exit(e);
      tool::require_written();
      return status;
    }
    for (const auto& command : commands) {
      if (!command->is_given()) continue;
      const int status = command->run();
      tool::require_written();
      return status;
    }
    throw CLI::RequiredError("A subcommand");
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
