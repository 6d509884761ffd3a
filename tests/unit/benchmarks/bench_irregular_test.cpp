// SPDX-License-Identifier: BSD-3-Clause
#include "candidates/irregular.hpp"
#include "timing/bound.hpp"

#include "catch.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <vector>

using bench::Counts;
using papcoll::Collective;

namespace {

using BlockLengths = std::vector<std::size_t>;
constexpr std::array every_counts{Counts::power_law, Counts::equal, Counts::random,
                                  Counts::one_large};

std::size_t total_length(const BlockLengths& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
}

BlockLengths longest_first(BlockLengths lengths) {
  std::sort(lengths.rbegin(), lengths.rend());
  return lengths;
}

}  // namespace

TEST_CASE("lengths of blocks have the mean that was asked for", "[bench]") {
  for (const Counts kind : every_counts) {
    for (const std::size_t blocks : {1U, 2U, 3U, 8U, 64U}) {
      for (const std::size_t mean : {0U, 1U, 7U, 1000U}) {
        CAPTURE(name_of(kind), blocks, mean);
        const BlockLengths lengths = bench::block_lengths(kind, blocks, mean, 1);
        CHECK(lengths.size() == blocks);
        CHECK(total_length(lengths) == blocks * mean);
        CHECK(lengths == bench::block_lengths(kind, blocks, mean, 1));
      }
    }
  }
  CHECK_THROWS_WITH(bench::block_lengths(Counts::equal, 3, ~std::size_t{0} / 2, 1),
                    "all blocks together have more elements than memory has bytes");
}

TEST_CASE("lengths of blocks differ as their kind says", "[bench]") {
  CHECK(bench::block_lengths(Counts::equal, 3, 7, 1) == BlockLengths{7, 7, 7});
  // The longest twice the second and three times the third, but for what is rounded.
  const BlockLengths law = longest_first(bench::block_lengths(Counts::power_law, 3, 1100, 5));
  const BlockLengths wanted{1800, 900, 600};
  for (std::size_t i = 0; i < 3; ++i) CHECK(law[i] + 1 - wanted[i] <= 2);
  const BlockLengths one = longest_first(bench::block_lengths(Counts::one_large, 5, 80, 5));
  CHECK(one == BlockLengths{200, 50, 50, 50, 50});
  CHECK(bench::block_lengths(Counts::power_law, 64, 100, 1) !=
        bench::block_lengths(Counts::power_law, 64, 100, 2));
}

TEST_CASE("what a rank sends is what the other expects", "[bench]") {
  constexpr int ranks = 4;
  for (const Counts kind : every_counts) {
    for (const bool in_place : {false, true}) {
      std::vector<bench::Irregular> all;
      for (int rank = 0; rank < ranks; ++rank) {
        all.push_back(bench::irregular_blocks(
            {.counts = kind, .mean = 10, .gap = 3, .in_place = in_place}, rank, ranks));
      }
      for (std::size_t a = 0; a < ranks; ++a) {
        CAPTURE(name_of(kind), in_place, a);
        CHECK(all[a].sent.extent == total_length(all[a].sent.counts) + (ranks + 1) * 3);
        CHECK(all[a].sent.places[0] == 3);
        CHECK(all[a].sent.places[1] == all[a].sent.counts[0] + 6);
        CHECK(all[a].offset(a, 2) == all[a].sent.counts[0] + all[a].sent.counts[1]);
        for (std::size_t b = 0; b < ranks; ++b) {
          CHECK(all[a].sent.counts[b] == all[b].received.counts[a]);
          if (in_place) CHECK(all[a].sent.counts[b] == all[a].received.counts[b]);
        }
      }
    }
  }
  const auto gathered =
      bench::irregular_blocks({.collective = Collective::gather, .mean = 10}, 1, ranks);
  CHECK(gathered.lengths.size() == ranks);
  CHECK(gathered.received.counts == gathered.lengths);
  CHECK(gathered.received.extent == 40);
}

TEST_CASE("blocks that differ are bound by what they have together", "[bench]") {
  bench::Workload w{.collective = Collective::alltoall, .ranks = 2, .blocks = {1, 20, 300, 4000}};
  const auto moved = [&w](bool in_place, bool together) {
    w.in_place = in_place;
    w.together = together;
    const bench::Traffic traffic = bench::least_traffic(w);
    return std::vector<double>{traffic.read, traffic.written};
  };
  using Bytes = std::vector<double>;
  CHECK(moved(false, true) == Bytes{4321, 4321});
  CHECK(moved(true, true) == Bytes{320, 320});
  CHECK(moved(false, false) == Bytes{321, 321});
  CHECK(moved(true, false) == Bytes{320, 320});
  w.collective = Collective::allgather;
  w.blocks = {1, 20};
  CHECK(moved(false, true) == Bytes{21, 42});
  CHECK(moved(true, true) == Bytes{21, 21});
  CHECK(moved(false, false) == Bytes{1, 22});
  CHECK(moved(true, false) == Bytes{1, 2});
  w.collective = Collective::gather;
  w.root = 1;
  CHECK(moved(false, true) == Bytes{21, 21});
  CHECK(moved(true, true) == Bytes{1, 1});
  CHECK(moved(false, false) == Bytes{1, 1});
  CHECK(bench::least_traffic({.collective = Collective::gather, .blocks = {5}}).signals == false);
}
