// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Arrivals that were recorded, replayed on this machine: by papcoll-bench, under mpirun.

#include <papcoll/base/collective.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/tools/common.hpp>
#include <papcoll/topology/processor_set.hpp>
#include <papcoll/what_if/answer.hpp>
#include <papcoll/what_if/recorded.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// A program beside this one, or on PATH; empty: there is none.
inline std::string program_named(const std::string& name) {
  std::error_code none;
  std::vector<std::filesystem::path> places;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", none);
  if (!self.empty()) {
    places.push_back(self.parent_path());
    places.push_back(self.parent_path().parent_path() / "benchmarks");  // where it is built
  }
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? std::string_view{} : path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end != 0) places.emplace_back(std::string(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  for (const std::filesystem::path& p : places) {
    const std::string file = (p / name).string();
    if (access(file.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(file, none)) {
      return file;
    }
  }
  return {};
}

/// Runs papcoll-bench.
class Replay {
 public:
  /// `launcher`: mpirun, with options.
  explicit Replay(std::string launcher)
      : launcher_(std::move(launcher)), bench_(program_named("papcoll-bench")) {}

  /// Why the record cannot be replayed here; empty: it can.
  std::string why_not(const what_if::Recorded& recorded) const {
    const int processors = ProcessorSet::of_this_thread().count();
    if (!recorded.is_one_node()) return "the ranks are on several nodes";
    if (processors != 0 && recorded.shape.size > processors) {
      return "there are " + std::to_string(recorded.shape.size) + " ranks, and this machine has " +
             std::to_string(processors) + (processors == 1 ? " processor" : " processors");
    }
    if (bench_.empty()) return "there is no papcoll-bench beside papcoll, nor on PATH";
    const std::string program = launcher_.substr(0, launcher_.find(' '));
    const bool is_there = program.find('/') != std::string::npos
                              ? access(program.c_str(), X_OK) == 0
                              : !program_named(program).empty();
    return is_there ? "" : "there is no " + program;
  }

  /// Throws error if papcoll-bench fails.
  what_if::Answer run(const what_if::Recorded& recorded, Catalogue catalogue,
                      double seconds_each) const {
    const Directory directory;
    write_trace(recorded, directory.file("trace"));
    const std::string command = command_line(recorded, catalogue, seconds_each, directory);
    const std::string said = directory.file("said");
    const int status = std::system((command + " >'" + said + "' 2>&1").c_str());  // NOLINT
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      throw error(
          "papcoll: the replay failed: " + last_line(said) +
          ": write the launcher and its options, as --launcher 'mpirun --oversubscribe', or "
          "--simulate (" +
          command + ")");
    }
    return read(recorded, directory.file("results"));
  }

 private:
  /// Which is gone at the end.
  class Directory {
   public:
    Directory() {
      std::error_code none;
      name_ = (std::filesystem::temp_directory_path(none) / "papcoll-what-if-XXXXXX").string();
      if (mkdtemp(name_.data()) == nullptr) {
        throw system_error("papcoll: cannot make " + name_, errno);
      }
    }
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;
    ~Directory() {
      std::error_code none;
      std::filesystem::remove_all(name_, none);
    }
    std::string file(const char* name) const { return name_ + "/" + name; }

   private:
    std::string name_;
  };

  static void write_trace(const what_if::Recorded& recorded, const std::string& file) {
    std::ofstream out{file};
    out.precision(17);
    for (std::size_t call = 0; call < recorded.arrivals.calls(); ++call) {
      for (const double t : recorded.arrivals.recorded(call)) out << t << ' ';
      out << '\n';
    }
    out.close();
    if (!out) throw error("papcoll: cannot write " + file + ": is the disk full?");
  }

  std::string command_line(const what_if::Recorded& recorded, Catalogue catalogue,
                           double seconds_each, const Directory& directory) const {
    const Shape& shape = recorded.shape;
    std::string command = launcher_ + " -n " + std::to_string(shape.size) + " '" + bench_ + "' " +
                          std::string(name_of(shape.collective));
    if (has_data(shape.collective)) {
      command += " --type uint8 --bytes " + std::to_string(shape.count * shape.element_size);
      if (shape.element_size == sizeof(double)) {
        command.replace(command.find("uint8"), std::string_view("uint8").size(), "double");
      }
    }
    if (is_rooted(shape.collective)) command += " --root " + std::to_string(shape.root);
    // All calls, those of a short trace several times.
    const std::size_t once = recorded.arrivals.calls();
    const std::size_t least = shape.count * shape.element_size > 65536 ? 100 : 500;
    const std::size_t calls = (std::max(once, least) + once - 1) / once * once;
    command += " --iterations " + std::to_string(calls) + " --precision 0 --time-limit " +
               std::to_string(static_cast<int>(seconds_each * 1000)) + "ms --start clock";
    command += " --arrival 'trace:" + directory.file("trace") + "' --json='" +
               directory.file("results") + "' --algorithm mpi";
    for (const CatalogueRow& row : catalogue) {
      if (!row.serves(shape.collective)) continue;
      if (row.algorithm != nullptr && shape.size <= row.algorithm->most_ranks) {
        command += " '" + std::string(row.name) + "'";
      } else if (row.plan != nullptr) {
        command += " '" + std::string(row.name) + "'";
        const bool is_predicted = row.arrival == PredictedOrder<>::name;
        if (!is_predicted && !is_prefix_reduction(shape.collective)) {
          command += " 'PredictedOrder+" + std::string(row.name) + "'";
        }
      }
    }
    return command;
  }

  static std::string last_line(const std::string& file) {
    std::ifstream in{file};
    std::string line;
    std::string last = "it said nothing";
    while (std::getline(in, line)) {
      if (line.find("papcoll-bench:") != std::string::npos) return line;
      if (line.find_first_not_of("- ") != line.npos) last = line;
    }
    return last;
  }

  static what_if::Answer read(const what_if::Recorded& recorded, const std::string& file) {
    what_if::Answer answer;
    answer.replayed = true;
    answer.calls = recorded.arrivals.calls();
    std::ifstream in{file};
    std::string line;
    while (std::getline(in, line)) {
      const Json result = Json::parse(line, nullptr, false);
      if (!result.is_object() || !result.contains("algorithm")) continue;
      what_if::Outcome o;
      o.name = result["algorithm"].get<std::string>();
      o.by_messages = o.name == "mpi";
      // The median: other work on the machine disturbs some calls, and lengthens them by far.
      o.tail = result.value("tail_median_us", 0.0) * 1e-6;
      o.in_call = result.value("median_us", 0.0) * 1e-6;
      const double mean = result.value("tail_mean_us", 0.0);
      o.error = mean > 0 ? result.value("tail_ci95_us", 0.0) / mean : 0;
      o.unsure = 0;
      answer.looked_at = std::min(answer.calls, result.value("iterations", std::size_t{0}));
      answer.outcomes.push_back(std::move(o));
    }
    if (answer.outcomes.empty()) throw error("papcoll: the replay has no results");
    answer.rank(recorded.clocks);
    return answer;
  }

  std::string launcher_;
  std::string bench_;
};

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
