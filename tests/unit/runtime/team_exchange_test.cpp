// SPDX-License-Identifier: BSD-3-Clause
// Exchange among threads: reduce_scatters in chunks that hold a piece of each block, many or one
// element of it, or too little for that, of an operator that does not commute.

#include "affine.hpp"
#include "catch.hpp"

#include <papcoll/automatic.hpp>
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/reduce_scatter.hpp>
#include <papcoll/thread_team.hpp>

#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

using affine::Affine;
using affine::affine_of;
using affine::then;

namespace {

using Lengths = std::vector<std::size_t>;

/// Names of calls that were wrong on this rank.
std::string wrong_blocks(papcoll::ThreadTeam::Rank& c, const Lengths& lengths) {
  const papcoll::Algorithm exchange = papcoll::algorithm("Exchange");
  const auto own = lengths.begin() + c.rank();
  const std::size_t first = std::accumulate(lengths.begin(), own, std::size_t{0});
  std::vector<Affine> wanted(*own);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    wanted[i] = affine_of(0, first + i);
    for (int r = 1; r < c.size(); ++r) wanted[i] = then(wanted[i], affine_of(r, first + i));
  }
  std::vector<Affine> in(std::accumulate(own, lengths.end(), first));
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = affine_of(c.rank(), i);
  std::string wrong;
  for (int turn = 0; turn < 4; ++turn) {
    std::vector<Affine> out(*own);
    papcoll::reduce_scatter(c, in, out, papcoll::counts{lengths}, then, exchange);
    if (out != wanted) wrong += " into an output";
    std::vector<Affine> data = in;
    papcoll::reduce_scatter(c, data, papcoll::counts{lengths}, then, exchange);
    data.resize(*own);
    if (data != wanted) wrong += " in place";
  }
  return wrong;
}

/// All equal; one long block after short ones, and before them; many empty ones.
std::vector<Lengths> all_lengths(int ranks, std::size_t n) {
  const auto p = static_cast<std::size_t>(ranks);
  std::vector<Lengths> all(4, Lengths(p, n));
  all[1].assign(p, 1);
  all[1].back() = n;
  all[2].assign(p, 1);
  all[2].front() = n;
  for (std::size_t r = 0; r < p; r += 2) all[3][r] = 0;
  return all;
}

}  // namespace

TEST_CASE("Exchange cuts the blocks of a reduce_scatter", "[exchange]") {
  for (const std::size_t chunk_bytes : {64U, 320U, 65536U}) {
    for (const int ranks : {1, 2, 3, 8, 11}) {
      for (const std::size_t n : {1U, 5U, 400U, 9000U}) {
        if (chunk_bytes < 65536 && n > 400) continue;
        for (const Lengths& lengths : all_lengths(ranks, n)) {
          CAPTURE(chunk_bytes, ranks, lengths);
          papcoll::ThreadTeam team{ranks, {.chunk_bytes = chunk_bytes}};
          std::vector<std::string> wrong(static_cast<std::size_t>(ranks));
          team.run([&](papcoll::ThreadTeam::Rank& c) {
            wrong[static_cast<std::size_t>(c.rank())] = wrong_blocks(c, lengths);
          });
          CHECK(wrong == std::vector<std::string>(static_cast<std::size_t>(ranks)));
        }
      }
    }
  }
}
