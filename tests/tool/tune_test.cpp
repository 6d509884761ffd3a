// SPDX-License-Identifier: BSD-3-Clause
// `papcoll tune` starts papcoll-bench under a launcher.

#include "catch.hpp"
#include "run_tool.hpp"
#include "temporary_directory.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <sys/stat.h>

TEST_CASE("tune: papcoll-bench is started with as many ranks as are asked for") {
  const TemporaryDirectory directory;
  const std::string launcher = (directory.path() / "launch").string();
  const std::string said = (directory.path() / "said").string();
  std::ofstream{launcher} << "#!/bin/sh\necho \"$@\" > " << said << "\nexit 3\n";
  REQUIRE(chmod(launcher.c_str(), 0700) == 0);
  const std::string words = launcher + "  --bind-to none";
  const auto arguments_of = [&](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), {"tune", "--launcher", words.c_str()});
    CHECK(run(std::move(arguments)).status == 3);
    std::string line;
    std::getline(std::ifstream{said}, line);
    return line;
  };
  // papcoll-bench may be installed here.
  const std::string path = getenv("PATH");
  setenv("PATH", directory.path().c_str(), 1);
  refused({"tune", "--launcher", words.c_str(), "a.json"},
          "tune needs papcoll-bench, which is neit");
  const std::string bench = (directory.path() / "papcoll-bench").string();
  std::ofstream{bench} << "#!/bin/sh\n";
  REQUIRE(chmod(bench.c_str(), 0700) == 0);
  const std::string quick = arguments_of({"--quick", "-n", "5", "a.json"});
  CHECK(quick.starts_with("--bind-to none -n 5 "));
  CHECK(quick.ends_with("papcoll-bench --measure tuning -o a.json --quick"));
  const std::string all = arguments_of({"a.json"});
  CHECK(all.ends_with("papcoll-bench --measure tuning -o a.json"));
  refused({"tune", "--launcher", "/no/such/launcher", "a.json"}, "cannot start /no/such/launcher");
  setenv("PATH", path.c_str(), 1);
  refused({"tune"}, "FILE");
  refused({"tune", "-n", "0", "a.json"}, "--ranks");
}
