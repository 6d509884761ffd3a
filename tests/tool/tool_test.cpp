// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/version.hpp>

#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "run_tool.hpp"

TEST_CASE("bad input: a message on stderr and status 2") {
  refused({}, "A subcommand (list, verify, ");
}

TEST_CASE("what is misspelt is said in a sentence, with what is meant") {
  const auto says = [](std::vector<const char*> words, const std::string& sentence) {
    const Outcome o = run(std::move(words));
    CHECK(o.status == 2);
    CHECK(o.out.empty());
    CHECK(o.err == "papcoll: " + sentence + "\n");
  };
  says({"simulte", "Ring", "--ranks", "4"},
       "there is no subcommand simulte: did you mean simulate?");
  says({"prove"},
       "there is no subcommand prove: there are draw, explain, list, map, report, simulate, "
       "topology, tune, verify and what-if");
  says({"simulate", "Ring", "--rank", "4", "--bytes", "8"},
       "there is no --rank: did you mean --ranks?");
  says({"simulate", "--ranks", "4", "Ring", "--byte=8k"},
       "there is no --byte: did you mean --bytes?");
  says({"simulate", "Ring", "-ranks", "4"}, "there is no -ranks: did you mean --ranks?");
  says({"draw", "Ring", "--ranks", "4", "--out", "x.svg"},
       "there is no --out: did you mean --output?");
  says({"list", "--xml"}, "there is no --xml: see papcoll list --help");
  says({"-x"}, "there is no -x: see papcoll --help");
  says({"verify", "--ranks", "9"}, "there is no --ranks: did you mean --max-ranks?");
  says({"--ranks", "4", "simulate", "Ring"},
       "--ranks belongs to a subcommand: write it after simulate");
  refused({""}, "");
  refused({"draw", "Ring", "Linear", "--ranks", "4", "-o", "-"},
          "not expected: Linear; see papcoll draw --help");
  refused({"simulate", "Ring", "--ranks", "4", "--root", "x"},
          "--root: 'x' is no whole number from 0 to 2147483647; see papcoll ");
}

TEST_CASE("an option is no value of another") {
  refused({"draw", "Ring", "--ranks", "4", "-o", "--no-size-limit"},
          "--output: --no-size-limit follows, and no value: write one, or ./--no-size-limit for "
          "such a file");
  refused({"explain", "allreduce", "--ranks", "4", "--bytes", "8", "--tuning", "--json"},
          "--tuning: --json follows, and no value");
}

TEST_CASE("algorithms of GPUs are listed, and told to be so elsewhere") {
  CHECK(run({"list", "SharedDevice"}).status == 0);
  refused({"verify", "SharedDevice"}, "SharedDevice is for memory of GPUs");
  refused({"simulate", "DeviceSlices", "--ranks", "4", "--bytes", "8"},
          "DeviceSlices is for memory of GPUs");
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
