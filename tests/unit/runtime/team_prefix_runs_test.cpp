// SPDX-License-Identifier: BSD-3-Clause
// PrefixRuns among threads: scans and exscans of an operator that does not commute, with ranks that
// come in any order.

#include "affine.hpp"
#include "catch.hpp"

#include <papcoll/automatic.hpp>
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/scan.hpp>
#include <papcoll/thread_team.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

using affine::Affine;
using affine::affine_of;
using affine::then;

namespace {

/// Of the ranks below `end`.
std::vector<Affine> prefix(int end, std::size_t n) {
  std::vector<Affine> all(n);
  for (std::size_t i = 0; i < n; ++i) {
    all[i] = affine_of(0, i);
    for (int r = 1; r < end; ++r) all[i] = then(all[i], affine_of(r, i));
  }
  return all;
}

/// Names of calls that were wrong on this rank.
std::string wrong_scans(papcoll::ThreadTeam::Rank& c, std::size_t n,
                        const papcoll::Algorithm& algorithm) {
  std::string wrong;
  const std::vector<Affine> wanted = prefix(c.rank() + 1, n);
  const std::vector<Affine> below = c.rank() == 0 ? std::vector<Affine>(n) : prefix(c.rank(), n);
  std::vector<Affine> in(n);
  for (std::size_t i = 0; i < n; ++i) in[i] = affine_of(c.rank(), i);
  for (int turn = 0; turn < 6; ++turn) {
    if (turn > 3) {
      std::this_thread::sleep_for(
          std::chrono::microseconds((c.rank() * 7919 + turn * 13) % 5 * 200));
    }
    std::vector<Affine> out(n);
    papcoll::scan(c, in, out, then, algorithm);
    if (out != wanted) wrong += " scan";
    out.assign(n, {});
    papcoll::exscan(c, in, out, then, algorithm);
    if (out != below) wrong += " exscan";
    std::vector<Affine> data = in;
    papcoll::scan(c, data, then, algorithm);
    if (data != wanted) wrong += " scan in place";
    data = in;
    papcoll::exscan(c, data, then, algorithm);
    if (data != (c.rank() == 0 ? in : below)) wrong += " exscan in place";
  }
  return wrong;
}

}  // namespace

TEST_CASE("scans by runs of those who are there", "[prefix_runs]") {
  for (const std::size_t chunk_bytes : {64U, 65536U}) {
    for (const int ranks : {1, 2, 3, 5, 8}) {
      for (const std::size_t n : {1U, 5U, 700U, 9000U, 40000U}) {
        if (chunk_bytes == 64 && n > 700) continue;
        for (const char* const name : {"PrefixRuns", "PrefixRuns+Reproducible"}) {
          CAPTURE(chunk_bytes, ranks, n, name);
          papcoll::Options options;
          options.chunk_bytes = chunk_bytes;
          papcoll::ThreadTeam team{ranks, options};
          std::vector<std::string> wrong(static_cast<std::size_t>(ranks));
          const papcoll::Algorithm algorithm = papcoll::algorithm(name);
          team.run([&](papcoll::ThreadTeam::Rank& c) {
            wrong[static_cast<std::size_t>(c.rank())] = wrong_scans(c, n, algorithm);
          });
          CHECK(wrong == std::vector<std::string>(static_cast<std::size_t>(ranks)));
        }
      }
    }
  }
}
