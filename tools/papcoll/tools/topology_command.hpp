#pragma once

// `papcoll topology`: a machine in lines, and network files made of what other programs print.

#include <papcoll/error.hpp>
#include <papcoll/tools/common.hpp>
#include <papcoll/tools/fabric.hpp>
#include <papcoll/tools/json_file.hpp>
#include <papcoll/tools/machine_named.hpp>
#include <papcoll/tools/machine_text.hpp>

#include <CLI/CLI.hpp>
#include <string>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace tool {

class TopologyCommand {
 public:
  void add_to(CLI::App& app) {
    command_ = app.add_subcommand(
        "topology", "A machine: packages, NUMA domains, caches, cores, GPUs, the network");
    machine_ = command_
                   ->add_option("--machine", spec_,
                                std::string("Which one: ") + machine_forms +
                                    "; this one by Linux if left out")
                   ->check(not_empty());
    from_ = command_
                ->add_option("--from", format_,
                             "Make a network file, on stdout, of what ibnetdiscover or opareport "
                             "-o links has printed to FILE")
                ->check(CLI::IsMember({"ibnetdiscover", "opareport"}));
    command_->add_option("FILE", file_, "For --from; - is stdin");
    from_->excludes(machine_);
  }

  bool is_given() const { return command_->parsed(); }

  /// The exit status; throws papcoll::error.
  int run() const {
    if (format_.empty() && !file_.empty()) {
      throw argument_error("papcoll: to show the machine of " + file_ +
                           ", write --machine; to convert it, write --from, too");
    }
    if (format_.empty()) {
      print(described(machine_named(spec_.empty() ? "linux" : spec_)));
      return all_well;
    }
    if (file_.empty()) throw argument_error("papcoll: --from " + format_ + " needs a FILE, or -");
    const std::string text = read_text(file_ == "-" ? "/dev/stdin" : file_, "output of " + format_);
    Fabric fabric = format_ == "opareport" ? read_opareport(text) : Ibnetdiscover{text}.take();
    print(fabric.network_file(format_ + "'s output"));
    return all_well;
  }

 private:
  CLI::App* command_ = nullptr;
  CLI::Option* machine_ = nullptr;
  CLI::Option* from_ = nullptr;
  std::string spec_;
  std::string format_;
  std::string file_;
};

}  // namespace tool
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
