#include <papcoll/version.hpp>

#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "run_tool.hpp"

TEST_CASE("bad input: a message on stderr and status 2") { refused({}, "subcommand is required"); }

TEST_CASE("what is misspelt is said in a sentence, with what is meant") {
  const auto says = [](std::vector<const char*> words, const std::string& sentence) {
    const Outcome o = run(std::move(words));
    CHECK(o.status == 2);
    CHECK(o.out.empty());
    CHECK(o.err == "papcoll: there is no " + sentence + "\n");
  };
  says({"simulte", "Ring", "--ranks", "4"}, "subcommand simulte: did you mean simulate?");
  says({"prove"}, "subcommand prove: there are draw, explain, list, simulate and verify");
  says({"simulate", "Ring", "--rank", "4", "--bytes", "8"}, "--rank: did you mean --ranks?");
  says({"simulate", "--ranks", "4", "Ring", "--byte=8k"}, "--byte: did you mean --bytes?");
  says({"simulate", "Ring", "-ranks", "4"}, "-ranks: did you mean --ranks?");
  says({"draw", "Ring", "--ranks", "4", "--out", "x.svg"}, "--out: did you mean --output?");
  says({"list", "--xml"}, "--xml: see papcoll list --help");
  says({"-x"}, "-x: see papcoll --help");
  refused({"simulate", "Ring", "Linear", "--ranks", "4", "--bytes", "8"},
          "not expected: Linear; see papcoll simulate --help");
  refused({"simulate", "Ring", "--ranks", "4", "--root", "x"}, "--root = x; see papcoll ");
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
