// SPDX-License-Identifier: BSD-3-Clause
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

/// Returns " (--model x.json)", the option whose file an error is about; empty if the error names
/// it already, or no option names such a file.
std::string option_of_file(const CLI::App& app, const std::string& error) {
  for (const CLI::App* command : app.get_subcommands()) {
    for (const CLI::Option* option : command->get_options()) {
      const std::string name = option->get_name();
      for (const std::string& given : option->results()) {
        const std::string file = given.substr(given.find(':') + 1);  // as trace:FILE
        const bool is_file =
            file.find_first_of("/.") != file.npos && (file[0] < '0' || file[0] > '9');
        if (is_file && name.starts_with('-') && error.find(name) == error.npos &&
            (error + ":").find(" " + file + ":") != error.npos) {
          return " (" + name + " " + given + ")";
        }
      }
    }
  }
  return {};
}

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
    std::string names;
    for (const CLI::App* known : app.get_subcommands({})) {
      names += (names.empty() ? "" : ", ") + known->get_name();
    }
    throw CLI::RequiredError("A subcommand (" + names + ")");
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
    const std::string what = e.what();
    std::fprintf(stderr, "%s%s\n", what.c_str(), tool::option_of_file(app, what).c_str());
  }
  return tool::bad_input;
}

}  // namespace papcoll::inline PAPCOLL_ABI
