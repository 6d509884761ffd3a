// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/choice/names/catalogue_entry.hpp>

#include <CLI/CLI.hpp>
#include <memory>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// A subcommand of papcoll, in tools/commands.
class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;

  /// Returns true if the command line names it.
  virtual bool is_given() const { return command_->parsed(); }
  /// Returns the exit status; throws papcoll::error.
  virtual int run() = 0;

 protected:
  CLI::App* command_ = nullptr;  ///< set by add_to()
};

/// Makes a command and adds it to the program.
template <class C, class... Arguments>
std::unique_ptr<Command> made(CLI::App& app, const Arguments&... arguments) {
  auto command = std::make_unique<C>(arguments...);
  command->add_to(app);
  return command;
}

/// What adds a subcommand, over the algorithms of a catalogue.
using MakeCommand = std::unique_ptr<Command>(CLI::App& app, Catalogue catalogue);

MakeCommand make_list, make_verify, make_simulate, make_draw, make_map, make_explain, make_topology,
    make_report, make_what_if, make_tune;

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
