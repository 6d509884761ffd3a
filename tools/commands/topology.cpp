// SPDX-License-Identifier: BSD-3-Clause
// `papcoll topology`: a machine in lines, and network files made of what other programs print.

#include <papcoll/base/error.hpp>
#include <papcoll/tools/command.hpp>
#include <papcoll/tools/common.hpp>
#include <papcoll/tools/files/json_file.hpp>
#include <papcoll/tools/machines/fabric.hpp>
#include <papcoll/tools/machines/launched_rank.hpp>
#include <papcoll/tools/machines/machine_named.hpp>
#include <papcoll/tools/machines/machine_text.hpp>
#include <papcoll/tools/machines/printed_fabric.hpp>
#include <papcoll/tools/optional_parts.hpp>
#include <papcoll/topology/linux.hpp>
#include <papcoll/topology/linux_machine.hpp>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <optional>
#include <string>

#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {
namespace {

class TopologyCommand final : public Command {
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
    command_->footer(
        std::string("Under mpirun each process says where it is bound, and rank 0 what its node is "
                    "like.\n\n") +
        examples({"topology", "topology --machine nodes=4,packages=2,cores=8,leaf=2"}));
  }

  /// The exit status; throws papcoll::error.
  int run() override {
    if (format_.empty() && !file_.empty()) {
      throw argument_error("papcoll: to show the machine of " + file_ +
                           ", write --machine; to convert it, write --from, too");
    }
    if (format_.empty() && spec_.empty()) {
      print(this_process());
      return all_well;
    }
    if (format_.empty()) {
      const Machine machine = machine_named(spec_);
      const bool is_this = machine.source == "Linux" || machine.source == "hwloc";
      print(is_this ? with_access(machine) : described(machine));
      return all_well;
    }
    if (file_.empty()) throw argument_error("papcoll: --from " + format_ + " needs a FILE, or -");
    const std::string text = read_text(file_ == "-" ? "/dev/stdin" : file_, "output of " + format_);
    Fabric fabric = format_ == "opareport" ? read_opareport(text) : Ibnetdiscover{text}.take();
    print(fabric.network_file(format_ + "'s output"));
    return all_well;
  }

 private:
  /// Returns the text of the machine that this process runs on, with what CUDA says of its GPUs.
  static std::string with_access(const Machine& machine) {
    return described(machine) + (machine.gpus.empty() || optional_parts().gpu_access == nullptr
                                     ? ""
                                     : optional_parts().gpu_access());
  }

  /// This node; of a rank that a launcher has started its own place, too, in one piece, so that
  /// lines of several ranks do not mix.
  static std::string this_process() {
    const std::optional<std::string> rank = launched_rank();
    if (!rank) return with_access(linux_machine());
    std::array<char, 256> host{};
    if (gethostname(host.data(), host.size() - 1) != 0) host = {"an unnamed host"};
    return (*rank == "0" ? with_access(linux_machine()) : "") + "rank " + *rank + " on " +
           host.data() + ": " + NodeText::in_a_line(linux_place()) + "\n";
  }

  CLI::Option* machine_ = nullptr;
  CLI::Option* from_ = nullptr;
  std::string spec_;
  std::string format_;
  std::string file_;
};

}  // namespace

std::unique_ptr<Command> make_topology(CLI::App& app, Catalogue) {
  return made<TopologyCommand>(app);
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
