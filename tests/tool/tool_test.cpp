#include <papcoll/version.hpp>

#include <string>

#include "catch.hpp"
#include "run_tool.hpp"

TEST_CASE("bad input: a message on stderr and status 2") {
  refused({}, "subcommand is required");
  refused({"prove"}, "prove");
  refused({"prove"}, "see papcoll --help");
}

TEST_CASE("help and version") {
  const Outcome help = run({"--help"});
  CHECK(help.status == 0);
  CHECK(contains(help.out, "verify"));
  const Outcome version = run({"--version"});
  CHECK(version.status == 0);
  CHECK(version.out == std::to_string(PAPCOLL_VERSION_MAJOR) + "." +
                           std::to_string(PAPCOLL_VERSION_MINOR) + "." +
                           std::to_string(PAPCOLL_VERSION_PATCH) + "\n");
}
