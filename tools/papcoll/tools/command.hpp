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
  virtual bool is_given() const = 0;
  /// The exit status; throws papcoll::error.
  virtual int run() = 0;
};

/// What adds a subcommand, over the algorithms of a catalogue.
using MakeCommand = std::unique_ptr<Command>(CLI::App& app, Catalogue catalogue);

MakeCommand make_list, make_verify, make_simulate, make_draw, make_map, make_explain, make_topology,
    make_report, make_what_if, make_tune;

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
