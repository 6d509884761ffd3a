// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>
#include <string>

#include "catch.hpp"
#include "run_tool.hpp"
#include "simulated.hpp"

using namespace papcoll;
using nlohmann::json;

TEST_CASE("simulate: what Suara alone takes is said") {
  const json suara = simulated({"Suara", "--ranks", "509", "--bytes", "64k"});
  CHECK(suara.at("algorithm") == "Suara");
  const std::string chosen = suara.at("chosen");
  CHECK(contains(chosen, "Suara:"));
  const std::string text = run({"simulate", "Suara", "--ranks", "509", "--bytes", "64k"}).out;
  CHECK(contains(text, chosen + " (for the published network)"));
  const Outcome table =
      run({"simulate", "Ring", "--ranks", "509", "--bytes", "64k", "--algorithm", "Suara"});
  CHECK(contains(table.out, "Suara = " + chosen));
}

TEST_CASE("simulate: the grid that Suara's ranks make of the one that is named is said") {
  const auto grid = [](const char* algorithm, const char* ranks) {
    const json all = simulated({algorithm, "--ranks", ranks, "--bytes", "64k"});
    return all.contains("grid") ? all.at("grid").get<std::string>() : std::string{};
  };
  CHECK(grid("Suara:Ring,Ring,8", "16") == "2 rows of 8");
  CHECK(grid("Suara:Ring,Ring,8", "20") == "2 rows of 10, instead of rows of 8");
  CHECK(grid("Suara:Ring,Rabenseifner,4x8", "33") ==
        "8 rows of 4 (the first of 5); the last rank of a longer one is handed the result");
  CHECK(grid("Suara:Ring,Rabenseifner,3x7,folded", "23") ==
        "7 rows of 3 and 2 folded; a neighbour speaks for a folded rank");
  CHECK(grid("Suara:Ring,Rabenseifner,16x64,folded", "20") ==
        "20 rows of 1, which is Rabenseifner alone, instead of 16x64");
  CHECK(grid("Suara:Ring,Ring,30", "20") ==
        "1 row of 20, which is Ring alone, instead of rows of 30");
  CHECK(grid("Suara:Ring,Ring,Ring,4x8", "97") ==
        "3 blocks of 32 (the first of 33), each 8 rows of 4, the longer 8 rows of 4 (the first of "
        "5); the last rank of a longer one is handed the result");
  CHECK(grid("Suara:Ring,Ring", "23").starts_with("4 rows of 5 (the first 3 of 6);"));
  CHECK(grid("Suara", "17").starts_with("4 rows of 4 (the first of 5); "));
  CHECK(grid("Suara:Ring,Ring,8", "1").empty());
  CHECK(grid("Ring", "20").empty());

  CHECK(contains(run({"simulate", "Suara:Ring,Ring,8", "--ranks", "20", "--bytes", "64k"}).out,
                 "  grid                  2 rows of 10, instead of rows of 8\n"));
  CHECK(contains(run({"simulate", "Ring", "--ranks", "20", "--bytes", "64k", "--algorithm",
                      "Suara:Ring,Ring,8"})
                     .out,
                 "grid of Suara:Ring,Ring,8: 2 rows of 10, instead of rows of 8\n"));
}
