// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/error.hpp>
#include <papcoll/pattern/random.hpp>
#include <papcoll/report/html.hpp>
#include <papcoll/report/read.hpp>
#include <papcoll/report/report.hpp>
#include <papcoll/report/tables.hpp>
#include <papcoll/report/words.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "temporary_directory.hpp"
#include "trace_writer.hpp"

TEST_CASE("whatever bytes traces have, they are refused or reported", "[report]") {
  RunWriter writer{3, 3, 32};
  for (std::uint64_t i = 0; i < 40; ++i) {
    writer.call({papcoll::profile::MpiCollective::bcast, i * 100, static_cast<std::uint32_t>(i % 3),
                 0, 0, 0},
                2'000'000'000 + i * 1'000'000, {0, 500, 200});
  }
  writer.traces[0].header.clock_end = {1, 2, 3, 1};
  for (TraceWriter& t : writer.traces) t.header.clock = t.header.world_rank;
  for (TraceWriter& t : writer.traces) t.header.clock_begin = {1, 2, 3, 1};
  const TemporaryDirectory dir;
  std::vector<std::string> good;
  for (TraceWriter& t : writer.traces) good.push_back(t.bytes());
  papcoll::pattern::Random random_life{99};
  std::size_t read = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    papcoll::pattern::Random random{seed};
    for (std::size_t r = 0; r < good.size(); ++r) {
      std::string bytes = good[r];
      const std::uint64_t changes = random.below(4) * random.below(12);
      for (std::uint64_t i = 0; i < changes; ++i) {
        // Half of them in the header, where most depends on it.
        const std::uint64_t most =
            random.below(2) == 0 ? sizeof(papcoll::profile::FileHeader) : bytes.size();
        bytes[random.below(most)] = static_cast<char>(
            random.below(2) == 0 ? random.bits() : std::uint64_t{1} << random.below(8));
      }
      if (random.below(10) == 0) bytes.resize(random.below(bytes.size()));
      std::ofstream{dir.path() / TraceWriter::name(static_cast<int>(r)), std::ios::binary} << bytes;
    }
    try {
      papcoll::report::Run run = papcoll::report::read_run(dir.path().string());
      // As if some of the processes lived, and none of the modules were there.
      for (auto& rank : run.ranks) rank.alive = random_life.below(2) == 0;
      const auto r = papcoll::report::report_of(std::move(run));
      CHECK_FALSE(findings(r).empty());
      CHECK_FALSE(tables_of(r).empty());
      CHECK(html_page(r).size() > 1000);
      ++read;
    } catch (const papcoll::argument_error&) {
    }
  }
  CHECK(read > 100);
}
