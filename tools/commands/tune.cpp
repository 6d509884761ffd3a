// SPDX-License-Identifier: BSD-3-Clause
// `papcoll tune`: a selection file of this machine, made by papcoll-bench under an MPI launcher.

#include <papcoll/base/error.hpp>
#include <papcoll/tools/command.hpp>
#include <papcoll/tools/common.hpp>
#include <papcoll/topology/processor_set.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {
namespace {

class TuneCommand final : public Command {
 public:
  void add_to(CLI::App& app) {
    command_ = app.add_subcommand(
        "tune", "Make a selection file of this machine: what is quick, and thresholds");
    command_->add_option("FILE", file_, "The file")->required()->check(not_empty());
    command_->add_flag("--quick", quick_,
                       "In less than a minute: what calls teach, and no thresholds; added to "
                       "what the file says of other numbers of ranks");
    command_->add_option("-n,--ranks", ranks_, "So many ranks (default: one a processor)")
        ->check(CLI::Range(1, 1 << 20));
    command_
        ->add_option("--launcher", launcher_, "What starts them, with its options: before -n RANKS")
        ->capture_default_str()
        ->check(not_empty());
    command_->footer(
        std::string("Runs papcoll-bench, which stands beside papcoll or is found by PATH.\n\n") +
        examples({"tune tuning.json", "tune --quick -n 4 learned.json"}));
  }

  /// The exit status of papcoll-bench; throws papcoll::error.
  int run() override {
    const int processors = std::max(ProcessorSet::of_this_thread().count(), 2);
    std::vector<std::string> words;
    std::istringstream launcher{launcher_};
    for (std::string word; launcher >> word;) words.push_back(word);
    words.insert(words.end(), {"-n", std::to_string(ranks_ != 0 ? ranks_ : processors), bench(),
                               "--measure", "tuning", "-o", file_});
    if (quick_) words.emplace_back("--quick");
    return status_of(words);
  }

 private:
  static std::string bench() {
    std::string self(4096, '\0');
    const ssize_t n = readlink("/proc/self/exe", self.data(), self.size());
    self.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    const std::string beside = self.substr(0, self.rfind('/') + 1) + "papcoll-bench";
    if (access(beside.c_str(), X_OK) == 0) return beside;
    const char* const path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
    std::istringstream directories{path != nullptr ? path : ""};
    for (std::string directory; std::getline(directories, directory, ':');) {
      const std::string file = directory + (directory.empty() ? "" : "/") + "papcoll-bench";
      if (access(file.c_str(), X_OK) == 0) return file;
    }
    throw system_error("papcoll: tune needs papcoll-bench, which is neither " + beside +
                           " nor on PATH: build papcoll with PAPCOLL_BUILD_BENCHMARKS=ON and "
                           "install it, or add the directory that has it to PATH",
                       ENOENT);
  }

  static int status_of(std::vector<std::string>& words) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    require_written();
    pid_t child = 0;
    const int why = posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ);
    if (why != 0) {
      throw system_error("papcoll: cannot start " + words[0] + ": " + std::strerror(why) +
                             ": name what starts programs of your MPI by --launcher",
                         why);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : bad_input;
  }

  std::string file_;
  std::string launcher_ = "mpiexec";
  int ranks_ = 0;
  bool quick_ = false;
};

}  // namespace

std::unique_ptr<Command> make_tune(CLI::App& app, Catalogue) { return made<TuneCommand>(app); }

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
