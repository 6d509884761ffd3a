// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "run_tool.hpp"
#include "temporary_directory.hpp"
#include "trace_writer.hpp"

namespace {

/// The lines below "Examples:", without "papcoll".
std::vector<std::vector<std::string>> examples_of(const std::string& help) {
  std::vector<std::vector<std::string>> all;
  std::istringstream lines{help.substr(std::min(help.find("Examples:\n"), help.size()))};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words{line};
    std::string word;
    words >> word;
    if (word != "papcoll") continue;
    std::vector<std::string>& example = all.emplace_back();
    while (words >> word) example.push_back(word);
  }
  return all;
}

void write_recording(const std::filesystem::path& directory) {
  std::filesystem::create_directory(directory);
  RunWriter writer{4};
  std::uint64_t at = 2'000'000'000;
  for (int i = 0; i < 20; ++i, at += 200'000) {
    for (std::size_t r = 0; r < 4; ++r) {
      writer.traces[r].call({}, at + (r == 2 ? 50'000 : 0), at + 90'000);
    }
  }
  for (TraceWriter& t : writer.traces) t.header.ended = at;
  writer.write(directory);
}

/// What the examples want to find: a recording, arrivals, and what starts papcoll-bench.
class Workshop {
 public:
  Workshop() {
    std::filesystem::current_path(directory_.path());
    write_recording(directory_.path() / "papcoll-profile");
    directory_.write("arrivals.txt", "0 0 0 50e-6\n0 20e-6 0 0\n");
    for (const char* const name : {"mpiexec", "papcoll-bench"}) {
      const std::filesystem::path program = directory_.write(name, "#!/bin/sh\n");
      std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    }
    setenv("PATH", (directory_.path().string() + ":" + path_).c_str(), 1);
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;
  ~Workshop() {
    setenv("PATH", path_.c_str(), 1);
    std::filesystem::current_path(before_);
  }

 private:
  const std::filesystem::path before_ = std::filesystem::current_path();
  const std::string path_ = std::getenv("PATH");
  TemporaryDirectory directory_;
};

}  // namespace

TEST_CASE("the two examples of each command's help run") {
  const Workshop workshop;
  for (const char* const command : {"list", "verify", "simulate", "draw", "map", "explain",
                                    "topology", "report", "what-if", "tune"}) {
    const Outcome help = run({command, "--help"});
    CHECK(help.status == 0);
    const auto examples = examples_of(help.out);
    INFO(help.out);
    CHECK(examples.size() == 2);
    for (const std::vector<std::string>& example : examples) {
      std::vector<const char*> words;
      std::string line;
      for (const std::string& word : example) {
        words.push_back(word.c_str());
        line += word + " ";
      }
      const Outcome o = run(words);
      INFO(line << "\n" << o.err);
      CHECK(example.front() == command);
      CHECK(o.status == 0);
    }
  }
}
